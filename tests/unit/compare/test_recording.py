"""From changes, audit entries and the kernel's accounts to a run's record."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from subprocess import PIPE

import pytest
from amounts import size, taken
from watched_pods import NAMESPACE, at, life, logged, seen

from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.record import PodRecord, RunRecord
from stowage_testbed.metrics.state import NodeState
from stowage_testbed.observe.answers import ANSWER_CLOCK
from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.receipt import CLOCK_NAME
from stowage_testbed.recording.footprint import UNKNOWN, Footprint, FootprintMeter
from stowage_testbed.recording.run_record import (
    Observations,
    PodCount,
    RunLabel,
    make_node_records,
    make_record,
)

LABEL = RunLabel("burst/test", "default", "equal", round_number=3, warm=True)
NODE = NodeState("n1", size(4000, 4 * 10**9))
TWO = [*life("a", 101, 102, 103), *life("b", 101.5, 102.5, 103)]
A_BOUND, B_BOUND = logged(101.98, "binding", "a"), logged(102.48, "binding", "b")


def record(
    changes: Sequence[Change],
    audit: Sequence[AuditEntry] = (),
    *,
    count: PodCount | None = None,
) -> RunRecord:
    """Return the record of the window from second 100 to second 110."""
    seen_by = Observations(
        NAMESPACE, at(100), at(110), (NODE,), tuple(changes), tuple(audit), count,
        Footprint(10**8, 1.5),
    )  # fmt: skip
    return make_record(LABEL, seen_by)


def test_a_record_says_what_was_run_and_when_from_the_windows_start() -> None:
    """A pod's requests are what the scheduler counts, sidecars included."""
    found = record(life("a", 101, 102.25, 103.5), count=PodCount(1, 1))

    pod = PodRecord(
        uid="uid-a",
        name="a",
        workload="web",
        priority=7,
        requests=taken(150, 10**9),
        node="n1",
        created_s=1.0,
        bound_s=2.25,
        ready_s=3.5,
        watch_t_sched_s=1.25,
    )
    assert (found.pods, found.nodes, found.window_s) == ((pod,), (NODE,), 10.0)
    assert (found.scenario_id, found.arm, found.limits, found.round_number) == (
        "burst/test", "default", "equal", 3,
    )  # fmt: skip
    assert (found.warm, found.api_pods, found.error) == (True, 1, "")
    assert (found.peak_memory_bytes, found.cpu_s) == (10**8, 1.5)


def test_what_was_there_before_has_no_moments() -> None:
    """Its wait began unseen: a guess would be a latency that never was."""
    bound, waits = record(
        [
            seen(99, Verb.LISTED, "bound", node="n1", ready=True),
            seen(99, Verb.LISTED, "waits"),
            seen(104, Verb.MODIFIED, "bound", node="n1", ready=True),
            seen(105, Verb.MODIFIED, "waits", node="n1"),
        ]
    ).pods

    moments = (bound.node, bound.created_s, bound.bound_s, bound.ready_s)
    assert moments == ("n1", None, None, None)
    assert (waits.created_s, waits.bound_s) == (None, 5.0)


def test_what_came_after_the_window_is_not_in_it() -> None:
    """A pod that was bound after the end was waiting at the end."""
    late = [*life("late", 111, 112, 113), *life("waits", 101, 111, 112)]

    (waits,) = record(late).pods

    assert (waits.name, waits.node) == ("waits", "")
    assert (waits.bound_s, waits.ready_s) == (None, None)


def test_a_pod_is_gone_when_it_claims_no_room_any_more() -> None:
    """Deleted, or finished: a finished pod stays on its node and takes nothing."""
    changes = [
        *life("done", 101, 102, 103),
        seen(104, Verb.MODIFIED, "done", node="n1", phase="Succeeded"),
        seen(106, Verb.DELETED, "done", node="n1", phase="Succeeded"),
        *life("deleted", 101, 102, 103),
        seen(105, Verb.DELETED, "deleted", node="n1"),
    ]

    assert [pod.gone_s for pod in record(changes).pods] == [4.0, 5.0]


def test_pods_that_had_gone_before_and_those_of_others_are_left_out() -> None:
    """What a list still showed may have ended; the release's own pods are elsewhere."""
    changes = [
        seen(98, Verb.LISTED, "a", node="n1"),
        seen(99, Verb.DELETED, "a", node="n1"),
        seen(101, Verb.ADDED, "other", namespace="kube-system"),
    ]

    assert record(changes).pods == ()


def test_the_api_servers_answers_are_the_clock() -> None:
    """They have microseconds; delivery takes 20 ms to 200 ms, and each time another."""
    audit = [
        logged(100.98, name="a"),
        logged(101.3, name="b"),
        A_BOUND,
        B_BOUND,
        logged(102.97, "status", "a", verb="patch"),
    ]

    found = record(TWO, audit)

    assert [(pod.created_s, pod.bound_s) for pod in found.pods] == [
        (0.98, 1.98),
        (1.3, 2.48),
    ]
    # The log does not show b's readiness: it is moved by the median lag.
    assert [pod.ready_s for pod in found.pods] == pytest.approx([2.97, 2.98])
    assert [pod.watch_t_sched_s for pod in found.pods] == [1.0, 1.0]
    assert (found.clock, found.resolution_s) == (ANSWER_CLOCK, 1e-6)


@pytest.mark.parametrize("audit", [[logged(100.98, name="a"), A_BOUND, B_BOUND], []])
def test_without_the_whole_audit_log_the_watch_is_the_clock(
    audit: list[AuditEntry],
) -> None:
    """Two clocks in one run would make latencies of their difference."""
    found = record(TWO, audit)

    assert (found.clock, found.resolution_s) == (CLOCK_NAME, 0.001)
    assert [pod.created_s for pod in found.pods] == [1.0, 1.5]
    if not audit:
        assert found.audit_lag_s is None  # nobody checked, which is not 0


def test_clocks_with_a_steady_lag_agree() -> None:
    """Delivery takes 20 ms each time: that moves all moments, and no latency."""
    made = [logged(100.98, name="a"), logged(101.48, name="b")]

    found = record(TWO, [*made, A_BOUND, B_BOUND])

    assert found.audit_lag_s == pytest.approx(0.02)
    assert (found.audit_beyond, found.watch_resolution_s) == (0, 0.001)


def test_a_lag_that_changes_is_counted_and_blurs_the_watch() -> None:
    """Bindings come 10 ms later than creations: latencies are 10 ms too long."""
    changes = [
        change
        for number in range(3)
        for change in life(f"p{number}", 101 + number, 102.5 + number, 105)
    ]
    audit = [logged(101 + n - 0.001, name=f"p{n}") for n in range(3)]
    audit += [logged(102.5 + n - 0.011, "binding", f"p{n}") for n in range(2)]

    found = record(changes, audit)

    assert found.audit_beyond == 2
    assert found.resolution_s == found.watch_resolution_s == pytest.approx(0.01)
    assert found.error == ""


def test_bindings_that_the_log_lacks_are_counted() -> None:
    """A log that came too late gives the clocks' figures from a part of the run."""
    found = record(TWO, [A_BOUND])

    noted = {
        metric.name
        for metric in metrics_of(found)
        if "1 bindings are not in the audit log" in metric.note
    }
    assert noted >= {"watch_lag_median_s", "clocks_apart_events", "t_sched_mean_s"}
    assert found.audit_missing == 1
    assert record(TWO, [A_BOUND, B_BOUND]).audit_missing == 0


def test_what_the_watch_lost_is_an_error() -> None:
    """A run that was not seen whole must not be compared."""
    unseen = record([seen(101, Verb.ADDED, "a")], [logged(102, "binding", "a")])
    again = seen(104, Verb.LISTED, "a", node="n1", ready=True)
    found = record(life("a", 101, 102, 103), count=PodCount(api=3, watched=1))

    assert "1 bindings of the audit log were not seen" in unseen.error
    assert "ns/a" in unseen.error
    assert "broke off" in record([*life("a", 101, 102, 103), again]).error
    assert found.api_pods == 3
    assert found.error == "the API server has 3 pods, of which the watch shows 1"


def test_nodes_are_read_with_what_they_can_give() -> None:
    """Sorted by name, so that two records of one run are equal."""
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "40"}}
    bodies = [{"metadata": {"name": name}, "status": status} for name in ("n2", "n1")]

    assert make_node_records(bodies) == tuple(
        NodeState(name, size(4000, 8 * 2**30, 40)) for name in ("n1", "n2")
    )


HUNGRY = """
import sys
def spend():
    block = bytearray(100_000_000)
    for at in range(0, len(block), 4096):
        block[at] = 1
    return sum(n * n for n in range(1_500_000))
for line in sys.stdin:
    if line.startswith("spend"):
        spend()
    print("done", flush=True)
"""


@pytest.fixture
def hungry() -> Iterator[subprocess.Popen[str]]:
    """Return a process that takes 100 MB and some CPU time, on request."""
    with subprocess.Popen(
        [sys.executable, "-c", HUNGRY], stdin=PIPE, stdout=PIPE, text=True
    ) as process:
        yield process
        process.kill()


def send(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


@pytest.mark.parametrize(
    ("before", "within"), [("wait", "spend"), ("spend", "wait")], ids=["in", "before"]
)
def test_a_peak_counts_for_the_window_that_it_is_in(
    hungry: subprocess.Popen[str], before: str, within: str
) -> None:
    """It is kept though the memory was given back; the burst before does not count."""
    send(hungry, before)
    meter = FootprintMeter([hungry.pid])
    send(hungry, within)

    found = meter.read()
    assert found.peak_memory_bytes is not None
    assert found.cpu_s is not None
    assert (found.peak_memory_bytes > 10**8) == (within == "spend")
    assert (found.cpu_s > 0.011) == (within == "spend")


def test_a_process_that_has_ended_leaves_no_footprint() -> None:
    """What it took is not known, and is not nothing."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()

    assert FootprintMeter([process.pid]).read() == UNKNOWN
    assert FootprintMeter([]).read() == UNKNOWN
