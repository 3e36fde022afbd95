"""A cluster that sessions of pytest share, one after the other."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stowage_testbed.base import layout

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

POD = """
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "c", "image": "c"}]},
}
"""

KILLED = (
    POD
    + """
import os, signal

PRIORITY = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1,
}
def test_it(stowage_nodes, stowage_arm, stowage_apply, stowage_placements):
    stowage_nodes("{cpu: 1, memory: 1Gi}")
    stowage_arm("default")
    stray = POD | {"metadata": {"name": "stray", "namespace": "default"}}
    stowage_apply(stray, POD, PRIORITY)
    assert stowage_placements() == {"one": "node-0"}
    os.kill(os.getpid(), signal.SIGKILL)
"""
)

AFTER = (
    POD
    + """
import pytest
from kubernetes.client import CoreV1Api, SchedulingV1Api
from stowage_testbed.cluster.components import processes_of
from stowage_testbed.base.errors import StowageError

def test_nothing_is_left(stowage_cluster):
    with stowage_cluster.api_client() as api:
        core = CoreV1Api(api)
        assert not [n for n in core.list_node().items if n.metadata.name == "node-0"]
        assert not [p for p in core.list_namespaced_pod("default").items]
        spaces = {one.metadata.name for one in core.list_namespace().items}
        assert {s for s in spaces if not s.startswith("kube-")} == {"default"}
        classes = SchedulingV1Api(api).list_priority_class().items
        assert all(one.metadata.name.startswith("system-") for one in classes)
    names = {one.name() for one in processes_of(stowage_cluster.workdir)}
    assert "kube-apiserver" in names
    assert "kube-scheduler" not in names

def test_a_test_without_a_scheduler_gets_an_error(stowage_apply, stowage_placements):
    stowage_apply(POD)
    with pytest.raises(StowageError, match="no scheduler places the pods"):
        stowage_placements()

def test_a_deadline_names_the_pods(stowage_arm, stowage_apply, stowage_placements):
    stowage_arm("default")
    stowage_apply(POD)
    stowage_placements(placed=1, timeout_s=0.1)

@pytest.mark.stowage(scenario="wrong.yaml")
def test_a_scenario_that_fails():
    raise AssertionError("the body is not run")
"""
)

WRONG = """
version: 1
name: {folder}/wrong
description: Expects that a pod is not placed although there is room for it.
nodes:
  - {{count: 1, cpu: "4", memory: 4G}}
workload:
  - {{name: web, replicas: 1, cpu: 100m, memory: 1G}}
steps:
  - apply: [web]
  - wait: {{for: bound, of: web}}
expect:
  end: {{placed: 0}}
"""


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use a cache with the same tools: the user may have a cluster `pytest` as well."""
    # The path of a socket in there may have 107 characters; pytest's own are long.
    with tempfile.TemporaryDirectory(prefix="stowage-") as cache:
        (Path(cache) / "tools").symlink_to(layout.tools_folder())
        monkeypatch.setenv("STOWAGE_CACHE", cache)
        yield
        _run("stowage", "down", "pytest", cwd=tmp_path)


def _run(program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name(program)), *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def _session(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(text)
    options = ("-q", "-p", "no:cacheprovider", "--stowage-reuse")
    return _run("pytest", *options, cwd=folder)


@pytest.mark.usefixtures("own_cache")
def test_a_session_finds_the_cluster_of_one_that_was_killed_clean(tmp_path: Path) -> None:
    """What it left cannot be distinguished from what the next test expects.

    Failures say what failed, in the words of the pods and of the checks.
    """
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "wrong.yaml").write_text(WRONG.format(folder=folder.name))

    killed = _session(folder, KILLED)
    after = _session(folder, AFTER)

    assert killed.returncode == -9, killed.stdout
    assert "2 failed, 2 passed" in after.stdout, after.stdout
    assert re.search(r"WaitTimeoutError: waited [\d.]+ s for the pods of", after.stdout)
    assert "0 of 1 pods have a node" in after.stdout
    assert "Unschedulable: 0/1 nodes are available" in after.stdout
    assert "expected 0, found 1" in after.stdout
    assert "the body is not run" not in after.stdout.split("short test summary")[1]
    assert "observer.py" not in after.stdout
