"""Plans for people: refusals of the API server, and a plan as a page of text."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from watch_server import WatchServer, serving

from stowage_testbed.cli import app
from stowage_testbed.errors import StowageError
from stowage_testbed.plan import PlanApi, page_of, table_of
from stowage_testbed.toolchain import tool_path
from stowage_testbed.whatif.plan_savings import PlanSaving


def test_a_user_without_rights_on_plans_gets_an_error() -> None:
    """A plan called "list" is looked for in vain."""
    server = WatchServer()
    server.list_status = 403

    with (
        serving(server) as api,
        pytest.raises(StowageError, match="refuses to list plans: Forbidden"),
    ):
        PlanApi(api).plan()


def test_a_cluster_without_the_chart_is_distinguished_from_one_without_plans() -> None:
    """The way out is another one."""
    server = WatchServer()
    server.list_status = 404

    with (
        serving(server) as api,
        pytest.raises(StowageError, match="has no PackingPlans"),
    ):
        PlanApi(api).plan()


def test_a_cluster_that_is_down_is_reported_without_a_traceback() -> None:
    """The kubeconfig of a cluster often outlives it."""
    with serving(WatchServer()) as api:
        pass

    with pytest.raises(StowageError, match="does not answer"):
        PlanApi(api).plan()


def test_a_plan_that_empties_nodes_is_only_proposed() -> None:
    """Whoever asks wants to look at it first; nothing moves without an approval."""
    server = WatchServer()
    server.answer_to_post = (201, {"metadata": {"name": "defragment-x7"}})

    with serving(server) as api:
        assert PlanApi(api).ask_to_empty(5.0, 20) == "defragment-x7"

    ((query, body),) = server.posted
    assert body["metadata"] == {"generateName": "defragment-"}
    assert body["spec"] == {
        "executionMode": "DryRun",
        "trigger": "Manual",
        "objective": "Consolidate",
        "timeLimitSeconds": 5.0,
        "maxMoves": 20,
    }
    # Else an older release would drop the objective, and place pods.
    assert query == "fieldValidation=Strict"


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        (404, "the server could not find it", "install the chart first"),
        (
            400,
            'strict decoding error: unknown field "spec.objective"',
            "makes no plans that empty nodes: upgrade",
        ),
        (400, "something else", "refuses to create a plan: Bad Request"),
        (403, "no", "refuses to create a plan: Forbidden"),
    ],
)
def test_who_cannot_have_a_plan_made_is_told_what_to_install(
    status: int, message: str, told: str
) -> None:
    """The way out depends on what is there."""
    server = WatchServer()
    server.answer_to_post = (status, {"message": message})

    with serving(server) as api, pytest.raises(StowageError, match=told):
        PlanApi(api).ask_to_empty(5.0)


def test_savings_are_a_column_where_they_are_asked_for() -> None:
    """A column of nothing says that nothing is saved."""
    plan = _plan(phase="Proposed")

    assert "saves an hour" not in table_of([plan])
    assert table_of([plan], {"p": "1.50 USD"}).endswith("1.50 USD")


def _plan(**status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p"},
        "spec": {"executionMode": "Execute", "trigger": "OnUnschedulable"},
        "status": status,
    }


def test_every_step_is_reported_with_its_state() -> None:
    """Who follows a plan wants to know what is still to come."""
    page = page_of(
        _plan(
            phase="Executing",
            evictions=[{"pod": "ns/low", "node": "n1", "state": "Gone"}],
            moves=[
                {"pod": "ns/a", "fromNode": "n1", "toNode": "n2", "state": "Waiting"}
            ],
            placements=[{"pod": "ns/new", "node": "n1"}],
        )
    )

    rows = [" ".join(line.split()) for line in page.splitlines()]
    assert "p: Executing (Execute, OnUnschedulable)" in rows
    assert "evict ns/low n1 Gone" in rows
    assert "move ns/a n1 n2 Waiting" in rows
    assert "place ns/new n1" in rows


def test_a_plan_that_empties_nodes_says_how_few_there_could_be() -> None:
    """Whether to approve it depends on what it leaves, not only on its moves."""
    counted = {"before": 9, "after": 7, "lowerBound": 6, "movesLowerBound": 3}

    page = page_of(_plan(phase="Proposed", nodesInUse=counted))

    assert "7 nodes in use, 9 before" in page
    assert "fewer than 6" in page


def test_what_was_turned_down_is_reported_with_the_reason() -> None:
    """A refusal nobody can see is looked for in logs."""
    page = page_of(
        _plan(
            phase="Completed",
            objections=[
                {"subject": "ns/a", "reason": "node-refused", "detail": "X says no"}
            ],
            refusals=[{"subject": "ns/b", "reason": "unsupported"}],
        )
    )

    rows = [" ".join(line.split()) for line in page.splitlines()]
    assert "ns/a node-refused X says no" in rows
    assert "ns/b unsupported" in rows


def test_the_rules_that_protected_pods_are_reported_with_the_pods_in_the_way() -> None:
    """Whoever waits for room wants to know whom to ask for it."""
    page = page_of(
        _plan(
            phase="NoImprovement",
            protected=[
                {"reason": "singleton", "pods": 3, "example": "ns/a", "inTheWayOf": 2},
                {"reason": "job", "pods": 1, "example": "ns/b", "inTheWayOf": 1},
                {"reason": "daemonset", "pods": 9, "example": "ns/c"},
            ],
        )
    )

    rows = [" ".join(line.split()) for line in page.splitlines()]
    assert "kept where they are:" in rows
    assert "singleton 3 ns/a 2 waiting pods" in rows
    assert "job 1 ns/b 1 waiting pod" in rows
    assert "daemonset 9 ns/c" in rows


def test_a_plan_that_nobody_took_up_yet_is_reported_as_such() -> None:
    """An object without a status is what a user sees first."""
    assert page_of({"metadata": {"name": "p"}}) == (
        "p: not taken up yet (DryRun, Manual)"
    )


def test_plans_are_listed_with_what_each_would_do() -> None:
    """Which of them waits for an approval, and whether it is worth a look."""
    proposed = _plan(
        phase="Proposed",
        optimal=True,
        moves=[{"pod": "ns/a"}] * 2,
        placements=[{"pod": "ns/b"}],
        evictions=[],
    )

    header, _, row = table_of([proposed]).splitlines()

    assert header.split()[2:] == [
        "phase",
        "mode",
        "places",
        "moves",
        "evicts",
        "optimal",
    ]
    assert row.split() == ["p", "Proposed", "Execute", "1", "2", "0", "yes"]
    assert "ask for one" in table_of([])


@pytest.mark.parametrize("program", [("stowage",), ("kubectl", "stowage")])
def test_a_context_that_is_not_there_is_named(
    program: tuple[str, ...], tmp_path: Path
) -> None:
    """Also through kubectl, whose plugin is this very command."""
    file = tmp_path / "kubeconfig"
    file.write_text("{apiVersion: v1, kind: Config, contexts: []}")

    done = subprocess.run(
        [*program, "plan", "list", "--context", "nowhere", "--kubeconfig", str(file)],
        env={**os.environ, "PATH": _path_with_tools()},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "context 'nowhere' cannot be used" in done.stderr
    assert "Traceback" not in done.stderr


def _path_with_tools() -> str:
    """Return a path on which kubectl and the programs of this environment are."""
    folders = (Path(sys.executable).parent, tool_path("kubectl").parent)
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one proposed plan, which saves something, and no cluster."""
    plan = _plan(phase="Proposed")
    saving = PlanSaving(("n1",), (), Decimal("1.5"), "USD", ())
    monkeypatch.setattr(
        "stowage_testbed.cli.plan.new_api_client", lambda *_: nullcontext()
    )
    monkeypatch.setattr(PlanApi, "plans", lambda _: [plan])
    monkeypatch.setattr(
        "stowage_testbed.whatif.plan_savings.plan_savings",
        lambda *_: {"p": saving},
    )


@pytest.mark.usefixtures("priced")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "show",
            "\n\nIt empties 1 node (n1), saves 1.50 USD an hour, 1,095.00 a month.",
        ),
        ("list", "1.50 USD"),
    ],
)
def test_a_plan_is_shown_with_what_it_saves_if_prices_are_given(
    command: str, said: str
) -> None:
    """Who approves it wants to know what for."""
    label = {"STOWAGE_PRICE_LABEL": "price"}

    without = CliRunner().invoke(app, ["plan", command]).output
    with_prices = CliRunner().invoke(app, ["plan", command], env=label).output

    assert with_prices.rstrip().endswith(said)
    assert "USD" not in without
