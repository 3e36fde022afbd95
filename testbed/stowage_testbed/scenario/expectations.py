"""What a scenario expects: of its halves, of its end, and of what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from stowage_testbed.declaration import form, setting
from stowage_testbed.scenario.expected_moment import ExpectedMoment, WrittenExpression, WrittenMoment, is_within
from stowage_testbed.scenario.manifest_forms import Filled
from stowage_testbed.scenario.words import HALVES, STEPS


@dataclass(frozen=True, slots=True)
class MetricBound:
    """A bound on a metric of the measured window, and where the bound comes from."""

    origin: Annotated[Filled, setting("Where the bound comes from - what was run, on which machine.")]
    runs: Annotated[int, setting("How many runs the spread is of.", minimum=1)]
    spread: Annotated[tuple[float, float], setting("The lowest and the highest value in those runs.")]
    margin: Annotated[float, setting("How many times the worst value of the spread the bound is.", minimum=1)]
    minimum: Annotated[float | None, setting("The value is at least this.", key="min")] = None
    maximum: Annotated[float | None, setting("The value is at most this.", key="max")] = None

    def holds(self, value: float) -> bool:
        """Return whether a value keeps the bound."""
        return is_within(self.minimum, value, self.maximum)

    def in_words(self, name: str) -> str:
        """Return the bound on the metric of this name, with its origin."""
        low, high = self.spread
        return f"{name} is {self} ({self.runs} runs gave {low:g} to {high:g}, margin {self.margin:g}; {self.origin})"

    def __str__(self) -> str:
        ends = (("at least", self.minimum), ("at most", self.maximum))
        return " and ".join(f"{word} {end:g}" for word, end in ends if end is not None)


_OF_PLANS = ("moves", "evictions", "optimal", "solves", "utilisation_delta")
_OF_STEPS = ("phases", "objects", "that")
MetricName = Annotated[str, form(format="metric-name")]


@dataclass(frozen=True, slots=True)
class Expectations:
    """What must come of a scenario."""

    tolerance: Annotated[float, setting("Allowed distance of every utilisation figure.", minimum=0, maximum=1)] = 1e-6
    allow_unplaceable: Annotated[
        bool, setting("Accept pods that fit on no empty node; without it they are an error.")
    ] = False
    deterministic: Annotated[
        ExpectedMoment,
        form(without=(*_OF_PLANS, *_OF_STEPS)),
        setting("With the deterministic scheduler, when every pod has an outcome.", only=HALVES, required=True),
    ] = field(default_factory=ExpectedMoment)
    optimizer: Annotated[
        ExpectedMoment,
        form(without=_OF_STEPS),
        setting(
            "After the optimiser, when no plan is live. That no priority is worse off than before is always checked.",
            only=HALVES,
            required=True,
        ),
    ] = field(default_factory=ExpectedMoment)
    end: Annotated[
        WrittenMoment, setting("When the steps are done and nothing changes any more.", only=STEPS, required=True)
    ] = field(default_factory=ExpectedMoment)
    metrics: Annotated[
        Mapping[MetricName, Annotated[MetricBound, form(name="metric-bound")]],
        setting("Bounds on metrics of the measured window, by the metric's name.", only=STEPS),
    ] = field(default_factory=dict)
    that: Annotated[
        tuple[WrittenExpression, ...],
        setting(
            "What must hold at the end, as expressions in CEL over pods, nodes, plans, "
            "objects and the metrics of the measured window.",
            only=STEPS,
            minItems=1,
        ),
    ] = ()
