"""Draws the pictures of a comparison into a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from stowage_testbed.compare.curves import latency, load
from stowage_testbed.compare.curves.line import Line
from stowage_testbed.compare.plots.recovery import plot_timeline
from stowage_testbed.compare.plots.style import (
    COLOURS,
    DASHES,
    DOTS_PER_INCH,
    SETTINGS,
    SIZE_INCHES,
)
from stowage_testbed.compare.result import Result

FORMATS = ("png", "svg")


@dataclass(frozen=True, slots=True)
class _Picture:
    """One picture: for each arm a strong line, if any, and its rounds as faint ones."""

    name: str
    x_label: str
    y_label: str
    share: bool
    lines: Sequence[tuple[str, Line | None, Sequence[Line]]]


def draw_pictures(result: Result, folder: Path) -> tuple[Path, ...]:
    """Draw every picture and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(SETTINGS):
        return (
            *(file for one in _pictures(result) for file in _drawn(one, folder)),
            *_timelines(result, folder),
        )


def _pictures(result: Result) -> Iterator[_Picture]:
    for limits in result.comparison.limits:
        found = {arm: result.records_of(limits, arm) for arm in result.arms}
        arms = {arm: records for arm, records in found.items() if records}
        if not arms:
            continue
        for name, meaning in latency.MEANINGS.items():
            yield _Picture(
                name=f"latency-{name}-{limits}",
                x_label=f"{meaning} (s)",
                y_label="share of pods",
                share=True,
                lines=[
                    (
                        arm,
                        latency.distribution(records, name),
                        [latency.distribution([one], name) for one in records],
                    )
                    for arm, records in arms.items()
                ],
            )
        for name, meaning in load.MEANINGS.items():
            yield _Picture(
                name=f"load-{name}-{limits}",
                x_label="time from the start of the window (s)",
                y_label=meaning,
                share=name != "waiting",
                lines=[
                    (arm, None, [load.LOADS[name](record) for record in records])
                    for arm, records in arms.items()
                ],
            )


def _timelines(result: Result, folder: Path) -> Iterator[Path]:
    """Draw each run in which a service was overloaded."""
    for record in result.records:
        if record.recovery is None:
            continue
        run = f"{record.limits}-{record.arm}-round-{record.round_number:03}"
        title = f"{record.scenario_id}, {record.arm}, round {record.round_number}"
        for kind in FORMATS:
            path = folder / f"timeline-{run}.{kind}"
            plot_timeline(record.recovery, path, title)
            yield path


def _drawn(picture: _Picture, folder: Path) -> Iterator[Path]:
    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    axes = figure.add_subplot()
    for index, (arm, strong, faint) in enumerate(picture.lines):
        _lines(axes, index, arm, strong, faint)
    axes.set_xlabel(picture.x_label)
    axes.set_ylabel(picture.y_label)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    if picture.share:
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.legend(loc="best", frameon=False)
    for kind in FORMATS:
        path = folder / f"{picture.name}.{kind}"
        dated = {"Date": None} if kind == "svg" else None
        figure.savefig(path, dpi=DOTS_PER_INCH, metadata=dated)
        yield path


def _lines(
    axes: Axes, index: int, arm: str, strong: Line | None, faint: Sequence[Line]
) -> None:
    """Draw an arm; without a line for all rounds, its first round is the strong one."""
    colour = COLOURS[index % len(COLOURS)]
    dashes = DASHES[index % len(DASHES)]
    first, others = (strong, faint) if strong else (faint[0], faint[1:])
    for line in others:
        axes.step(line.x, line.y, where="post", color=colour, alpha=0.25, linewidth=0.7)
    axes.step(first.x, first.y, where="post", color=colour, linestyle=dashes, label=arm)
