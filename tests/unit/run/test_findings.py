"""What a run makes of what it has seen: state, latency, bounds, rules, divergence."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import msgspec
import pytest
from kubernetes import client
from outcomes import a_plan, a_stepped_outcome, an_outcome
from run_records import a_record, pod_on
from silent_cluster import SilentCluster
from watch_server import WatchServer, a_pod, serving
from watched_pods import NAMESPACE, life, logged

from stowage_testbed.base.wait import wait_until
from stowage_testbed.invariants.rules import COUNTED
from stowage_testbed.metrics.record import PodRecord
from stowage_testbed.observe.audit import BEGINNING
from stowage_testbed.observe.change import NS_PER_S, Receipt
from stowage_testbed.observe.condition import pods_gone
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.plan import ObservedPlan, read_plan
from stowage_testbed.observe.source import CORE_SOURCES, PODS, REPLICA_SETS
from stowage_testbed.observe.timeline import measure_binding_lags_s, read_pod_timelines
from stowage_testbed.run import window_record
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.execution import WATCHED
from stowage_testbed.run.listener import Listener, RunRecorder
from stowage_testbed.run.outcome import ScenarioOutcome, find_divergences, make_latency
from stowage_testbed.run.window_record import check_invariants, find_proved_bound
from stowage_testbed.scenario.check import OptimizerRecord
from stowage_testbed.scenario.steps.checking import sum_up_plans

SOON_S = 10.0
BINDINGS = 6
MOMENT = "2026-01-01T00:00:01.000001Z"
SCENARIO = an_outcome().source
START = Receipt(0, 1_767_225_600 * NS_PER_S)
"""2026-01-01T00:00:00Z, when the window begins."""


def test_the_first_workload_that_differs_between_rounds_is_named() -> None:
    """Two hashes alone would leave the reader to search."""
    first = an_outcome(repeat=1, nodes={"a": ["n1"], "b": ["n2"], "c": ["n1"]})
    other = an_outcome(repeat=2, nodes={"a": ["n1"], "b": ["n1"], "c": ["n2"]})

    (divergence,) = find_divergences([first, other])

    assert (divergence.repeat, divergence.workload) == (2, "b")
    assert "then on n2, now on n1" in divergence.in_words()


@pytest.mark.parametrize(
    "others",
    [
        [an_outcome(repeat=2)],
        [an_outcome(name="paper/b", nodes={"web": ["n2"]})],
        # Its error already fails the run.
        [an_outcome(repeat=2, settled=False)],
        # Arrivals and plans go by the clock; their own expectations judge them.
        [a_stepped_outcome(), a_stepped_outcome(repeat=2, nodes={"web": ["n2", ""]})],
    ],
    ids=["equal", "other scenarios", "never settled", "stepped"],
)
def test_what_need_not_be_alike_does_not_diverge(others: list[ScenarioOutcome]) -> None:
    """Each scenario has a placement of its own, which its rounds keep."""
    assert find_divergences([an_outcome(repeat=1), *others]) == ()


def test_a_binding_is_told_from_a_later_one_of_the_same_name() -> None:
    """Pods of a StatefulSet come again by their names, which made lags of seconds below zero."""
    entries = [logged(2, "binding", "a"), logged(9, "binding", "a")]

    lags_s = measure_binding_lags_s(read_pod_timelines(life("a", 1, 2.01, 3), NAMESPACE), entries)

    assert lags_s == [pytest.approx(0.01)]


@pytest.mark.parametrize(
    ("times_s", "lags_s", "resolution_s"),
    [
        # Lags of now 2, now 12 ms cannot tell latencies 5 ms apart; one pause can.
        ([0.02], [0.002, 0.012], 0.01),
        ([0.02], [0.002] * 99 + [0.5], 0.001),
        # A cluster without an audit log has only the watch.
        ([], [], 0.001),
    ],
)
def test_the_resolution_is_the_watch_s(times_s: list[float], lags_s: list[float], resolution_s: float) -> None:
    """Without bindings the receipt sets it."""
    latency = make_latency(times_s, lags_s)

    assert latency.resolution_s == pytest.approx(resolution_s)
    assert latency.n == len(times_s)
    if lags_s:
        assert latency.audit_lag_s == pytest.approx(median(lags_s))
    else:
        assert latency.audit_lag_s is None
        assert set(latency.percentiles_s.values()) == {None}


def test_moves_are_summed_over_plans() -> None:
    """A scheduler may need several plans; without one nothing is proved."""
    plans = [a_plan("plan-1"), a_plan("plan-2")]

    assert sum_up_plans(plans) == OptimizerRecord(solves=2, moves=2, evictions=0, optimal=True, phases={"Completed": 2})
    assert sum_up_plans([]) == OptimizerRecord(0, 0, 0, optimal=False)


def planned(phase: str = "Completed", *, placed: int = 1) -> ObservedPlan:
    """Return a plan of second 10; at most two pods more could have been placed."""
    tiers = [{"priority": 5, "placed": 0, "upperBound": 0}, {"priority": 0, "placed": placed, "upperBound": placed + 2}]
    return read_plan(
        {
            "metadata": {"uid": "u", "name": "p", "creationTimestamp": "2026-01-01T00:00:10Z"},
            "status": {"phase": phase, "tiers": tiers},
        }
    )


@pytest.mark.parametrize(
    ("plans", "waiting", "bound"),
    [
        ([], [], None),
        ([planned()], [], 3),
        ([planned("NoImprovement", placed=9)], [], 3),
        # What it says it placed is not there.
        ([planned("Aborted")], [], None),
        ([planned("Proposed")], [], None),
        ([planned(), planned("Failed")], [], None),
        # It waits, and the plan knows of it, or not, or it is gone again.
        ([planned()], [pod_on(created=9.0)], 3),
        ([planned()], [pod_on(created=12.0)], None),
        ([planned()], [pod_on(created=12.0, gone=13.0)], 3),
    ],
)
def test_a_bound_is_one_of_the_state_at_the_end(
    plans: list[ObservedPlan], waiting: list[PodRecord], bound: int | None
) -> None:
    """A bound of another state, told as proved, would make a run look worse or best."""
    record = a_record([pod_on("a"), *waiting])

    assert find_proved_bound(record, plans, START) == bound


def audited(subresource: str, name: str, at: str) -> bytes:
    """Return a line of the audit log: a request of a pod that was granted."""
    record = {
        "stage": "ResponseComplete",
        "verb": "create",
        "user": {"username": "system:serviceaccount:stowage-system:stowage"},
        "objectRef": {"resource": "pods", "subresource": subresource, "namespace": NAMESPACE, "name": name},
        "responseStatus": {"code": 201},
        "stageTimestamp": at,
    }
    return msgspec.json.encode(record) + b"\n"


@dataclass(slots=True)
class Growing:
    """A clock whose every pause lasts until there is one more binding."""

    log: Path
    bindings: int = 0

    def now(self) -> float:
        return 0.0

    def pause(self, _seconds: float) -> None:
        with self.log.open("ab") as file:
            file.write(audited("binding", f"p{self.bindings}", MOMENT))
        self.bindings += 1


def test_the_log_is_waited_for_until_it_has_every_binding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A binding is logged after it is answered."""
    cluster = SilentCluster(tmp_path)
    clock = Growing(cluster.audit_log)
    clock.pause(0)
    monkeypatch.setattr(window_record, "wait_until", partial(wait_until, clock=clock))
    api = client.ApiClient()
    context = RunContext(cluster, api, Observer(api), tag="test")
    changes = [change for n in range(BINDINGS) for change in life(f"p{n}", 1, 2, 3)]

    entries = window_record.read_audit(context, BEGINNING, changes, NAMESPACE)

    assert [entry.name for entry in entries] == [f"p{n}" for n in range(BINDINGS)]


@pytest.mark.parametrize("evicted", [True, False])
def test_pods_that_were_there_before_the_run_are_watched_over(tmp_path: Path, *, evicted: bool) -> None:
    """Whoever installs a scheduler cares most for what runs already.

    Controllers are watched later than pods, and find all of theirs.
    """
    server, cluster = WatchServer(), SilentCluster(tmp_path)
    cluster.audit_log.write_text("")
    old = a_pod("old", node="n1")
    owner = {"kind": "ReplicaSet", "name": "rs", "uid": "uid-rs", "controller": True}
    old["metadata"]["ownerReferences"] = [owner]
    server.items = [old]
    with serving(server) as api, Observer(api, [PODS]) as observer:
        context = RunContext(cluster, api, observer, tag="test")
        recorder = RunRecorder(context, NAMESPACE, Listener())
        if evicted:
            now = observer.clock.now().wall_text()
            cluster.audit_log.write_bytes(audited("eviction", "old", now))
            server.send("DELETED", a_pod("old", node="n1", version="2"))
            observer.wait_for("the eviction", pods_gone("ns"), timeout_s=SOON_S)
        else:
            metadata = {"namespace": "ns", "name": "rs", "uid": "uid-rs"}
            server.items = [{"metadata": metadata, "spec": {"replicas": 1}}]
            observer.watch(REPLICA_SETS)
        checks = check_invariants(context, recorder)

    assert ("planned-eviction" in {check.actual for check in checks}) is evicted
    assert any(check.passed for check in checks) is not evicted


def test_every_controller_whose_pods_are_counted_is_watched() -> None:
    """A rule about what nobody looks at never fails."""
    assert {source.kind for source in (*CORE_SOURCES, *WATCHED)} >= set(COUNTED)
