"""Upstream's end-to-end tests of scheduling, on fake nodes, with every profile."""

import json
import re
import secrets
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kubernetes.client import ApiClient, CoreV1Api

from benchmarks.engine import Rounds, Say, build_of, failing_figure
from benchmarks.upstream.harness import UpstreamBuild, run_ending
from benchmarks.upstream.profiles import STOCK, Profile
from stowage_testbed.amounts.resources import Resources
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.child import log_end
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import API_SERVER, CONTROLLER_MANAGER, HOST_TAINT
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.compare.arms.kube_scheduler import SCHEDULER_NAME, default_arm
from stowage_testbed.helm import install_release
from stowage_testbed.reproduce.rebuilding import write_figures
from stowage_testbed.text.figure import Figure

SIG = r"\[sig-scheduling\]"
GATE = "FeatureGate:"
OFF_BY_DEFAULT = "Feature:OffByDefault"
LIMIT_S = 900.0
"""Of one test. Upstream's own waits are up to ten minutes."""

LISTING_S = 120.0
OUTPUT = "output.log"


@dataclass(frozen=True, slots=True)
class Spec:
    """One test."""

    name: str
    gates: frozenset[str]


@dataclass(frozen=True, slots=True)
class SpecResult:
    """How a test ended with a profile, in Ginkgo's word and upstream's message."""

    spec: str
    profile: str
    result: str
    message: str
    seconds: float


class Suite:
    """Upstream's tests as a program."""

    def __init__(self, build: UpstreamBuild) -> None:
        self._binary = build.compile_test("./e2e", "e2e.test")

    def specs(self) -> list[Spec]:
        """Return every test that there is, by name: upstream draws an order."""
        with tempfile.TemporaryDirectory(prefix="sto-specs-") as folder:
            found = self._report(
                Path(folder), ["--ginkgo.dry-run", f"--ginkgo.focus={SIG}", "--kubeconfig="], LISTING_S
            )
            if found is None:
                raise StowageError(
                    f"upstream's tests could not be listed; the last lines:\n{log_end(Path(folder) / OUTPUT)}"
                )
        specs = [read_spec(one) for one in found if one["State"] != "skipped"]
        return sorted(specs, key=lambda one: one.name)

    def run(self, spec: Spec, profile: str, cluster: Cluster, kept: Path) -> SpecResult:
        """Run one test on a cluster."""
        kept.mkdir(parents=True, exist_ok=True)
        found = self._report(
            kept,
            [
                f"--ginkgo.focus={re.escape(spec.name)}$",
                f"--kubeconfig={cluster.kubeconfig}",
                "--provider=skeleton",
                f"--non-blocking-taints={HOST_TAINT}",
                # One node is no worker: it holds Stowage's own pods.
                "--allowed-not-ready-nodes=1",
                "--dump-logs-on-failure=false",
                f"--e2e-output-dir={kept}",
            ],
            LIMIT_S,
        )
        if found is None:
            message = f"no report came within {LIMIT_S:.0f} s: see {OUTPUT}"
            return SpecResult(spec.name, profile, "failed", message, LIMIT_S)
        ran = [one for one in found if one.get("NumAttempts")]
        if not ran:
            raise StowageError(
                f"upstream's program did not run the test {spec.name!r}; its last lines:\n{log_end(kept / OUTPUT)}"
            )
        (one,) = ran
        return SpecResult(
            spec.name, profile, one["State"], (one.get("Failure") or {}).get("Message", ""), one["RunTime"] / 1e9
        )

    def _report(self, folder: Path, arguments: list[str], limit_s: float) -> list[dict[str, Any]] | None:
        """Run the program and return what it reports; None if it reports nothing."""
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        output = folder / OUTPUT
        run_ending(
            [str(self._binary), *arguments, "--ginkgo.no-color", "--ginkgo.v",
             f"--ginkgo.json-report={report}"],
            folder,
            {},
            output,
            limit_s,
        )  # fmt: skip
        if not report.is_file():
            return None
        (suite,) = json.loads(report.read_text(encoding="utf-8"))
        return [one for one in suite["SpecReports"] or () if one["LeafNodeType"] == "It"]


def read_spec(report: Mapping[str, Any]) -> Spec:
    """Return a test from Ginkgo's report of it."""
    texts = [*(report["ContainerHierarchyTexts"] or ()), report["LeafNodeText"]]
    labels = {
        one for some in (*(report["ContainerHierarchyLabels"] or ()), report["LeafNodeLabels"]) for one in some or ()
    }
    gates = (one.removeprefix(GATE) for one in labels if one.startswith(GATE))
    return Spec(" ".join(texts), frozenset(gates if OFF_BY_DEFAULT in labels else ()))


NODES = NodePool(
    "node",
    6,
    Resources.of_list({"cpu": "4", "memory": "8Gi", "pods": 110, "ephemeral-storage": "100Gi"}),
    zones=("a", "b", "c"),
)
"""Two nodes in each of three zones: what upstream's tests ask of a cluster."""

EVERYWHERE = ("kube-proxy", "fluentd-elasticsearch", "node-problem-detector")
"""Pods that upstream waits for on every node, a minute a test, and does without then
(test/e2e/framework/node/wait.go, `requiredPerNodePods`)."""


@contextmanager
def serving_cluster(profile: Profile, gates: Collection[str]) -> Iterator[Cluster]:
    """Yield a cluster whose ``default-scheduler`` has a profile; it goes at the end."""
    spelt = _spell(gates)
    extra_args = {
        API_SERVER: {"feature-gates": spelt, "runtime-config": "api/beta=true"},
        CONTROLLER_MANAGER: {"feature-gates": spelt},
    }
    cluster = KwokBinaryCluster(f"upstream-{secrets.token_hex(3)}", extra_args=extra_args if gates else None)
    with running_cluster(cluster), cluster.api_client() as api:
        create_nodes(api, [NODES])
        _give_addresses(api)
        objects = Objects(api)
        with _scheduler(cluster, profile, gates):
            for node in NODES.node_names():
                for name in EVERYWHERE:
                    objects.create(_system_pod(name, node))
            yield cluster


@contextmanager
def _scheduler(cluster: Cluster, profile: Profile, gates: Collection[str]) -> Iterator[None]:
    """Have the cluster's ``default-scheduler`` serve for the block."""
    if profile.plugins != "none":
        install_release(
            cluster,
            profile=profile.shipped or "default",
            optimizer_enabled=profile.plans,
            values={
                "schedulerName": SCHEDULER_NAME,
                "rbac": {"allowPreemption": profile.preempts},
                "scheduler": {"featureGates": dict.fromkeys(gates, True)},
            },
        )
        yield
        return
    arm = default_arm()
    if gates:
        arm = replace(arm, flags=(f"--feature-gates={_spell(gates)}",))
    with tempfile.TemporaryDirectory(prefix="sto-stock-") as folder, arm.running(cluster, Path(folder), None):
        yield


def _give_addresses(api: ApiClient) -> None:
    """Give each node an address of its own; fake ones all have the loopback's.

    Upstream takes a node's address and the loopback for two.
    """
    core = CoreV1Api(api)
    for number, node in enumerate(NODES.node_names(), start=1):
        address = {"type": "InternalIP", "address": f"192.0.2.{number}"}
        core.patch_node_status(node, {"status": {"addresses": [address]}})


def _spell(gates: Collection[str]) -> str:
    return ",".join(f"{gate}=true" for gate in sorted(gates))


def _system_pod(name: str, node: str) -> dict[str, Any]:
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": name, "image": "example.com/none"}],
    }
    return make_manifest("v1", "Pod", f"{name}-{node}", "kube-system", spec=spec)


NAME = "upstream-e2e"
MOST_LETTERS = 120
"""Of a folder's name."""

NEEDS_A_KUBELET: Mapping[str, str] = {
    "verify pod overhead is accounted for": ("it adds to a node's capacity, which only a kubelet makes allocatable"),
    "preempt expectedly with the async preemption": (
        "its pods stay for the 79 s of a preStop hook, which only a kubelet runs"
    ),
}
"""By words of their names, the tests that fake nodes cannot serve, and why."""

NEEDS_PREEMPTION = (
    "SchedulerPreemption PodTopologySpread",
    "SchedulerPreemption PreemptionExecutionPath",
    "SchedulerPreemption validates",
    "WorkloadAwarePreemption",
)
"""Words of the tests in which a pod waits for ever unless it preempts others."""


def run_specs(profiles: Sequence[Profile], only: str, results: Path, say: Say) -> str:
    """Run the tests, write ``<results>/upstream-e2e.json``, return the table.

    Each profile, and the stock scheduler beside them, has a cluster of its own, and a
    further one for the tests that ask for feature gates. What was run is kept.
    """
    # The tests run in folders of their own, from which a relative one is elsewhere.
    folder = (results / NAME).resolve()
    say("building upstream's tests from their module: minutes when nothing is cached")
    suite = Suite(UpstreamBuild(folder / "build"))
    known = suite.specs()
    excused = {one.name: left_out(known, one) for one in profiles}
    builds = build_of("stowage-scheduler", "kube-scheduler")
    rounds = Rounds(folder / f"results-{builds}.jsonl", SpecResult)
    asked = [one for one in known if only in one.name]
    for profile in profiles:
        for gated in (False, True):
            due = [
                one
                for one in asked
                if one.name not in excused[profile.name]
                and bool(one.gates) == gated
                and f"{profile.name}/{one.name}" not in rounds
            ]
            if due:
                _run(suite, profile, due, folder, rounds=rounds, say=say)
    found = rounds.rows()
    return write_figures(
        results / f"{NAME}.json",
        [spec_figure(profile, found) for profile in profiles],
        {},
        specs=[asdict(one) for one in found],
        left_out=[
            {"profile": profile.name, "spec": spec, "reason": reason}
            for profile in profiles
            for spec, reason in {**excused[profile.name], **_skipped(found, profile)}.items()
        ],
    )


def left_out(specs: Iterable[Spec], profile: Profile) -> Mapping[str, str]:
    """Return the tests that a profile is not asked on fake nodes, with the reason."""
    reasons = dict(NEEDS_A_KUBELET)
    if not profile.preempts:
        reasons |= dict.fromkeys(NEEDS_PREEMPTION, "the profile preempts nobody")
    names = [one.name for one in specs]
    found: dict[str, str] = {}
    for words, reason in reasons.items():
        of_words = [name for name in names if words in name]
        if not of_words:
            raise StowageError(
                f"upstream has no test with the words {words!r}, which is left out: correct {Path(__file__).name}"
            )
        found |= dict.fromkeys(of_words, reason)
    return found


def _skipped(found: Iterable[SpecResult], profile: Profile) -> Mapping[str, str]:
    mine = [one for one in found if one.result == "skipped" and one.profile == profile.name]
    return {one.spec: f"upstream skips it: {one.message}" for one in mine}


def _run(
    suite: Suite, profile: Profile, due: Sequence[Spec], folder: Path, *, rounds: Rounds[SpecResult], say: Say
) -> None:
    """Run tests with a profile on one cluster, one after the other."""
    gates = frozenset[str]().union(*(one.gates for one in due))
    with serving_cluster(profile, gates) as cluster:
        for spec in due:
            words = re.sub(r"\W+", "-", spec.name)[:MOST_LETTERS].strip("-")
            ended = suite.run(spec, profile.name, cluster, folder / profile.name / words)
            rounds.add(f"{profile.name}/{spec.name}", (ended,))
            say(f"{profile.name}: {ended.result}, {ended.seconds:.0f} s: {spec.name}")


def spec_figure(profile: Profile, found: Sequence[SpecResult]) -> Figure:
    """Return how many tests fail with the profile, of those that pass with stock.

    For stock it is how many fail of those that ran; it judges fake nodes.
    """
    counts = {
        one.spec
        for one in found
        if one.profile == STOCK.name and (one.result == "passed" or (profile is STOCK and one.result != "skipped"))
    }
    words = "fail" if profile is STOCK else "fail, of those that stock passes"
    return failing_figure(
        f"{profile.name}: upstream's end-to-end tests that {words}",
        {one.spec: one.result == "passed" for one in found if one.profile == profile.name and one.spec in counts},
    )
