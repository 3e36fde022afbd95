"""A figure: one number with its target, its runs and its spread."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import quantiles

from tabulate import tabulate

FEW = 4  # Samples below which quartiles say less than the extremes


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the benchmark.

    ``value`` is None where nothing was measured, ``met`` without a target or a value. ``runs`` is how many
    measurements the value is made from; ``spread`` has their quartiles, or the extremes where there are few, and is
    empty for counts and shares. ``prototype`` is the same figure of the measured study, as text.
    """

    name: str
    value: float | None
    unit: str
    target: str = ""
    met: bool | None = None
    runs: int = 0
    spread: tuple[float, ...] = ()
    note: str = ""
    prototype: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure must reach."""

    text: str
    holds: Callable[[float], bool]


def at_most(limit: float, unit: str = "") -> Target:
    """Return the target that the value is ``limit`` or less."""
    return Target(f"<= {limit:g} {unit}".rstrip(), lambda value: value <= limit)


def at_least(limit: float, unit: str = "") -> Target:
    """Return the target that the value is ``limit`` or more."""
    return Target(f">= {limit:g} {unit}".rstrip(), lambda value: value >= limit)


def figure(
    name: str,
    unit: str,
    samples: Sequence[float],
    value: Callable[[Sequence[float]], float],
    target: Target | None = None,
    *,
    spread: bool = True,
    note: str = "",
    prototype: str = "",
) -> Figure:
    """Return the figure that ``value`` makes of ``samples``; empty without any."""
    number = value(samples) if samples else None
    return Figure(
        name=name,
        value=number,
        unit=unit,
        target=target.text if target else "",
        met=target.holds(number) if target and number is not None else None,
        runs=len(samples),
        spread=_spread(samples) if spread else (),
        note=note if samples else "not measured",
        prototype=prototype,
    )


def share_percent(samples: Sequence[float]) -> float:
    """Return the mean of zeros and ones in percent."""
    return 100 * sum(samples) / len(samples)


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as a table."""
    rows = [
        (
            one.name,
            "-" if one.value is None else f"{one.value:.4g}",
            one.unit,
            one.target,
            {True: "yes", False: "NO", None: "-"}[one.met],
            one.runs,
            " to ".join(f"{value:.3g}" for value in one.spread),
            one.prototype,
            one.note,
        )
        for one in figures
    ]
    headers = (
        "figure", "value", "unit", "target", "met", "n", "spread", "prototype", "note",
    )  # fmt: skip
    return tabulate(rows, headers=headers, disable_numparse=True)


def _spread(samples: Sequence[float]) -> tuple[float, ...]:
    if not samples:
        return ()
    if len(samples) < FEW:
        return min(samples), max(samples)
    first, _, third = quantiles(samples, n=4)
    return first, third
