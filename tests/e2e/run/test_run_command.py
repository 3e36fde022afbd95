"""`stowage run` as users type it: when it fails, side by side, and `stowage try`."""

import json
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlparse
from xml.etree import ElementTree as ET

import pytest
from amounts import size
from stowage_run import MAIN, STOWAGE, StowageRun

from stowage_testbed.api.objects import Objects
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster import Cluster, KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.listing import list_clusters

TIMEOUT_S = 240.0
WRONG = Path(__file__).with_name("wrong.yaml")

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Yield a cluster of the user's own, on which the release is left."""
    with running_cluster(KwokBinaryCluster(f"fail-{secrets.token_hex(2)}")) as made:
        yield made


def run_wrong(cluster: Cluster, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*STOWAGE, MAIN, "run", str(WRONG), "--cluster", cluster.name]
    return subprocess.run(
        [*command, "--results", str(folder / "results"), *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def what_is_left(cluster: Cluster) -> set[str]:
    """Return the names of nodes, and of pods outside the release's namespace."""
    with cluster.api_client() as api:
        found = [*Objects(api).list_all("Node"), *Objects(api).list_all("Pod")]
    return {str(body["metadata"]["name"]) for body in found if body["metadata"].get("namespace") != "stowage-system"}


def test_a_failure_is_told_in_each_form_and_leaves_evidence(cluster: Cluster, tmp_path: Path) -> None:
    """`stowage run --json - | jq` works, and CI shows what failed without a log.

    The cluster may be gone when somebody looks: its events, logs and tables are not.
    """
    junit = tmp_path / "junit.xml"
    options = ("--repeat", "2", "--json", "-", "--junit", str(junit))

    done = run_wrong(cluster, tmp_path, *options)

    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    rounds = document["scenarios"]
    assert [item["repeat"] for item in rounds] == [1, 2]
    assert len({item["checkpoints"][0]["placement_hash"] for item in rounds}) == 1
    assert document["divergences"] == []
    (written,) = tmp_path.glob("results/*/run.json")
    assert document == json.loads(written.read_text())
    assert "utilisation of memory: expected 0.75, found 0.25" in done.stderr
    assert "FAILED (1) 0/2" in done.stderr
    assert len(list(ET.parse(junit).getroot().iter("failure"))) == 2  # noqa: S314 - written by the code under test
    line = next(one for one in done.stderr.splitlines() if "evidence is in" in one)
    evidence = Path(line.rpartition(" ")[2])
    assert {path.name for path in evidence.iterdir()} == {
        "audit.jsonl",
        "deterministic-scheduler.log",
        "events.txt",
        "nodes.txt",
        "optimizer-optimizer.log",
        "optimizer-scheduler.log",
        "plans.yaml",
        "pods.txt",
        "what-failed.txt",
    }
    assert "only" in (evidence / "pods.txt").read_text()
    assert "Scheduled" in (evidence / "events.txt").read_text()
    assert '"subresource":"binding"' in (evidence / "audit.jsonl").read_text()
    assert (evidence / "deterministic-scheduler.log").stat().st_size > 0
    assert what_is_left(cluster) == {"stowage-host"}


def test_an_interrupted_scenario_is_taken_back_from_a_named_cluster(cluster: Cluster, tmp_path: Path) -> None:
    """Ctrl-C must not leave strange nodes and pods on a cluster that stays."""
    run = StowageRun(tmp_path, "run", "paper/figure-1", "--cluster", cluster.name)
    run.wait_for_line("create first, second and third")

    run.process.send_signal(signal.SIGINT)

    assert run.process.wait(TIMEOUT_S) == 130
    assert what_is_left(cluster) == {"stowage-host"}


def test_a_node_of_ones_own_is_left_as_it_is(cluster: Cluster, tmp_path: Path) -> None:
    """On a cluster that one keeps, a name that was taken cost the node it named."""
    with closing(cluster.api_client()) as api:
        objects = Objects(api)
        create_nodes(api, [NodePool("node", 1, size(1000, 2**30))])
        before = objects.read("Node", "node-0")["metadata"]["uid"]

        done = run_wrong(cluster, tmp_path)

        assert done.returncode == 1
        assert "the cluster has a node node-0 already" in done.stdout + done.stderr
        assert objects.read("Node", "node-0")["metadata"]["uid"] == before


pytestmark = pytest.mark.e2e

SCENARIOS = (
    "kubernetes/parallel-job",
    "kubernetes/sidecars",
    "paper/figure-1",
    "burst/deployment-200@small",
    "kubernetes/quota-and-limits",
)


def test_several_report_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs and documents are read, and compared, by people and programs.

    A scenario's lines are one block, in the order in which scenarios were asked for, whatever pytest's settings are.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    run = StowageRun(tmp_path, "run", *SCENARIOS, "--jobs", "2")

    assert run.process.wait(HANG_S * 2) == 0, run.said
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
        f"{one['scenario']}@{one['variant']}" if one["variant"] else one["scenario"] for one in document["scenarios"]
    ] == list(SCENARIOS)
    assert len(document["cluster"].split(", ")) == 2
    configs = document["environment"]["config_hashes"]
    assert {f"{name}: scenario" for name in SCENARIOS} <= set(configs)
    assert run.left() == []


pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("options", [["--nodes", "6"], ["--nodes", "4", "--gpus"]])
def test_one_command_goes_from_nothing_to_a_page(options: list[str], tmp_path: Path) -> None:
    """Pods wait, fewer wait afterwards, the page is there, and nothing is left."""
    before = {cluster.name for cluster in list_clusters()}

    done = subprocess.run(
        [*STOWAGE, MAIN, "try", *options], cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )

    assert done.returncode == 0, done.stderr
    counts = re.search(r"waiting: (\d+) before, (\d+) after", done.stdout)
    assert counts is not None
    assert int(counts[1]) > int(counts[2])
    (address,) = re.findall(r"page: (\S+)", done.stdout)
    page = Path(urlparse(address).path)
    assert page.is_relative_to(tmp_path / "results")
    assert "Before and after" in page.read_text(encoding="utf-8")
    assert "stowage whatif" in done.stdout
    assert {cluster.name for cluster in list_clusters()} == before
