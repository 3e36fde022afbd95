"""`stowage run --jobs`: reported as if one had done it all, and nothing is left."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stowage_run import END_TIMEOUT_S, LINE_TIMEOUT_S, StowageRun

from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster.owner import read_owner
from stowage_testbed.cluster.processes import processes_of

pytestmark = pytest.mark.e2e

SCENARIOS = (
    "kubernetes/parallel-job",
    "kubernetes/sidecars",
    "paper/figure-1",
    "burst/deployment-200@small",
    "kubernetes/quota-and-limits",
)
VAIN = """\
version: 1
name: test/vain-{name}
description: Waits for what cannot come.
nodes: [{{count: 1, cpu: "1", memory: 1G}}]
workload:
  - {{name: web, kind: Deployment, cpu: 400m, memory: 100M}}
steps:
  - apply: web
  - scale: {{workload: web, to: 3}}
  - wait: {{for: bound, of: web, timeout_s: 250}}
expect: {{end: {{placed: 0}}}}
"""
EXPECTED_CODE = {signal.SIGINT: 130, signal.SIGTERM: 143}

Start = Callable[..., StowageRun]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a run; one that is left over is ended."""
    started: list[StowageRun] = []

    def starting(*arguments: str) -> StowageRun:
        started.append(StowageRun(tmp_path, *arguments, "--jobs", "2"))
        return started[-1]

    yield starting
    for run in started:
        run.end()


@pytest.fixture
def vain(start: Start, tmp_path: Path) -> StowageRun:
    """Return a run whose two scenarios wait for what cannot come."""
    (tmp_path / "test").mkdir()
    files = [tmp_path / "test" / f"vain-{name}.yaml" for name in "ab"]
    for file, name in zip(files, "ab", strict=True):
        file.write_text(VAIN.format(name=name))
    run = start(*map(str, files))
    wait_until(
        "two clusters to come up",
        lambda: len(run.workdirs),
        lambda count: count == 2 or run.process.poll() is not None,
        timeout_s=LINE_TIMEOUT_S,
    )
    return run


def left_of(run: StowageRun) -> list[object]:
    """Return processes and folders that are left of the run's clusters."""
    there = [folder for folder in run.workdirs if folder.exists()]
    return [*there, *(one for folder in run.workdirs for one in processes_of(folder))]


def test_several_report_as_one_does(start: Start, tmp_path: Path) -> None:
    """Logs and documents are read, and compared, by people and programs.

    A scenario's lines are one block, in the order in which scenarios were asked for.
    """
    run = start(*SCENARIOS)

    assert run.process.wait(END_TIMEOUT_S * 2) == 0, run.said
    ended = [line.split()[1] for line in run.said.splitlines() if " in " in line]
    assert [one for one in ended if one in SCENARIOS] == list(SCENARIOS)
    parts = [line.partition(": ") for line in run.said.splitlines()]
    shown = [name for name, _, step in parts if name in SCENARIOS and step]
    blocks = [name for at, name in enumerate(shown) if shown[at - 1 : at] != [name]]
    assert blocks == list(SCENARIOS)
    (file,) = tmp_path.glob("results/*/run.json")
    document = json.loads(file.read_text())
    assert document["passed"] is True
    assert [
        f"{one['scenario']}@{one['variant']}" if one["variant"] else one["scenario"]
        for one in document["scenarios"]
    ] == list(SCENARIOS)
    assert len(document["cluster"].split(", ")) == 2
    configs = document["environment"]["config_hashes"]
    assert {f"{name}: scenario" for name in SCENARIOS} <= set(configs)
    assert left_of(run) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("line", ["cluster run-", "step 3 (wait"])
def test_an_interrupted_run_leaves_nothing_of_any_cluster(
    vain: StowageRun, line: str, number: signal.Signals
) -> None:
    """Whoever presses Ctrl-C wants the machine back, with all of its clusters."""
    vain.wait_for_line(line)

    os.killpg(vain.process.pid, number)

    assert vain.process.wait(END_TIMEOUT_S) == EXPECTED_CODE[number], vain.said
    assert left_of(vain) == []


def test_a_run_that_is_killed_takes_its_clusters_along(vain: StowageRun) -> None:
    """Its workers would wait for orders for ever."""
    vain.wait_for_line("step 3 (wait")

    vain.process.kill()

    wait_until(
        "nothing to be left",
        lambda: left_of(vain),
        lambda left: not left,
        timeout_s=END_TIMEOUT_S,
    )


def test_a_worker_that_is_killed_ends_the_run(vain: StowageRun) -> None:
    """Its scenario has no verdict, and its cluster no owner."""
    vain.wait_for_line("step 3 (wait")
    owner = read_owner(vain.workdirs[1])
    assert owner is not None

    os.kill(owner.pid, signal.SIGKILL)

    assert vain.process.wait(END_TIMEOUT_S) == 3, vain.said
    assert f"the run ended early: worker process {owner.pid} has ended" in vain.said
    assert left_of(vain) == []
