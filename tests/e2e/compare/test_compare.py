"""`stowage compare` from the command line, with schedulers that really run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from arm_environment import ArmEnvironment

from stowage_testbed.compare.bundle import Bundle, read_bundle
from stowage_testbed.metrics.catalogue import metrics_of

pytestmark = pytest.mark.e2e

BROKEN = """\
name: broken
binary: /bin/false
arguments: ["{config}", "{port}"]
configuration: "none"
schedulerName: broken
ready: http://127.0.0.1:{port}/healthz
settings: {version: v0, qps: 1000, burst: 1000, parallelism: 16}
"""
COMPARE = (
    sys.executable,
    "-c",
    "from stowage_testbed.cli import main; main()",
    "compare",
)
SMALL = ("burst/deployment-200", "--variant", "small", "--warm-up", "10")


def command_line(
    environment: ArmEnvironment, folder: Path, *arguments: str
) -> list[str]:
    command = [*COMPARE, *arguments]
    return [*command, "--cluster", environment.cluster.name, "--results", str(folder)]


def compare(
    environment: ArmEnvironment, folder: Path, *arguments: str
) -> tuple[int, str]:
    """Run the command on the cluster, and return its exit code and output."""
    done = subprocess.run(
        command_line(environment, folder, *arguments),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def compared(
    environment: ArmEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> Bundle:
    """Return a comparison of one round that was resumed for a second."""
    folder = tmp_path_factory.mktemp("compare") / "bundle"
    arms = ("--arms", "default,stowage-score-cache")
    before = environment.processes()
    code, said = compare(environment, folder, *SMALL, *arms, "--repeat", "1")
    assert code == 0, said
    first = (folder / "records" / "equal" / "round-001-default.json.gz").read_bytes()

    code, said = compare(environment, folder, *SMALL, *arms, "--repeat", "2")

    assert code == 0, said
    assert "Verdicts against default, equal client limits" in said
    kept = (folder / "records" / "equal" / "round-001-default.json.gz").read_bytes()
    assert kept == first
    assert environment.processes() == before
    assert environment.arm_objects() == []
    return read_bundle(folder)


def test_every_arm_places_every_pod_in_every_round(compared: Bundle) -> None:
    """And nothing of it is an error; memory and CPU time are those of its processes."""
    runs = [(one.round_number, one.arm) for one in compared.records]

    assert len(set(runs)) == len(runs) == 4
    assert compared.complete
    for record in compared.records:
        found = {metric.name: metric.value for metric in metrics_of(record)}
        assert record.error == ""
        assert found["placed_pods"] == record.api_pods == 40
        assert record.warm
        assert record.peak_memory_bytes is not None
        assert 20 * 2**20 < record.peak_memory_bytes < 2 * 2**30
        assert record.cpu_s is not None
        assert 0 < record.cpu_s < 60


def test_what_each_scheduler_read_and_what_is_shown_is_kept(compared: Bundle) -> None:
    """The limits that were asked for have really been its own."""
    kept = {
        path.name: path.read_text(encoding="utf-8")
        for path in (compared.folder / "configurations").iterdir()
    }
    page = (compared.folder / "report.html").read_text(encoding="utf-8")
    tables = (compared.folder / "report.md").read_text(encoding="utf-8")

    assert sorted(kept) == ["equal-default.txt", "equal-stowage-score-cache.txt"]
    assert all("qps: 1000" in text for text in kept.values())
    assert "burst/deployment-200@small" in page
    assert "stowage-score-cache" in tables


def test_an_arm_that_does_not_start_is_reported_and_stops_nobody(
    environment: ArmEnvironment, tmp_path: Path
) -> None:
    """The other arm's runs are worth keeping, and the exit code is 1."""
    file = tmp_path / "broken.yaml"
    file.write_text(BROKEN, encoding="utf-8")
    folder = tmp_path / "bundle"

    code, said = compare(
        environment,
        folder,
        *SMALL,
        *("--arms", "default", "--arm-file", str(file)),
        *("--repeat", "1", "--allow-unfair"),
    )

    assert code == 1, said
    assert "arm broken did not start" in said
    good, broken = read_bundle(folder).records
    assert good.error == ""
    assert "arm broken did not start" in broken.error
    assert environment.arm_objects() == []


def test_a_comparison_that_is_interrupted_can_be_gone_on_with(
    environment: ArmEnvironment, tmp_path: Path
) -> None:
    """Ctrl-C leaves whole records and nothing that runs."""
    folder = tmp_path / "bundle"
    before = environment.processes()
    arguments = (*SMALL, "--arms", "default,stowage", "--repeat", "20")
    command = command_line(environment, folder, *arguments)
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "pods placed" in line:
                break
        psutil.Process(running.pid).terminate()
        rest = running.stderr.read()
        running.wait(timeout=60)

    assert running.returncode == 128 + 15, rest
    found = read_bundle(folder)
    assert not found.complete
    assert found.records
    assert all(record.error == "" for record in found.records)
    assert environment.processes() == before
    assert environment.arm_objects() == []
    assert left_of_comparisons(environment) == []


ROOM = """\
version: 1
name: plans/room
description: Two pods leave no room on two nodes for a third, unless one moves.
source: Figure 1 of "Priority Matters".
labels: [plans]
nodes:
  - {count: 2, prefix: room, cpu: "4", memory: 4G, labels: {room: "yes"}}
workload:
  - {name: first, replicas: 2, cpu: 1, memory: 2G, pod: {nodeSelector: {room: "yes"}}}
  - {name: third, replicas: 1, cpu: 1, memory: 3G, pod: {nodeSelector: {room: "yes"}}}
steps:
  - apply: first
  - wait: {for: ready, of: first}
  - measure: start
  - apply: third
  - wait: {for: bound}
  - measure: stop
expect:
  end: {placed: 3, pending: {}}
"""


def test_what_a_plan_moves_is_measured(
    environment: ArmEnvironment, tmp_path: Path
) -> None:
    """A scheduler that makes room by moving pods has a price, and it is reported."""
    file = tmp_path / "plans" / "room.yaml"
    file.parent.mkdir()
    file.write_text(ROOM, encoding="utf-8")
    folder = tmp_path / "bundle"
    arguments = (str(file), "--arms", "stowage", "--repeat", "1", "--warm-up", "0")

    code, said = compare(environment, folder, *arguments)

    assert code == 0, said
    (record,) = read_bundle(folder).records
    found = {metric.name: metric.value for metric in metrics_of(record)}
    assert found["moves_pods"] == 1
    assert found["evictions_pods"] == 0
    assert found["gap_to_bound_pods"] == 0


def left_of_comparisons(environment: ArmEnvironment) -> list[str]:
    """Return the namespaces and nodes that a comparison made."""
    namespaces = [
        one.metadata.name
        for one in environment.core.list_namespace().items
        # One that goes is gone in seconds, whoever waits.
        if not one.metadata.deletion_timestamp
    ]
    nodes = [one.metadata.name for one in environment.core.list_node().items]
    return [
        *(one for one in namespaces if one.startswith(("warm-", "burst-"))),
        *(one for one in nodes if one.startswith("exp-pool")),
    ]
