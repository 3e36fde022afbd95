"""Steps that choose what places pods, and have plans made."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Gt, Le

from stowage_testbed.api.client import Manifest
from stowage_testbed.observe.condition import at_rest, packed, plan_finished
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.steps.action import Action, Demand, write_plain
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.scenario.types import Anything, Label

Profile = Literal["default", "deterministic", "devices", "optimizer", "optimizer-deterministic", "score-cache"]
"""The chart's profiles."""

RESERVING_PROFILES: tuple[Profile, ...] = ("optimizer", "optimizer-deterministic")
"""Profiles of the chart with the plugins of plans and reservations."""

QUIET_MARGIN_S = 0.5  # Beyond the settle time, in which a trigger that comes again would show itself


def make_manual_plan(
    metadata: Manifest, *, time_limit_s: float, execution_mode: str = "Execute", maximize: str | None = None
) -> Manifest:
    """Return a PackingPlan as a user creates it."""
    asked = {"maximize": maximize} if maximize else {}
    return {
        "apiVersion": "stowage.dev/v1alpha1",
        "kind": "PackingPlan",
        "metadata": metadata,
        "spec": {"executionMode": execution_mode, "trigger": "Manual", "timeLimitSeconds": time_limit_s, **asked},
    }


@dataclass(frozen=True, slots=True)
class AskForPlan(Action):
    """Create a PackingPlan, as `kubectl create` does."""

    kind = "ask-for-plan"
    plan: Label
    """Its name."""
    execution_mode: Literal["Execute", "DryRun"] = "Execute"
    """Whether it is carried out, or only made."""
    time_limit_s: Annotated[float, Gt(0), Le(3600)] | None = None
    """Time limit of its solve in seconds; without it the optimiser's own."""
    maximize: Literal["Pods", "Devices"] | None = None
    """What it maximizes, from the highest priority down; without it what the release is set to."""

    def ask(self, demand: Demand) -> None:
        demand.apply((self.plan,))

    def carry_out(self, context: StepContext) -> None:
        """What becomes of it is for other steps to wait for."""
        limit_s = self.time_limit_s or context.scenario.optimizer.time_limit_s
        plan = make_manual_plan(
            {"name": self.plan}, execution_mode=self.execution_mode, time_limit_s=limit_s, maximize=self.maximize
        )
        context.objects.create(plan)


@dataclass(frozen=True, slots=True)
class Release(Action):
    """Install the chart's release, or bring it to these settings, so that it serves.

    A scheduler under comparison serves in its stead.
    """

    kind = "release"
    profile: Profile = "deterministic"
    """A profile of the chart."""
    optimizer: bool = False
    """Whether the optimiser runs beside the scheduler; it needs a profile that knows it."""
    values: Anything = field(default_factory=dict)
    """Helm values of the chart, over all others."""

    def __post_init__(self) -> None:
        if self.optimizer and self.profile not in RESERVING_PROFILES:
            known = " or ".join(RESERVING_PROFILES)
            raise ValueError(f"`profile` {self.profile} does not know the optimiser; choose {known}")

    @property
    def can_be_kept(self) -> bool:
        """Whether its scheduler is as new once its pods and nodes are gone.

        One that makes plans counts and waits by its past.
        """
        return self.profile not in RESERVING_PROFILES

    def in_words(self) -> str:
        """Return what it does: the release has no step of its own in most files."""
        text = f"have the chart's release serve with profile {self.profile}"
        more = {key: value for key, value in write_plain(self).items() if key != "profile"}
        return f"{text}, {more}" if more else text

    def carry_out(self, context: StepContext) -> None:
        context.release(self)
        context.is_planned |= self.optimizer


@dataclass(frozen=True, slots=True)
class Pack(Action):
    """Have the optimiser pack what is there, and wait until it is done.

    Where it is asked by hand only, it is asked once.
    """

    kind = "pack"

    def carry_out(self, context: StepContext) -> None:
        """Where it is asked, one plan is made, whether it is the best or not."""
        scenario, is_done = context.scenario, packed if context.is_released else at_rest
        timeout_s = timeouts.plan_s(scenario)
        if scenario.optimizer.trigger == "manual" and context.is_released:
            plan = make_manual_plan({"generateName": "manual-"}, time_limit_s=scenario.optimizer.time_limit_s)
            name = context.objects.create(plan)["metadata"]["name"]
            context.wait_for(f"the manual plan {name} to finish", plan_finished(name), timeout_s=timeout_s)
            is_done = at_rest
        context.observer.wait_for(
            f"the optimiser to be done with {scenario.scenario_id}",
            is_done(context.namespace, context.demand.total()),
            timeout_s=timeout_s,
            quiet_s=scenario.optimizer.settle_s + QUIET_MARGIN_S,
            quiet_kinds=("Pod", "PackingPlan"),
        )
