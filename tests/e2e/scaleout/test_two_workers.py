"""`stowage run` and `stowage compare` on two workers, each with its own cluster."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import psutil
import pytest
from stowage_run import CHECKOUT, MAIN, StowageRun

from stowage_testbed import layout
from stowage_testbed.child import end_child
from stowage_testbed.cluster.listing import list_clusters
from stowage_testbed.compare.bundle import read_bundle
from stowage_testbed.wait import wait_until

pytestmark = pytest.mark.e2e

DRAINED, REPLACED = "nodes/drained", "nodes/replacement"
"""Neither needs the solver, which has too little of two cores beside two clusters."""
FAILING = """\
name: wrong/failing
description: One pod on one node, and an expectation that cannot hold.
nodes:
  - {count: 1, cpu: "4", memory: 4G}
workload:
  - {name: only, replicas: 1, cpu: 100m, memory: 1G}
expect:
  deterministic: {placed: 1, utilisation: {memory: 0.75}}
  optimizer: {solves: 0}
"""


def stowage(*arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={**os.environ, **(env or {})},
    )
    return done.returncode, done.stdout + done.stderr


def document(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("*/run.json")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def clusters_of_others() -> set[str]:
    return {entry.name for entry in list_clusters()}


@pytest.fixture
def dask_scheduler(tmp_path: Path) -> Iterator[str]:
    """Two worker processes that Dask's own commands start, as on two machines."""
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    local = ["--host", "127.0.0.1"]
    with ExitStack() as started:
        for command in (
            [*dask, "scheduler", *local, "--port", "0", "--no-dashboard",
             "--scheduler-file", str(file)],
            *(
                [*dask, "worker", *local, "--nthreads", "1", "--no-dashboard",
                 "--scheduler-file", str(file),
                 "--local-directory", str(tmp_path / f"worker-{number}")]
                for number in range(2)
            ),
        ):  # fmt: skip
            process = subprocess.Popen(command, **quiet)  # type: ignore[call-overload]
            started.callback(end_child, process, 30)
            wait_until("the scheduler", file.is_file, bool, timeout_s=60)
        yield json.loads(file.read_text())["address"]


def test_a_run_is_reported_as_on_one_machine(
    dask_scheduler: str, tmp_path: Path
) -> None:
    """Two scenarios on two workers, one of which fails: order, evidence, JUnit."""
    failing = tmp_path / "wrong" / "failing.yaml"
    failing.parent.mkdir()
    failing.write_text(FAILING)
    results, junit, summary = (tmp_path / n for n in ("results", "j.xml", "s.md"))

    code, said = stowage(
        "run", str(failing), DRAINED, "--dask", dask_scheduler,
        "--results", str(results), "--junit", str(junit),
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip

    assert code == 1, said
    run = document(results)
    assert run["error"] == ""
    alone, by_worker = run["scenarios"]
    assert [alone["scenario"], by_worker["scenario"]] == ["wrong/failing", DRAINED], (
        said
    )
    assert [alone["passed"], by_worker["passed"]] == [False, True], said
    assert alone["machine"] == by_worker["machine"] == os.uname().nodename
    assert by_worker["end"]["placed"] == 4
    (bundle,) = results.iterdir()
    evidence = bundle / "failed" / "wrong-failing" / "round-1"
    assert "its evidence is in" in said
    assert (evidence / "pods.txt").read_text().count("only") >= 1
    assert (evidence / "audit.jsonl").stat().st_size > 0
    kept = bundle / "nodes-drained" / "round-1"
    assert (kept / "events.jsonl").stat().st_size > 0
    assert (kept / "scenario.yaml").is_file()
    suite = ET.parse(junit).getroot()[0]  # noqa: S314 - made here
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "# Stowage: FAILED, 1 of 2 scenario runs passed" in summary.read_text()


def test_a_worker_that_dies_has_its_scenario_run_by_another(
    dask_scheduler: str, tmp_path: Path
) -> None:
    """A batch system takes a machine away; its cluster goes, and nothing is lost."""
    before = clusters_of_others()
    run = StowageRun(tmp_path, DRAINED, REPLACED, "--dask", dask_scheduler)
    try:
        owner = wait_until(
            "a cluster of a worker's",
            lambda: [
                entry
                for entry in list_clusters()
                if entry.name not in before and entry.owner_pid
            ],
            bool,
            timeout_s=120,
        )[0]
        assert owner.owner_pid is not None
        worker = psutil.Process(owner.owner_pid).parent()
        assert worker is not None
        worker.kill()
        assert run.process.wait(200) == 0, run.said
    finally:
        run.end()
    found = document(tmp_path / "results")["scenarios"]
    assert [one["scenario"] for one in found] == [DRAINED, REPLACED]
    assert all(one["passed"] for one in found)
    wait_until(
        "the dead worker's cluster to go",
        (layout.clusters_folder() / owner.name).exists,
        lambda there: not there,
        timeout_s=60,
    )


def test_an_interrupt_ends_the_clusters_of_the_workers(tmp_path: Path) -> None:
    """Ctrl-C at the client leaves no control plane behind on any machine."""
    before = clusters_of_others()
    run = StowageRun(tmp_path, DRAINED, REPLACED, "--workers", "2")
    try:
        wait_until(
            "two clusters",
            lambda: clusters_of_others() - before,
            lambda names: len(names) == 2,
            timeout_s=120,
        )
        # As a terminal does, to all of its processes.
        os.killpg(run.process.pid, signal.SIGINT)
        assert run.process.wait(90) == 130, run.said
    finally:
        run.end()
    assert clusters_of_others() <= before, run.said
    assert "it was interrupted" in document(tmp_path / "results")["error"]


def test_a_comparison_keeps_its_pairs_on_one_worker(tmp_path: Path) -> None:
    """Each round has one cluster, and a second call makes only what is missing."""
    folder = tmp_path / "bundle"
    asked = (
        "compare", "burst/deployment-200", "--variant", "small", "--warm-up", "10",
        "--arms", "default,stowage-score-cache", "--results", str(folder),
        "--workers", "2", "--repeat",
    )  # fmt: skip

    code, said = stowage(*asked, "2")

    assert code == 0, said
    bundle = read_bundle(folder)
    assert bundle.complete
    runs = [(one.round_number, one.arm) for one in bundle.records]
    arms = ("default", "stowage-score-cache")
    assert runs == [(number, arm) for number in (1, 2) for arm in arms]
    assert all(len([p for p in one.pods if p.node]) == 40 for one in bundle.records)
    workers = {
        number: {worker_of(folder, number, arm) for arm in arms} for number in (1, 2)
    }
    assert all(len(found) == 1 for found in workers.values()), workers
    assert workers[1] != workers[2]
    assert "Verdicts against default, equal client limits" in said


def worker_of(folder: Path, number: int, arm: str) -> str:
    """Return the name of the worker in whose folder an arm of a round has run."""
    (logs,) = (folder / "logs").glob(f"*/round-{number:03d}-{arm}")
    found = re.search(r"/(worker-[^/]+)/", (logs / "scheduler.yaml").read_text())
    assert found is not None
    return found[1]
