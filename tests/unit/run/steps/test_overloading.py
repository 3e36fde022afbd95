"""The step that overloads a service: what it passes on, keeps and checks."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from amounts import size
from hpa_records import hpa_record

from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.hpa.settings import FULL, Find, Timing
from stowage_testbed.observe.receipt import ReceiptClock
from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.harness import Harness
from stowage_testbed.run.listener import WindowListener
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.steps import measuring
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.measuring import overload
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.measuring import Overload

RECORD = hpa_record(replace(FULL, find=Find(level_s=5.0)))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the run was asked for; it answers with a recovery."""
    seen: dict[str, Any] = {}

    def run(
        run: Any,
        environment: Any,
        settings: Any,
        *,
        pod_overrides: Any,
        window_listener: Any,
    ) -> Any:
        seen.update(pod_overrides=pod_overrides, settings=settings)
        window_listener.open()
        window_listener.close()
        return RECORD

    monkeypatch.setattr(measuring, "run_recovery", run)
    return seen


def context(pod_overrides: PodOverrides | None = None) -> StepContext:
    run: Any = SimpleNamespace(observer=SimpleNamespace(clock=ReceiptClock()))
    pool = NodePool("n", 1, size(1000, 1 << 30))
    scenario = Scenario("hpa/recovery", "A test.", (pool,), ())
    harness = Harness()
    harness.pod_overrides = pod_overrides
    recorder = cast("RunRecorder", SimpleNamespace(report=lambda _text: None))
    environment = ScenarioEnvironment("shop", ("n-0",))
    return StepContext(run, scenario, environment, recorder, harness)


def test_the_pods_are_of_the_scheduler_under_comparison(asked: dict[str, Any]) -> None:
    overload(context(PodOverrides("yunikorn")), Overload())

    assert asked["pod_overrides"] == PodOverrides("yunikorn")


def test_without_a_comparison_they_are_of_the_release(asked: dict[str, Any]) -> None:
    overload(context(), Overload(replace(FULL, timing=Timing(sync_s=1))))

    assert asked["pod_overrides"].scheduler_name == "default-scheduler"
    assert asked["settings"].timing.sync_s == 1


@pytest.mark.usefixtures("asked")
def test_the_record_is_kept_for_metrics_and_pictures() -> None:
    made = context()

    overload(made, Overload())

    assert made.recovery is RECORD
    assert made.facts == {"clients": 10, "ttr_s": RECORD.recovery.ttr_s}
    assert made.checks == []


@pytest.mark.usefixtures("asked")
def test_hold_is_the_measured_window() -> None:
    """Section 5.2.2: latencies are of the pods that were created after its start."""
    calls = []

    class Recorded(WindowListener):
        def open(self) -> None:
            calls.append("open")

        def close(self) -> None:
            calls.append("close")

    made = context()
    made.harness.window_listener = Recorded()

    overload(made, Overload())

    assert calls == ["open", "close"]
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
    made = context()

    overload(made, Overload(outcome=outcome))

    (check,) = made.checks
    assert (check.name, check.passed, check.message) == (
        "outcome", not message, message,
    )  # fmt: skip
