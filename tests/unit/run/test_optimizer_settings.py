"""A scenario's optimiser settings on their way to Helm, and plans on their way back."""

from __future__ import annotations

from outcomes import a_plan

from stowage_testbed.run.release import make_optimizer_values
from stowage_testbed.run.steps.observed_moment import sum_up_plans
from stowage_testbed.scenario.check import OptimizerRecord
from stowage_testbed.scenario.model import OptimizerSettings
from stowage_testbed.simulate import NO_PROTECTION


def test_settings_become_the_plugins_own_arguments() -> None:
    """The chart hands them on as they are, under the names that the plugin knows."""
    settings = OptimizerSettings(
        trigger="manual",
        time_limit_s=10,
        settle_s=0.2,
        policy="paper",
        strategy="first-fit-decreasing",
    )

    assert make_optimizer_values(settings)["priorityOptimizer"] == {
        "trigger": "Manual",
        "settleSeconds": 0.2,
        "timeLimitSeconds": 10,
        "policy": "Paper",
        "strategy": "first-fit-decreasing",
    }


def test_the_chart_s_care_is_lifted_only_where_a_scenario_says_so() -> None:
    """A set-up that only scenarios use proves nothing about an installation."""
    careful = make_optimizer_values(OptimizerSettings())["priorityOptimizer"]
    anybody = make_optimizer_values(OptimizerSettings(harm="any"))["priorityOptimizer"]

    assert not careful.keys() & NO_PROTECTION.keys()
    assert anybody == careful | NO_PROTECTION


def test_moves_are_summed_over_plans() -> None:
    """A scheduler may need several plans to get there; each move is a disruption."""
    plans = [a_plan("plan-1"), a_plan("plan-2")]

    assert sum_up_plans(plans) == OptimizerRecord(
        solves=2, moves=2, evictions=0, optimal=True, phases={"Completed": 2}
    )


def test_without_a_plan_nothing_is_proved() -> None:
    """No certificate is not a certificate."""
    assert sum_up_plans([]) == OptimizerRecord(0, 0, 0, optimal=False)
