"""What the pieces of a soak have shown, as figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.soak.pieces import Piece
from benchmarks.soak.sampler import ALL_OBJECTS, OBJECTS_OF
from benchmarks.soak.slopes import CONFIDENCE, S_AN_HOUR, Slope, slope_of
from stowage_testbed.text.figure import Figure, at_least, at_most, figure

MUST_NOT_GROW = ("of the scheduler", "of the optimizer", ALL_OBJECTS)
"""Others keep what they are asked to, such as the API server's cache of events."""


def figures_of(pieces: Sequence[Piece], warm_up_s: float) -> list[Figure]:
    """Return the figures of all pieces together."""
    return [*_turn_figures(pieces), *_slope_figures(pieces, warm_up_s)]


def _turn_figures(pieces: Sequence[Piece]) -> Iterator[Figure]:
    turns = [turn for piece in pieces for turn in piece.turns]
    errors = [piece.about.error for piece in pieces if piece.about.error]
    violations = [text for turn in turns for text in turn.violations]
    failures = [text for turn in turns for text in turn.failures]
    hours = [piece.about.length_s / S_AN_HOUR for piece in pieces]
    yield figure("soaked", "h", hours, sum)
    number = [float(len(turn.violations)) for turn in turns]
    yield figure(
        "violations", "", number, sum, at_most(0), spread=False,
        note="; ".join(violations[:3]),
    )  # fmt: skip
    well = [float(not turn.failures) for turn in turns] + [0.0] * len(errors)
    yield figure(
        "turns after which the cluster recovered", "share", well,
        lambda all_of_them: sum(all_of_them) / len(all_of_them), at_least(1),
        spread=False, note="; ".join([*failures[:3], *errors]),
    )  # fmt: skip
    again = [one.recovered_s for one in turns if one.recovered_s is not None]
    yield figure("from a fault to the last change of a pod", "s", again, max)
    phases = Counter(phase for turn in turns for phase in turn.phases)
    yield figure(
        "plans", "", [float(len(turn.phases)) for turn in turns], sum, spread=False,
        note=", ".join(f"{count} {phase}" for phase, count in phases.most_common()),
    )  # fmt: skip
    moved = [float(one.evictions > 0) for one in turns if "/drain-" not in one.scenario]
    yield figure(
        "turns whose plans evicted pods, of those without a drain", "share", moved,
        lambda all_of_them: sum(all_of_them) / len(all_of_them), at_least(0.5),
        spread=False, note="where pods find room by themselves nothing is tried",
    )  # fmt: skip
    restarts = [float(one.scheduler_restarts) for one in turns]
    yield figure("restarts of the scheduler", "", restarts, sum, spread=False)


def _slope_figures(pieces: Sequence[Piece], warm_up_s: float) -> Iterator[Figure]:
    slopes = {
        name: slope_of((piece.points.get(name, ()) for piece in pieces), warm_up_s)
        for name in sorted({name for piece in pieces for name in piece.points})
    }
    counted = f"from {warm_up_s:g} s of each life on"
    for name, slope in slopes.items():
        if name.startswith(OBJECTS_OF):
            continue
        unit = "MiB/h" if name.startswith(("memory", "live heap")) else "1/h"
        if slope is None:
            note = f"too few samples {counted}"
            yield Figure(f"slope: {name}", None, unit, note=note)
            continue
        checked = name.endswith(MUST_NOT_GROW)
        note = f"{CONFIDENCE:.0%} interval, {counted}"
        if name == ALL_OBJECTS and (which := _in_words(slopes)):
            note = f"{note}; {which}"
        yield Figure(
            f"slope: {name}",
            slope.per_hour,
            unit,
            target="0 in the interval" if checked else "",
            met=slope.is_none if checked else None,
            runs=slope.parts,
            spread=(slope.low, slope.high),
            note=note,
        )


def _in_words(slopes: dict[str, Slope | None]) -> str:
    """Return of which kinds there are more and more objects, or fewer."""
    return ", ".join(
        f"{name.removeprefix(OBJECTS_OF)} {slope.per_hour:+.0f}"
        for name, slope in slopes.items()
        if name.startswith(OBJECTS_OF) and slope is not None and not slope.is_none
    )
