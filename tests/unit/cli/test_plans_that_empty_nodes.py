"""Plans that empty nodes are asked for, followed and told, on a stand-in API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from kubernetes import client
from served_api import served_api
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cli import app, consolidation
from stowage_testbed.cli import defragment as command
from stowage_testbed.cli.consolidation import Asked, EmptiedNodes, follow
from stowage_testbed.cli.kubectl import plugin
from stowage_testbed.cli.plan_control import PlanApi, page_of, table_of
from stowage_testbed.defragment.findings import (
    REHEARSED,
    Bill,
    Defragmentation,
    EmptiedNode,
    PodMove,
)
from stowage_testbed.observe.emptied_nodes import ending, progress
from stowage_testbed.whatif.inventory import Inventory

PLANS = "/apis/stowage.dev/v1alpha1/packingplans"
KINDS = {
    "items": [
        {
            "metadata": {"name": "stowage.dev"},
            "versions": [
                {
                    "version": "v1alpha1",
                    "resources": [
                        {
                            "resource": "packingplans",
                            "responseKind": {"kind": "PackingPlan"},
                            "scope": "Cluster",
                            "verbs": ["create", "list"],
                        }
                    ],
                }
            ],
        }
    ]
}
UNKNOWN = 'strict decoding error: unknown field "spec.objective"'

NODE = {"name": "n1", "hourlyPrice": "0.1", "moves": 2, "gain": "1.5"}


def _status(phase: str, *states: str, saving: str = "0.10") -> dict[str, Any]:
    nodes = [
        {**NODE, "name": f"n{number}", "state": state}
        for number, state in enumerate(states)
    ]
    return {
        "phase": phase,
        "consolidation": {
            "nodesBefore": 3,
            "nodesAfter": 1,
            "nodesLowerBound": 1,
            "hourlyPriceBefore": "0.3",
            "hourlyPriceAfter": "0.10",
            "hourlyPriceLowerBound": "0.10",
            "hourlySaving": saving,
            "certainty": "Rehearsed",
            "nodes": nodes,
        },
    }


COURSE: tuple[dict[str, Any], ...] = (
    {},
    {"phase": "Solving"},
    _status("Executing", "Emptying", "Planned"),
    _status("Executing", "Emptied", "Emptying"),
    _status("Completed", "Emptied", "Emptied", saving="0.20"),
)


@dataclass
class Server:
    """An API server with a release that carries one plan out, a step a look.

    Attributes
    ----------
    course
        The statuses of the plan.
    refusal
        Status and message of the answer to a new plan, if it is refused.
    """

    course: list[dict[str, Any]] = field(default_factory=lambda: list(COURSE))
    refusal: tuple[int, str] | None = None
    installed: bool = True
    created: list[dict[str, Any]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    def post(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.refusal:
            return self.refusal[0], {"message": self.refusal[1]}
        body["metadata"]["name"] = body["metadata"]["generateName"] + "x7"
        self.created.append(body)
        return 201, body

    def get(self, path: str) -> dict[str, Any]:
        if path in ("/api", "/apis"):
            return KINDS if self.installed and path == "/apis" else {"items": []}
        status = self.course.pop(0) if len(self.course) > 1 else self.course[0]
        return {
            "metadata": {},
            "items": [{**one, "status": status} for one in self.created],
        }


@contextmanager
def serving(server: Server) -> Iterator[client.ApiClient]:
    """Run the server and yield a client of it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, server.get(self.path.partition("?")[0]))

        def do_POST(self) -> None:
            server.queries.append(self.path)
            length = int(self.headers["Content-Length"])
            self._answer(*server.post(json.loads(self.rfile.read(length))))

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    with served_api(Handler) as api:
        yield api


FOUND = Defragmentation(
    nodes=3, idle_nodes=0, before=Bill(3, 300_000), after=Bill(1, 100_000),
    least=Bill(1, 100_000),
    emptied=(
        EmptiedNode("n0", "k", 100_000, 1.0, (PodMove("ns/a", "n0", "n2"),)),
        EmptiedNode("n1", "k", 100_000, 1.0, (PodMove("ns/b", "n1", "n2"),)),
    ),
    opened=(), making_room=(), certainty=REHEARSED, left_out=(), limits=(), aside=(),
    kinds=(), without_price=(), kept=(), not_judged=(), in_time=True,
)  # fmt: skip


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the command, with all but the cluster's plans played."""

    def asked(server: Server, *arguments: str, answer: str | None = None) -> Any:
        node = {"metadata": {"name": "n0", "labels": {}}}
        inventory = Inventory((node,), ())
        monkeypatch.setattr(command, "read_inventory", lambda *_, **__: inventory)
        monkeypatch.setattr(command, "_found", lambda *_: FOUND)
        monkeypatch.setattr(command, "new_client", lambda *_: serving(server))
        monkeypatch.setattr(consolidation, "LOOK_S", 0.0)
        if answer is not None:
            monkeypatch.setattr(consolidation, "_asks_somebody", lambda: True)
        return CliRunner().invoke(app, ["defragment", *arguments], input=answer)

    return asked


def test_nothing_is_written_unless_it_is_asked_for(run: Any) -> None:
    """It is pointed at production first."""
    server = Server()

    done = run(server, "--context", "production")

    assert done.exit_code == 0, done.output
    assert "2 nodes could be emptied with 2 moves" in done.output
    assert server.queries == []


def test_a_plan_is_asked_for_and_followed_to_its_end(run: Any) -> None:
    """Each step is a line, and the end says what was saved."""
    server = Server()

    done = run(server, "--apply", "--yes", "--least-gain", "0.5", "--max-moves", "7",
               "--node-selector", "pool=spot", "--namespace", "shop",
               "--emptied-nodes", "cordon")  # fmt: skip

    assert done.exit_code == 0, done.output
    (plan,) = server.created
    assert plan["spec"] == {
        "objective": "Consolidate",
        "executionMode": "Execute",
        "schedulerNames": ["default-scheduler", "stowage"],
        "timeLimitSeconds": 20.0,
        "emptiedNodes": "Cordon",
        "leastGain": "0.5",
        "maxMoves": 7,
        "nodeSelector": {
            "matchExpressions": [{"key": "pool", "operator": "In", "values": ["spot"]}]
        },
        "namespaceSelector": {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "In",
                    "values": ["shop"],
                }
            ]
        },
    }
    assert "fieldValidation=Strict" in server.queries[0]
    steps = [line for line in done.output.split("\n") if line.startswith("defragment-")]
    assert steps == [
        "defragment-x7: not taken up yet",
        "defragment-x7: Solving",
        "defragment-x7: Executing, 0 of 2 nodes emptied, 0.10 an hour saved",
        "defragment-x7: Executing, 1 of 2 nodes emptied, 0.10 an hour saved",
        "defragment-x7: Completed, 2 of 2 nodes emptied, 0.20 an hour saved",
        "defragment-x7 is Completed: 2 nodes emptied, 0.20 an hour saved",
    ]


def test_a_proposal_is_left_for_somebody_to_approve(run: Any) -> None:
    """The command ends, and says how to go on."""
    server = Server(course=[_status("Proposed", "Planned", "Planned")])

    done = run(server, "--propose")

    assert done.exit_code == 0, done.output
    assert server.created[0]["spec"]["executionMode"] == "DryRun"
    assert "leastGain" not in server.created[0]["spec"]
    assert "stowage plan approve defragment-x7" in done.output


def test_a_plan_that_ends_badly_is_an_exit_code(run: Any) -> None:
    """Scripts ask no more."""
    server = Server(course=[_status("Aborted", "Emptied", "GivenUp")])

    done = run(server, "--apply", "--yes")

    assert done.exit_code == 1
    assert "defragment-x7 is Aborted: 1 nodes emptied" in done.output
    assert "n1 is GivenUp" in done.output


@pytest.mark.parametrize(("answer", "plans"), [("y\n", 1), ("n\n", 0), ("\n", 0)])
def test_it_is_carried_out_only_if_the_user_says_yes(
    run: Any, answer: str, plans: int
) -> None:
    """Who only presses return wants nothing moved."""
    server = Server()

    run(server, "--apply", answer=answer)

    assert len(server.created) == plans


def test_where_nobody_can_be_asked_nothing_is_carried_out(run: Any) -> None:
    """A script must say --yes."""
    server = Server()

    done = run(server, "--apply")

    assert isinstance(done.exception, InputError)
    assert "give --yes" in str(done.exception)
    assert server.created == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--apply", "--propose"), "leave out --apply"),
        (("--apply", "--file", "all.json"), "a file cannot be changed"),
        (("--yes",), "give that, too"),
        (("--least-gain", "much"), "write a number"),
        (("--least-gain", "-1"), "write a number"),
        (("--node-selector", "a=b=c"), "selects no labels"),
        (("--apply", "--yes", "--price", "0.10"), "kubectl label nodes"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    run: Any, arguments: tuple[str, ...], said: str
) -> None:
    """Before the cluster is read, and before anything is changed."""
    server = Server()

    done = run(server, *arguments)

    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)
    assert server.created == []


def test_a_cluster_without_the_chart_says_how_to_install_it() -> None:
    """The dry run needs none; who then says --apply learns what is missing."""
    with (
        serving(Server(installed=False)) as api,
        pytest.raises(StowageError, match="install the chart first"),
    ):
        PlanApi(api).create("p-", {})


def test_a_chart_that_does_not_know_the_objective_says_how_to_bring_it_up() -> None:
    """A field that is passed over would make another plan than was asked for."""
    with (
        serving(Server(refusal=(400, UNKNOWN))) as api,
        pytest.raises(StowageError, match="kubectl apply --server-side"),
    ):
        PlanApi(api).create("p-", {})


def test_a_user_who_may_not_create_plans_is_told_so() -> None:
    """The cluster is fine then."""
    with (
        serving(Server(refusal=(403, "no"))) as api,
        pytest.raises(StowageError, match="refuses to create a plan: Forbidden"),
    ):
        PlanApi(api).create("p-", {})


@dataclass
class FakeClock:
    """Time that passes when somebody waits."""

    seconds: float = 0.0

    def now(self) -> float:
        return self.seconds

    def pause(self, seconds: float) -> None:
        self.seconds += seconds


def test_a_plan_that_nobody_takes_up_is_not_waited_for_forever() -> None:
    """The release may be down, or serve another name."""
    plan = {"metadata": {"name": "p"}, "spec": {}}

    with pytest.raises(StowageError, match="kubectl delete packingplan p"):
        follow(lambda: plan, lambda _: None, FakeClock())


PLAN = {
    "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"objective": "Consolidate", "executionMode": "DryRun"},
    "status": _status("Proposed", "Planned", "NotWorthIt"),
}


def test_a_page_of_such_a_plan_shows_nodes_prices_and_how_sure_it_is() -> None:
    """It is what somebody approves."""
    rows = [" ".join(line.split()) for line in page_of(PLAN).splitlines()]

    assert "3 nodes in use, 1 by the plan; proved: at least 1" in rows
    assert "0.30 an hour, 0.10 by the plan; proved: at least 0.10; saved: 0.10" in rows
    assert any(row.startswith("Rehearsed: another scheduler") for row in rows)
    assert "n0 0.10 2 1.5 Planned" in rows
    assert "n1 0.10 2 1.5 NotWorthIt" in rows


def test_a_list_of_plans_tells_objective_nodes_and_saving() -> None:
    """Plans of both kinds stand below each other."""
    header, _, row, other = table_of(
        [PLAN, {"metadata": {"name": "q"}, "spec": {}}]
    ).splitlines()

    at = header.index("objective")
    assert row[at:].split() == ["Consolidate", "0", "0", "0", "2", "0.10", "no"]
    assert other[at:].split() == ["Place", "0", "0", "0", "no"]


def test_how_far_a_plan_is_and_how_it_ended_is_told_without_a_status() -> None:
    """Its first state is what a user sees first."""
    plan = {"metadata": {"name": "p"}}

    assert progress(plan) == "p: not taken up yet"
    assert list(ending({**plan, "status": {"phase": "NoImprovement"}})) == [
        "p is NoImprovement: 0 nodes emptied"
    ]


def test_what_is_left_to_the_release_is_not_in_the_spec() -> None:
    """Its own limits count then."""
    spec = Asked(("a",), 5.0, emptied=EmptiedNodes.KEEP).spec(execute=False)

    assert set(spec) == {
        "objective", "executionMode", "schedulerNames", "timeLimitSeconds",
        "emptiedNodes",
    }  # fmt: skip


def test_both_programs_have_the_commands() -> None:
    """It is the same as kubectl stowage, for a cluster of one's own."""
    for program in (app, plugin):
        shown = CliRunner().invoke(program, ["--help"]).output
        assert "defragment" in shown
        assert "savings" in shown
