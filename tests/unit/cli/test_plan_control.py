"""Plans for people: refusals of the API server, and a plan as a page of text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from watch_server import WatchServer, serving

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.plan_control import PlanApi, page_of, table_of
from stowage_testbed.toolchain import choose_minor, tool_path


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
        "objective",
        "places",
        "moves",
        "evicts",
        "empties",
        "saves",
        "optimal",
    ]
    assert row.split() == ["p", "Proposed", "Execute", "Place", "1", "2", "0", "yes"]
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
    folders = (Path(sys.executable).parent, tool_path("kubectl", choose_minor()).parent)
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])
