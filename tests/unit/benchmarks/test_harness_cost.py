"""The figure of what measuring costs, and the judge that times both kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from amounts import asked
from run_records import a_record

from benchmarks.harness.burst import Burst, burst_duration_s
from benchmarks.harness.cost import HarnessCost
from benchmarks.harness.runs import MeasuredBurst
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.audit import BEGINNING
from stowage_testbed.run.arm import PodOverrides

BURST = Burst(200, PodOverrides("somebody", labels={"queue": "root.a"}))


def cost(measured_s: list[float], unmeasured_s: list[float]) -> HarnessCost:
    measured = tuple(MeasuredBurst(a_record(), seconds) for seconds in measured_s)
    return HarnessCost(BURST, measured, tuple(unmeasured_s))


def test_the_cost_is_the_median_of_the_rounds_ratios() -> None:
    """Rounds are pairs: a machine that slows down over the hour slows both kinds."""
    figure = cost([1.04, 2.2, 3.03], [1.0, 2.0, 3.0]).figure()

    assert figure.value == pytest.approx(4.0)
    assert figure.spread == pytest.approx((1.0, 10.0))
    assert (figure.runs, figure.met) == (3, True)


def test_five_percent_is_too_much() -> None:
    """The issue says less than five."""
    assert cost([1.05], [1.0]).figure().met is False


def a_line(second: str, subresource: str, name: str, namespace: str = "ns") -> str:
    record = {
        "stage": "ResponseComplete",
        "verb": "create",
        "user": {"username": "somebody"},
        "objectRef": {
            "resource": "pods",
            "subresource": subresource,
            "namespace": namespace,
            "name": name,
        },
        "responseStatus": {"code": 201},
        "stageTimestamp": f"2026-01-01T00:00:{second}Z",
    }
    return json.dumps(record, separators=(",", ":")) + "\n"


def test_a_burst_lasts_from_first_creation_to_last_binding(tmp_path: Path) -> None:
    """By the API server's own stamps, of the burst's own pods."""
    log = tmp_path / "audit.log"
    log.write_text(
        a_line("01.000000", "", "", namespace="other")
        + a_line("02.250000", "", "")
        + a_line("02.500000", "", "")
        + a_line("03.000000", "binding", "a")
        + a_line("04.750000", "binding", "b")
        + a_line("09.000000", "binding", "c", namespace="other")
    )

    assert burst_duration_s(log, BEGINNING, "ns", 2) == 2.5


def test_a_burst_that_did_not_go_through_has_no_duration(tmp_path: Path) -> None:
    """The shortest burst of all would be one that was never placed."""
    log = tmp_path / "audit.log"
    log.write_text(a_line("02.0", "", "") + a_line("02.5", "", ""))

    with pytest.raises(StowageError, match="2 created and 0 bound"):
        burst_duration_s(log, BEGINNING, "ns", 2)


def test_the_bursts_pods_get_their_schedulers_overrides() -> None:
    """YuniKorn places nothing without its labels."""
    workload = BURST.workload

    assert workload.pod == {"schedulerName": "somebody"}
    assert workload.labels == {"queue": "root.a"}
    assert workload.requests == asked(10, 16 * 2**20)
