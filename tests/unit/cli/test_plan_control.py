"""Plans for people: created, followed, approved and refused."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from typer.testing import CliRunner
from waiting_clock import WaitingClock
from watch_server import WatchServer, served_api
from watch_server import serving as watched

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cli import answers, app, plan_control
from stowage_testbed.cli.kubectl import plugin
from stowage_testbed.cli.options import ClusterChoice
from stowage_testbed.cli.plan_control import PlanApi, follow
from stowage_testbed.toolchain import choose_minor, tool_path
from stowage_testbed.whatif import emptying
from stowage_testbed.whatif.findings import Bill, Defragmentation, EmptiedNode, PodMove
from stowage_testbed.whatif.inventory import Inventory


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, "refuses to read plan p: Forbidden"),
        (404, "no PackingPlan called 'p'"),
        (200, "has no PackingPlans: install the chart"),
        # The kubeconfig of a cluster often outlives it.
        (None, "does not answer"),
    ],
)
def test_why_there_are_no_plans_is_told(status: int | None, said: str) -> None:
    """Of rights, of the chart, of a cluster that is down: each has another way out."""
    server = WatchServer()
    server.list_status = status or 200
    with ExitStack() as stack:
        api = stack.enter_context(watched(server))
        if status is None:
            stack.close()
        with pytest.raises(StowageError, match=said):
            PlanApi(api).plan("p")


@pytest.mark.parametrize("program", [("stowage",), ("kubectl", "stowage")])
def test_a_missing_context_is_named(program: tuple[str, ...], tmp_path: Path) -> None:
    """Also through kubectl, whose plugin is this very command."""
    file = tmp_path / "kubeconfig"
    file.write_text("{apiVersion: v1, kind: Config, contexts: []}")

    done = subprocess.run(
        [*program, "plan", "abort", "p", "--context", "nowhere", "--kubeconfig", str(file)],
        env={**os.environ, "PATH": _path_with_tools()},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "context 'nowhere' cannot be used" in done.stderr
    assert "Traceback" not in done.stderr
    shown = CliRunner().invoke(plugin, ["--help"]).output
    assert all(command in shown for command in ("defragment", "whatif"))
    gone = CliRunner().invoke(plugin, ["savings", "--context", "c"])
    assert "use: kubectl stowage defragment" in str(gone.exception)


def _path_with_tools() -> str:
    folders = (Path(sys.executable).parent, tool_path("kubectl", choose_minor()).parent)
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])


RESOURCE = {
    "resource": "packingplans",
    "responseKind": {"kind": "PackingPlan"},
    "scope": "Cluster",
    "verbs": ["create", "get"],
}
VERSIONS = [{"version": "v1alpha1", "resources": [RESOURCE]}]
KINDS = {"items": [{"metadata": {"name": "stowage.dev"}, "versions": VERSIONS}]}
UNKNOWN = 'strict decoding error: unknown field "spec.objective"'

NODE = {"name": "n1", "hourlyPrice": "0.1", "moves": 2, "gain": "1.5"}


def _status(phase: str, *states: str, saving: str = "0.10") -> dict[str, Any]:
    nodes = [{**NODE, "name": f"n{number}", "state": state} for number, state in enumerate(states)]
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

    The plan's status takes this ``course``, unless the plan is refused with a status and a message.
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
        (plan,) = self.created
        return {**plan, "status": status}


@contextmanager
def serving(server: Server) -> Iterator[client.ApiClient]:
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
    opened=(), making_room=(), certainty="Rehearsed", left_out=(), limits=(), aside=(),
    kinds=(), without_price=(), kept=(), not_judged=(), in_time=True,
)  # fmt: skip


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    def asked(server: Server, *arguments: str, answer: str | None = None) -> Any:
        node = {"metadata": {"name": "n0", "labels": {}}}
        inventory = Inventory((node,), ())
        monkeypatch.setattr(answers, "_read_inventory", lambda *_, **__: inventory)
        monkeypatch.setattr(emptying, "defragmentation_of", lambda *_: FOUND)
        monkeypatch.setattr(ClusterChoice, "new_client", lambda _: serving(server))
        monkeypatch.setattr(plan_control, "LOOK_S", 0.0)
        if answer is not None:
            monkeypatch.setattr(answers, "_asks_somebody", lambda: True)
        return CliRunner().invoke(app, ["defragment", *arguments], input=answer)

    return asked


def _in(key: str, value: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}


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
        "nodeSelector": _in("pool", "spot"),
        "namespaceSelector": _in("kubernetes.io/metadata.name", "shop"),
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


def test_a_plan_that_ends_badly_is_told_with_the_nodes_that_it_left(run: Any) -> None:
    """Scripts ask for the exit code and no more."""
    badly = Server(course=[_status("Aborted", "Emptied", "GivenUp")])
    aborted = run(badly, "--apply", "--yes")
    idle = run(Server(course=[{"phase": "NoImprovement"}]), "--apply", "--yes")
    assert aborted.exit_code == 1
    assert "defragment-x7 is Aborted: 1 nodes emptied" in aborted.output
    assert "n1 is GivenUp" in aborted.output
    assert "defragment-x7 is NoImprovement: 0 nodes emptied" in idle.output


def test_a_proposal_is_left_for_somebody_to_approve(run: Any) -> None:
    """The command says how to go on; what it was not told is the release's to say."""
    server = Server(course=[_status("Proposed", "Planned", "Planned")])

    done = run(server, "--propose")

    assert done.exit_code == 0, done.output
    spec = server.created[0]["spec"]
    assert spec["executionMode"] == "DryRun"
    assert set(spec) == {
        "objective", "executionMode", "schedulerNames", "timeLimitSeconds",
        "emptiedNodes",
    }  # fmt: skip
    assert "stowage plan approve defragment-x7" in done.output


@pytest.mark.parametrize(("answer", "plans"), [("y\n", 1), ("n\n", 0), ("\n", 0)])
def test_nothing_is_done_unless_it_is_wanted(run: Any, answer: str, plans: int) -> None:
    """Who only presses return wants nothing moved, nor who only looks."""
    server = Server()
    looked = run(server, "--context", "production")
    assert looked.exit_code == 0, looked.output
    assert "2 nodes could be emptied with 2 moves" in looked.output
    assert server.queries == []
    run(server, "--apply", answer=answer)
    assert len(server.created) == plans


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--apply", "--yes", "--price", "0.10"), "kubectl label nodes"),
        # Nobody can be asked here.
        (("--apply",), "give --yes"),
    ],
)
def test_what_cannot_be_applied_is_refused(run: Any, arguments: tuple[str, ...], said: str) -> None:
    """Before anything is changed."""
    server = Server()
    done = run(server, *arguments)
    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)
    assert server.created == []


@pytest.mark.parametrize(
    ("server", "said"),
    [
        # The dry run needs no chart; who then says --apply learns what is missing.
        (Server(installed=False), "install the chart first"),
        # A field that is passed over would make another plan than was asked for.
        (Server(refusal=(400, UNKNOWN)), "kubectl apply --server-side"),
        (Server(refusal=(403, "no")), "refuses to create a plan: Forbidden"),
    ],
    ids=["no chart", "an old chart", "no rights"],
)
def test_a_plan_that_cannot_be_created_has_a_way_out(server: Server, said: str) -> None:
    """Each of them has another one."""
    with serving(server) as api, pytest.raises(StowageError, match=said):
        PlanApi(api).create("p-", {})


def test_a_plan_that_nobody_takes_up_is_not_waited_for_forever() -> None:
    """The release may be down, or serve another name."""
    plan = {"metadata": {"name": "p"}, "spec": {}}
    with pytest.raises(StowageError, match="kubectl delete packingplan p"):
        follow(lambda: plan, lambda _: None, WaitingClock())
