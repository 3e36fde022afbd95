"""Every arm on a real cluster, and `stowage compare` with schedulers that really run."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from arm_environment import ArmEnvironment, secrets_in
from kubernetes.client import CustomObjectsApi
from release_environment import listening
from stowage_run import MAIN, STOWAGE

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.compare.arms import ARMS, choose_arms
from stowage_testbed.compare.arms.serving import ArmEndedError, RunningArm
from stowage_testbed.compare.arms.settings import ClientLimits
from stowage_testbed.compare.arms.stowage import StowageArm
from stowage_testbed.compare.comparison import read_bundle
from stowage_testbed.metrics.catalogue import metrics_of

pytestmark = pytest.mark.e2e

LIMITS = ClientLimits(qps=200.0, burst=300)
OTHERS = {"koordinator", "yunikorn"}
"""Schedulers of other projects, which only `make test-all` builds."""


@pytest.fixture
def left_as_it_was(environment: ArmEnvironment) -> Iterator[None]:
    """Check that a test leaves no process and no object on the cluster."""
    before = environment.processes()
    yield
    assert environment.processes() == before
    assert environment.arm_objects() == []
    assert environment.custom_objects() == []


@pytest.mark.usefixtures("left_as_it_was")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.nightly] * (name in OTHERS)) for name in ARMS])
def test_an_arm_places_pods_and_is_reported_when_killed(name: str, environment: ArmEnvironment, tmp_path: Path) -> None:
    """With the limits that it was given, and only on the loopback.

    Limits that do not arrive, or a scheduler that is gone, would falsify a run.
    """
    (arm,) = choose_arms([name])
    with arm.running(environment.cluster, tmp_path, LIMITS) as running:
        pids = running.pids
        with environment.pods(arm.pod_overrides) as names:
            environment.wait_bound(names)
        running.check()
        programs = [psutil.Process(pid) for pid in pids]
        started = [child for program in programs for child in program.children()]
        assert set(listening([*programs, *started])) == {"127.0.0.1"}
        assert environment.arm_objects()
        assert all(file.stat().st_size for file in running.log_files.values())
        configuration = running.configuration
        psutil.Process(pids[-1]).kill()

        message = wait_until("the report", lambda: _report(running), bool)

    assert (arm.settings(LIMITS).qps, arm.settings(LIMITS).burst) == (200, 300)
    assert "200" in configuration
    assert "300" in configuration
    assert f"arm {arm.name} ended by itself with 137" in message
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert secrets_in(tmp_path) == []


@pytest.mark.usefixtures("left_as_it_was")
def test_plans_of_an_arm_go_with_it(environment: ArmEnvironment, tmp_path: Path) -> None:
    """A later arm would carry them out."""
    plan = {
        "apiVersion": "stowage.dev/v1alpha1",
        "kind": "PackingPlan",
        "metadata": {"name": "mine"},
        "spec": {"executionMode": "DryRun"},
    }
    with StowageArm().running(environment.cluster, tmp_path, None):
        objects: Any = CustomObjectsApi(environment.api)
        objects.create_cluster_custom_object("stowage.dev", "v1alpha1", "packingplans", plan)

        assert environment.custom_objects() == ["packingplans/mine"]

    assert secrets_in(tmp_path) == []


def _report(running: RunningArm) -> str:
    try:
        running.check()
    except ArmEndedError as error:
        return str(error)
    return ""


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
SMALL = ("burst/deployment-200", "--variant", "small", "--warm-up", "10")


def command_line(environment: ArmEnvironment, folder: Path, *arguments: str) -> list[str]:
    command = [*STOWAGE, MAIN, "compare", *arguments]
    return [*command, "--cluster", environment.cluster.name, "--results", str(folder)]


def compare(environment: ArmEnvironment, folder: Path, *arguments: str) -> str:
    """Run the command on the cluster, and return its exit code and output."""
    done = subprocess.run(
        command_line(environment, folder, *arguments), capture_output=True, text=True, timeout=300, check=False
    )
    return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"


def test_every_arm_places_every_pod_in_every_round_also_of_one_that_is_resumed(
    environment: ArmEnvironment, tmp_path: Path
) -> None:
    """Memory and CPU time are those of its processes, and its limits its own."""
    folder, before = tmp_path / "bundle", environment.processes()
    arms = ("--arms", "default,stowage-score-cache")
    first = folder / "records" / "equal" / "round-001-default.json.gz"
    said = compare(environment, folder, *SMALL, *arms, "--repeat", "1")
    assert said.startswith("exit code 0\n"), said
    made = first.read_bytes()

    said = compare(environment, folder, *SMALL, *arms, "--repeat", "2")

    assert said.startswith("exit code 0\n"), said
    assert "Verdicts against default, equal client limits" in said
    assert first.read_bytes() == made
    assert environment.processes() == before
    assert environment.arm_objects() == []
    bundle = read_bundle(folder)
    runs = [(one.round_number, one.arm) for one in bundle.records]
    assert len(set(runs)) == len(runs) == 4
    assert bundle.complete
    for record in bundle.records:
        found = {metric.name: metric.value for metric in metrics_of(record)}
        assert record.error == ""
        assert found["placed_pods"] == record.api_pods == 40
        assert record.warm
        assert record.peak_memory_bytes is not None
        assert 20 * 2**20 < record.peak_memory_bytes < 2 * 2**30
        assert record.cpu_s is not None
        assert 0 < record.cpu_s < 60
    kept = {one.name: one.read_text() for one in (folder / "configurations").iterdir()}
    assert sorted(kept) == ["equal-default.txt", "equal-stowage-score-cache.txt"]
    assert all("qps: 1000" in text for text in kept.values())
    page, tables = (folder / f"report.{kind}" for kind in ("html", "md"))
    assert "burst/deployment-200@small" in page.read_text(encoding="utf-8")
    assert "stowage-score-cache" in tables.read_text(encoding="utf-8")


def test_an_arm_that_does_not_start_is_reported_and_stops_nobody(environment: ArmEnvironment, tmp_path: Path) -> None:
    """The other arm's runs are worth keeping, and the exit code is 1."""
    file, before = tmp_path / "broken.yaml", environment.processes()
    file.write_text(BROKEN, encoding="utf-8")
    folder = tmp_path / "bundle"
    arms = ("--arms", "default", "--arm-file", str(file), "--allow-unfair")

    said = compare(environment, folder, *SMALL, *arms, "--repeat", "1")

    assert said.startswith("exit code 1\n"), said
    assert "arm broken did not start" in said
    good, broken = read_bundle(folder).records
    assert good.error == ""
    assert "arm broken did not start" in broken.error
    assert environment.processes() == before
    assert environment.arm_objects() == []


def test_a_comparison_that_is_interrupted_can_be_gone_on_with(environment: ArmEnvironment, tmp_path: Path) -> None:
    """Ctrl-C leaves whole records, nothing that runs, and no key to the cluster."""
    folder = tmp_path / "bundle"
    before = environment.processes()
    arguments = (*SMALL, "--arms", "default,stowage", "--repeat", "20")
    command = command_line(environment, folder, *arguments)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "pods placed" in line:
                break
        psutil.Process(running.pid).terminate()
        rest = running.stderr.read()
        running.wait(HANG_S)

    assert running.returncode == 128 + 15, rest
    found = read_bundle(folder)
    assert not found.complete
    assert found.records
    assert all(record.error == "" for record in found.records)
    assert environment.processes() == before
    assert environment.arm_objects() == []
    assert environment.left_of_comparisons() == []
    assert secrets_in(folder) == []
    assert list(environment.cluster.workdir.glob("*.token")) == []


def test_what_a_plan_moves_is_measured(environment: ArmEnvironment, tmp_path: Path) -> None:
    """A scheduler that makes room by moving pods has a price, and it is reported."""
    file, folder = Path(__file__).with_name("room.yaml"), tmp_path / "bundle"
    arguments = (str(file), "--arms", "stowage", "--repeat", "1", "--warm-up", "0")

    said = compare(environment, folder, *arguments)

    assert said.startswith("exit code 0\n"), said
    (record,) = read_bundle(folder).records
    found = {metric.name: metric.value for metric in metrics_of(record)}
    assert found["moves_pods"] == 1
    assert found["evictions_pods"] == 0
    assert found["gap_to_bound_pods"] == 0
