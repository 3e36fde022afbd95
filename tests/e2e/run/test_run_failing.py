"""`stowage run` when a scenario fails: what is printed, written and left alone."""

from __future__ import annotations

import json
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from amounts import size
from stowage_run import CHECKOUT, MAIN, STOWAGE, StowageRun

from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster import Cluster, KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.source import NODES, PODS

TIMEOUT_S = 240.0

SCENARIO = """\
name: {folder}/wrong
description: One pod on one node, and an expectation that cannot hold.
nodes:
  - {{count: 1, cpu: "4", memory: 4G}}
workload:
  - {{name: only, replicas: 1, cpu: 100m, memory: 1G}}
expect:
  deterministic: {{placed: 1, utilisation: {{memory: 0.75}}}}
  optimizer: {{solves: 0}}
"""

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(KwokBinaryCluster(f"fail-{secrets.token_hex(2)}")) as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("failing")


@pytest.fixture(scope="module")
def answer(cluster: Cluster, folder: Path) -> subprocess.CompletedProcess[str]:
    scenario = folder / "wrong.yaml"
    scenario.write_text(SCENARIO.format(folder=folder.name))
    return subprocess.run(
        [
            *STOWAGE,
            MAIN,
            *("run", str(scenario), "--cluster", cluster.name, "--repeat", "2"),
            *("--results", str(folder / "results"), "--json", "-"),
            *("--junit", str(folder / "junit.xml")),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def test_the_exit_code_shows_the_result(
    answer: subprocess.CompletedProcess[str],
) -> None:
    """CI looks at nothing else."""
    assert answer.returncode == 1, answer.stderr


def test_standard_output_is_json_and_nothing_else(
    answer: subprocess.CompletedProcess[str],
) -> None:
    """`stowage run --json - | jq` must work whatever goes wrong."""
    document = json.loads(answer.stdout)

    rounds = document["scenarios"]
    assert [item["repeat"] for item in rounds] == [1, 2]
    assert len({item["checkpoints"][0]["placement_hash"] for item in rounds}) == 1
    assert document["divergences"] == []


def test_the_failed_check_is_printed_with_both_values(
    answer: subprocess.CompletedProcess[str],
) -> None:
    """Whoever reads the log knows what to look at."""
    assert "utilisation of memory: expected 0.75, got 0.25" in answer.stderr
    assert "FAILED (1) 0/2" in answer.stderr


def test_the_evidence_is_in_the_folder_that_was_named(
    answer: subprocess.CompletedProcess[str],
) -> None:
    """Events, logs, plans and tables of a cluster that may be gone by now."""
    lines = [line for line in answer.stderr.splitlines() if "evidence is in" in line]

    evidence = Path(lines[0].rpartition(" ")[2])
    names = {path.name for path in evidence.iterdir()}
    assert {
        "audit.jsonl",
        "deterministic-scheduler.log",
        "events.txt",
        "nodes.txt",
        "optimizer-optimizer.log",
        "optimizer-scheduler.log",
        "plans.yaml",
        "pods.txt",
        "what-failed.txt",
    } == names
    assert "only" in (evidence / "pods.txt").read_text()
    assert "Scheduled" in (evidence / "events.txt").read_text()
    assert '"subresource":"binding"' in (evidence / "audit.jsonl").read_text()
    assert (evidence / "deterministic-scheduler.log").stat().st_size > 0


def test_the_junit_file_has_a_failure_for_each_round(
    answer: subprocess.CompletedProcess[str], folder: Path
) -> None:
    """The CI system shows what failed without opening a log."""
    document = (folder / "junit.xml").read_text()

    root = ET.fromstring(document)  # noqa: S314 - written by the code under test
    assert answer.returncode == 1
    assert len(list(root.iter("failure"))) == 2


def test_a_named_cluster_stays_up_and_clean(
    answer: subprocess.CompletedProcess[str], cluster: Cluster
) -> None:
    """It is the user's; each scenario takes back what it brought."""
    assert answer.returncode == 1
    assert what_is_left(cluster) == {"stowage-host"}


def test_an_interrupted_scenario_is_taken_back_from_a_named_cluster(
    answer: subprocess.CompletedProcess[str], cluster: Cluster, tmp_path: Path
) -> None:
    """Ctrl-C must not leave strange nodes and pods on a cluster that stays."""
    assert answer.returncode == 1
    run = StowageRun(tmp_path, "paper/figure-1", "--cluster", cluster.name)
    run.wait_for_line("create first, second and third")

    run.process.send_signal(signal.SIGINT)

    assert run.process.wait(TIMEOUT_S) == 130
    assert what_is_left(cluster) == {"stowage-host"}


def what_is_left(cluster: Cluster) -> set[str]:
    """Return the names of nodes, and of pods outside the release's namespace."""
    with (
        cluster.api_client() as api,
        Observer(api, [NODES, PODS]) as observer,
    ):
        nodes = observer.read(lambda state: state.bodies("Node"))
        pods = observer.read(lambda state: state.bodies("Pod"))
    return {str(body["metadata"]["name"]) for body in nodes} | {
        str(body["metadata"]["name"])
        for body in pods
        if body["metadata"]["namespace"] != "stowage-system"
    }


def test_a_node_of_ones_own_is_left_as_it_is(cluster: Cluster, folder: Path) -> None:
    """On a cluster that one keeps, a name that was taken cost the node it named."""
    scenario = folder / "taken.yaml"
    text = SCENARIO.format(folder=folder.name)
    scenario.write_text(text.replace("/wrong", "/taken"))
    with closing(cluster.api_client()) as api:
        objects = Objects(api)
        create_nodes(api, [NodePool("node", 1, size(1000, 2**30))])
        try:
            before = objects.read("Node", "node-0")["metadata"]["uid"]

            done = subprocess.run(
                [*STOWAGE, MAIN, "run", str(scenario), "--cluster", cluster.name],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )

            assert done.returncode == 1
            assert "the cluster has a node node-0 already" in done.stdout + done.stderr
            assert objects.read("Node", "node-0")["metadata"]["uid"] == before
        finally:
            objects.delete("Node", "node-0")
