"""A recovery run: what the cluster is asked for, its phases, and what is kept."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import pytest
from hpa_records import FULL, QUICK, SimulatedHpa, hpa_record
from waiting_clock import WaitingClock

from stowage_testbed.api.pod_templates import PodOverrides, apply_overrides
from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.hpa.model import LoadWindow, Segment
from stowage_testbed.hpa.recovery import (
    PodCount,
    Recovery,
    Replicas,
    find,
    hold,
    pod_counts,
    recovery,
    replicas,
    segments,
)
from stowage_testbed.hpa.settings import Autoscaling, Find, Hold, RecoverySettings
from stowage_testbed.metrics.catalogue import measure_hpa
from stowage_testbed.metrics.record import Metric
from stowage_testbed.observe.change import NS_PER_S, Change, Receipt, Verb
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.run.request import make_autoscaler_arguments
from stowage_testbed.scenario.steps.overloading import MARGIN_S, NAME, Readings, await_fresh, make_web_service


def test_the_workload_is_the_paper_s_with_the_scheduler_s_overrides() -> None:
    """Section 5.2.2: three to twenty replicas at half of what they request.

    YuniKorn, for one, looks for labels; the pods stay their Deployment's.
    """
    labels = {"applicationId": "a", WORKLOAD_LABEL: "other"}
    overrides = PodOverrides("yunikorn", labels, {"queue": "root"})
    (deployment, autoscaler), (_, quickest) = make_web_service("shop", FULL), make_web_service("shop", QUICK)
    spec, wanted = apply_overrides(deployment, overrides)["spec"], autoscaler["spec"]
    quick = quickest["spec"]["behavior"]["scaleUp"]["policies"]
    metadata, pod = spec["template"]["metadata"], spec["template"]["spec"]

    assert spec["replicas"] == 3
    (container,) = pod["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "200m"}, "limits": {"cpu": "500m"},
    }  # fmt: skip
    assert (wanted["minReplicas"], wanted["maxReplicas"]) == (3, 20)
    (metric,) = wanted["metrics"]
    assert metric["resource"]["target"]["averageUtilization"] == 50
    # By default as Kubernetes does, whichever is more.
    assert wanted["behavior"]["scaleUp"]["policies"] == [
        {"type": "Percent", "value": 100, "periodSeconds": 15},
        {"type": "Pods", "value": 4, "periodSeconds": 15},
    ]
    assert quick[0] == {"type": "Percent", "value": 900, "periodSeconds": 1}
    (arguments,) = make_autoscaler_arguments(QUICK.timing).values()
    assert arguments == {"horizontal-pod-autoscaler-sync-period": "1s"}
    assert pod["schedulerName"] == "yunikorn"
    assert metadata["labels"] == {"applicationId": "a", WORKLOAD_LABEL: NAME}
    assert metadata["annotations"] == {"queue": "root"}
    assert spec["selector"]["matchLabels"].items() <= metadata["labels"].items()


def test_settings_that_allow_no_run_are_refused() -> None:
    """A run of minutes would end without a window."""
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (Find, {"start": 0}),
        (Find, {"start": 5, "most": 4}),
        (Hold, {"total_s": 1.0, "window_s": 2.0}),
        (Hold, {"streak": 0}),
        (Autoscaling, {"min_replicas": 5, "max_replicas": 4}),
    ]
    for settings, values in wrong:
        with pytest.raises(ValueError, match=r"needed|has no level|has no window"):
            settings(**values)


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def read_at(second: float, *pods: str) -> Readings:
    return dict.fromkeys(pods, NOON + timedelta(seconds=second))


def test_a_run_begins_a_little_after_new_readings_of_all_pods() -> None:
    """Neither with a scrape nor anywhere in between."""
    answers: Iterator[Readings] = iter([{}, read_at(0, "a"), *[read_at(10, "a", "b")] * 2, read_at(20, "a", "b")])
    ages: Iterator[float] = iter([20.1, 20.9, 20 + MARGIN_S])

    await_fresh(
        lambda: next(answers), 2, timeout_s=60.0, now=lambda: NOON + timedelta(seconds=next(ages)), clock=WaitingClock()
    )

    assert next(answers, None) is None
    assert next(ages, None) is None


def test_a_pod_without_new_reading_is_waited_for_and_named_in_the_end() -> None:
    """Half of the pods at the old scrape would align the run to neither."""
    answers = iter([read_at(0, "a", "b"), {**read_at(0, "b"), **read_at(5, "a")}])

    with pytest.raises(WaitTimeoutError, match="again"):
        await_fresh(lambda: next(answers), 2, timeout_s=0.0, clock=WaitingClock())


@pytest.mark.parametrize(
    ("pattern", "streak", "expected"),
    [
        ("xxo", 1, Recovery("recovered", 30.0)),
        ("xoxo", 1, Recovery("recovered", 20.0)),
        ("xoxoo", 2, Recovery("recovered", 50.0)),
        ("oxo", 1, Recovery("recovered", 30.0)),
        ("oooo", 1, Recovery("no_degradation", 0.0)),
        ("ooox", 1, Recovery("no_recovery_within_hold", -1.0)),
        ("xoxox", 2, Recovery("no_recovery_within_hold", -1.0)),
        ("xxxx", 1, Recovery("no_recovery_within_hold", -1.0)),
    ],
)
def test_recovery_is_the_first_streak_after_a_breach(pattern: str, streak: int, expected: Recovery) -> None:
    """Section 5.2.2: windows of 10 s before the first breach (``x``) do not count."""
    windows = [
        LoadWindow(100.0 + 10 * n, 110.0 + 10 * n, 10, 400, 0.9, 0.0, ok=sign == "o") for n, sign in enumerate(pattern)
    ]

    assert recovery(windows, streak) == expected


@pytest.mark.parametrize(
    ("settings", "levels"),
    [
        # Three replicas take three clients, and not seven (see the model's tests).
        (replace(FULL, find=Find(3, 30, 4, level_s=5.0)), [(3, True), (7, False)]),
        # The steps would jump over the most there are.
        (
            replace(FULL, autoscaling=Autoscaling(min_replicas=50, max_replicas=50), find=Find(1, 4, 2, level_s=5.0)),
            [(1, True), (3, True), (4, True)],
        ),
    ],
    ids=["broken", "nothing breaks it"],
)
def test_find_ends_at_the_first_level_that_breaks_the_sla_or_with_the_most(
    settings: RecoverySettings, levels: list[tuple[int, bool]]
) -> None:
    """HOLD has the clients of the last level."""
    target = SimulatedHpa(settings)

    found = find(target, settings)

    assert [(level.clients, level.ok) for level in found] == levels
    assert target.now_s() == 5.0 * len(levels)


def test_hold_recovers_when_the_autoscaler_has_caught_up() -> None:
    """The paper's run: 3, 7, 14, 20 replicas, with the usage that the model gives.

    It can end at the recovery; else it is as long as the paper's.
    """
    target = SimulatedHpa(FULL, clock_s=1.0)
    cut = replace(FULL, hold=Hold(whole=False))

    seen = hold(target, FULL, clients=10)
    ended = hold(SimulatedHpa(cut, clock_s=1.0), cut, clients=10)

    assert [count.ready for count in target.counts] == [3, 7, 14, 20]
    steps = [milli for milli, _ in groupby(milli for _, milli in target.usages)]
    assert steps == [417, 312, 217, 172]
    assert (len(seen), round(seen[-1].end_s, 6)) == (30, 901.0)
    assert recovery(seen, streak=1) == Recovery("recovered", 60.0)
    assert [window.ok for window in ended] == [False, True]


LATE = replace(FULL, find=Find(level_s=5.0))
"""FIND is over before the autoscaler has moved."""
STUCK = replace(LATE, autoscaling=Autoscaling(max_replicas=10))
FINE = replace(LATE, autoscaling=Autoscaling(20, 20), find=Find(1, 5, 1))


def metrics(settings: RecoverySettings) -> dict[str, Metric]:
    found = tuple(measure_hpa(hpa_record(settings)))
    named = {metric.name: metric for metric in found}
    assert len(named) == len(found)
    return named


def test_a_recovery_is_measured_from_the_start_of_hold() -> None:
    """FIND from 0 to 5 s; scrapes at 15, 30, 45 s bring 7, 14, 20 replicas."""
    found = metrics(LATE)

    names = (
        "ttr_s", "t_capacity_s", "t_scale_up_s", "t_desired_most_s", "t_ready_most_s",
        "hold_clients", "ok_rate", "p99_peak_s",
    )  # fmt: skip
    assert [found[name].value for name in names] == pytest.approx(
        [60.0, 40.0, 15.0, 45.0, 45.0, 10, 29 / 30, hpa_record(LATE).hold[0].p99_s]
    )
    assert found["ttr_s"].resolution == 30.0


@pytest.mark.parametrize(
    ("settings", "name", "note"),
    [
        # The paper's -1 would be the best of all times in a mean.
        (STUCK, "ttr_s", "not within 900 s (right-censored)"),
        (STUCK, "t_capacity_s", "not even"),
        (FINE, "ttr_s", "the service never degraded"),
        (FINE, "t_scale_up_s", "did not happen"),
        # They would be of a bad time only, and the shorter the better it went.
        (replace(LATE, hold=Hold(whole=False)), "ok_rate", "at the first recovery"),
        (replace(LATE, hold=Hold(whole=False)), "p99_mean_s", ""),
    ],
)
def test_what_did_not_come_about_has_no_value_and_says_why(settings: RecoverySettings, name: str, note: str) -> None:
    """Every record has the same metrics, whatever came of it."""
    found = metrics(settings)

    assert found[name].value is None
    assert note in found[name].note
    assert found.keys() == metrics(LATE).keys()


ORIGIN = Receipt(100 * NS_PER_S, 0)


def changed(kind: str, second: float, verb: Verb, name: str, status: Any, **metadata: Any) -> Change:
    body = {"uid": name, "name": name, "namespace": "shop", **metadata}
    receipt = Receipt(int((100 + second) * NS_PER_S), 0)
    return Change(kind, verb, receipt, {"metadata": body, "status": status})


def test_pods_count_from_their_creation_and_serve_while_they_are_ready() -> None:
    """A pod that goes gets no more requests; those of other namespaces are others."""

    def pod(second: float, verb: Verb, name: str, ready: bool, **more: Any) -> Change:
        status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
        return changed("Pod", second, verb, name, status, **more)

    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    changes = [
        pod(-5, Verb.LISTED, "old", ready=True),
        pod(1, Verb.ADDED, "new", ready=False),
        pod(2, Verb.MODIFIED, "new", ready=True),
        pod(3, Verb.MODIFIED, "old", ready=True, **going),
        pod(4, Verb.DELETED, "old", ready=True, **going),
    ]

    assert pod_counts(changes, "home", ORIGIN) == ()
    assert pod_counts(changes, "shop", ORIGIN) == (
        PodCount(-5.0, 1, 1),
        PodCount(1.0, 2, 1),
        PodCount(2.0, 2, 2),
        PodCount(3.0, 2, 1),
        PodCount(4.0, 1, 1),
    )


def test_segments_cover_the_span_without_gaps() -> None:
    """Each second of a window has its replicas."""
    counts = [PodCount(-1.0, 3, 3), PodCount(2.0, 7, 3), PodCount(4.0, 7, 7)]

    found = segments(counts, 1.0, 6.0)

    assert found == (Segment(1.0, 3), Segment(2.0, 3), Segment(2.0, 7))
    assert segments(counts, 0.0, 2.0) == (Segment(2.0, 3),)
    assert segments([], 0.0, 1.0) == (Segment(1.0, 0),)


def test_the_autoscaler_s_status_is_followed_before_and_after_its_first_reading() -> None:
    """Kubernetes shows an empty metric until there is a reading."""
    reading = {"resource": {"name": "cpu", "current": {"averageUtilization": 208}}}
    shown = [
        {},
        {"currentReplicas": 3, "desiredReplicas": 3, "currentMetrics": [{}]},
        {"currentReplicas": 3, "desiredReplicas": 7, "currentMetrics": [reading]},
    ]
    changes = [
        changed("HorizontalPodAutoscaler", second, Verb.MODIFIED, "a", status) for second, status in enumerate(shown)
    ]

    assert replicas(changes, "shop", ORIGIN) == (
        Replicas(1.0, 3, 3, None), Replicas(2.0, 3, 7, 208),
    )  # fmt: skip
