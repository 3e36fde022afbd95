"""What is kept of a recovery run, and what it says in numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hpa_records import hpa_record

from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.hpa.settings import FULL, Autoscaling, Find, Hold, RecoverySettings
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.recovery import measure_hpa

LATE = replace(FULL, find=Find(level_s=5.0))
"""FIND is over before the autoscaler has moved."""


def metrics(settings: RecoverySettings) -> dict[str, Metric]:
    found = measure_hpa(hpa_record(settings))
    names = [metric.name for metric in found]
    assert len(set(names)) == len(names)
    return {metric.name: metric for metric in found}


def test_a_record_survives_its_document() -> None:
    """A bundle rebuilds every table and picture without a cluster."""
    record = hpa_record()

    assert HpaRecord.of(json.loads(json.dumps(record.document()))) == record


def test_a_recovery_is_measured_from_the_start_of_hold() -> None:
    """FIND from 0 to 5 s; scrapes at 15, 30, 45 s bring 7, 14, 20 replicas."""
    found = metrics(LATE)

    assert found["ttr_s"].value == 60.0
    assert found["ttr_s"].resolution == 30.0
    assert found["t_capacity_s"].value == pytest.approx(40.0)
    assert found["t_scale_up_s"].value == 15.0
    assert found["t_desired_most_s"].value == 45.0
    assert found["t_ready_most_s"].value == 45.0
    assert found["hold_clients"].value == 10
    assert found["ok_rate"].value == pytest.approx(29 / 30)


def test_the_peak_is_the_worst_window_s() -> None:
    record = hpa_record(LATE)

    assert metrics(LATE)["p99_peak_s"].value == record.hold[0].p99_s


def test_a_censored_recovery_has_no_value_and_says_so() -> None:
    """The paper's -1 would be the best of all times in a mean."""
    stuck = replace(LATE, autoscaling=Autoscaling(max_replicas=10))

    found = metrics(stuck)

    assert found["ttr_s"].value is None
    assert found["ttr_s"].note == "not within 900 s (right-censored)"
    assert found["t_capacity_s"].value is None
    assert "not even" in found["t_capacity_s"].note


def test_a_service_that_never_degraded_has_no_recovery() -> None:
    fine = replace(LATE, autoscaling=Autoscaling(20, 20), find=Find(1, 5, 1))

    found = metrics(fine)

    assert found["ttr_s"].value is None
    assert found["ttr_s"].note == "the service never degraded"
    assert found["t_scale_up_s"].value is None
    assert found["t_scale_up_s"].note == "did not happen"


def test_a_hold_that_was_cut_short_has_no_means() -> None:
    """They would be of a bad time only, and the shorter the better it went."""
    found = metrics(replace(LATE, hold=Hold(whole=False)))

    assert found["ttr_s"].value == 60.0
    assert found["ok_rate"].value is None
    assert found["p99_mean_s"].value is None
    assert "ended at the first recovery" in found["ok_rate"].note


def test_every_record_has_the_same_metrics_whatever_came_of_it() -> None:
    """A comparison lines them up by name."""
    stuck = replace(LATE, autoscaling=Autoscaling(max_replicas=10))
    names = {
        tuple(metrics(one)) for one in (LATE, stuck, replace(LATE, find=Find(1, 2, 1)))
    }

    assert len(names) == 1
