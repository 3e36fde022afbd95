"""The step that overloads a service: what it passes on, keeps and checks."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hpa_records import hpa_record

from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.compare.arms.arm import Dress
from stowage_testbed.hpa.settings import FULL, Find
from stowage_testbed.observe.receipt import ReceiptClock
from stowage_testbed.run.site import Site
from stowage_testbed.run.steps import overloading
from stowage_testbed.run.steps.course import Course
from stowage_testbed.run.steps.gauge import Gauge
from stowage_testbed.run.steps.overloading import overload
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.model import Overload

RECORD = hpa_record(replace(FULL, find=Find(level_s=5.0)))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the run was asked for; it answers with a recovery."""
    seen: dict[str, Any] = {}

    def run(bench: Any, site: Any, settings: Any, *, dress: Any, gauge: Any) -> Any:
        seen.update(dress=dress, settings=settings)
        gauge.open()
        gauge.close()
        return RECORD

    monkeypatch.setattr(overloading, "run_recovery", run)
    return seen


def course(dress: Dress | None = None) -> Course:
    bench: Any = SimpleNamespace(observer=SimpleNamespace(clock=ReceiptClock()))
    pool = NodePool("n", 1, 1000, 1 << 30)
    scenario = Scenario("hpa/recovery", "A test.", (pool,), ())
    return Course(bench, scenario, Site("shop", ("n-0",)), dress, lambda _: None)


def test_the_pods_are_of_the_scheduler_under_comparison(asked: dict[str, Any]) -> None:
    overload(course(Dress("yunikorn")), Overload({}))

    assert asked["dress"] == Dress("yunikorn")


def test_without_a_comparison_they_are_of_the_release(asked: dict[str, Any]) -> None:
    overload(course(), Overload({"timing": {"sync_s": 1}}))

    assert asked["dress"].scheduler_name == "default-scheduler"
    assert asked["settings"].timing.sync_s == 1


@pytest.mark.usefixtures("asked")
def test_the_record_is_kept_for_metrics_and_pictures() -> None:
    made = course()

    overload(made, Overload({}))

    assert made.recovery is RECORD
    assert made.facts == {"clients": 10, "ttr_s": RECORD.recovery.ttr_s}
    assert made.checks == []


@pytest.mark.usefixtures("asked")
def test_hold_is_the_measured_window() -> None:
    """Section 5.2.2: latencies are of the pods that were created after its start."""
    told = []

    class Told(Gauge):
        def open(self) -> None:
            told.append("open")

        def close(self) -> None:
            told.append("close")

    made = course()
    made.gauge = Told()

    overload(made, Overload({}))

    assert told == ["open", "close"]
    assert made.started is not None
    assert made.stopped is not None
    assert made.started <= made.stopped


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ("recovered", ""),
        ("no_degradation", "expected no_degradation, found recovered"),
    ],
)
def test_the_outcome_is_checked_if_one_is_expected(outcome: Any, message: str) -> None:
    made = course()

    overload(made, Overload({}, outcome))

    (check,) = made.checks
    assert (check.name, check.passed, check.message) == (
        "outcome", not message, message,
    )  # fmt: skip
