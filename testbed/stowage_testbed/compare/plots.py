"""The comparison's lines as pictures for papers, PNG and SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from stowage_testbed.compare.curves import (
    LATENCY_MEANINGS,
    Line,
    distribution,
    load_curves,
)
from stowage_testbed.compare.result import Result
from stowage_testbed.hpa.model.load_window import LoadWindow
from stowage_testbed.hpa.record import HpaRecord

COLOURS = (
    "#1f6fb4", "#c45100", "#00805c", "#8b4bb3",
    "#b8336a", "#7a5a1e", "#007a87", "#4b5563",
)  # fmt: skip
DASHES = (
    "-",
    "--",
    ":",
    "-.",
    (0, (4, 2)),
    (0, (12, 4)),
    (0, (2, 6)),
    (0, (6, 2, 2, 2)),
)

SETTINGS: Any = {
    # The stubs want every key as a literal of theirs.
    # Names of arms are names, also where they hold a dollar sign.
    "text.parse_math": False,
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    # Letters stay letters, and equal pictures are equal files.
    "svg.fonttype": "none",
    "svg.hashsalt": "stowage",
}

SIZE_INCHES = (5.5, 3.4)
DOTS_PER_INCH = 200
"""Of the PNG."""


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
        for name, meaning in LATENCY_MEANINGS.items():
            yield _Picture(
                name=f"latency-{name}-{limits}",
                x_label=f"{meaning} (s)",
                y_label="share of pods",
                share=True,
                lines=[
                    (
                        arm,
                        distribution(records, name),
                        [distribution([one], name) for one in records],
                    )
                    for arm, records in arms.items()
                ],
            )
        for name, (meaning, line_of) in load_curves(result.resources).items():
            yield _Picture(
                name=f"load-{name.replace('/', '-')}-{limits}",
                x_label="time from the start of the window (s)",
                y_label=meaning,
                share=name != "waiting",
                lines=[
                    (arm, None, [line_of(record) for record in records])
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
        _save(figure, path, DOTS_PER_INCH)
        yield path


def _save(figure: Figure, path: Path, dots_per_inch: int) -> None:
    # Without a date, the same run gives the same file.
    dated = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, dpi=dots_per_inch, metadata=dated)


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


_SIZE_INCHES = (9.0, 8.0)
_DOTS_PER_INCH = 120


def plot_timeline(record: HpaRecord, path: Path, title: str = "") -> None:
    """Draw replicas, usage, latency, errors and load over the run's time.

    Parameters
    ----------
    path
        Its suffix is the format, as in ``.svg`` or ``.png``.
    title
        Goes before the outcome, as in the scenario's name and the arm's.
    """
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    rows = figure.subplots(5, 1, sharex=True, height_ratios=(3, 3, 3, 1, 1))
    replicas, usage, latency, errors, clients = rows
    _draw_replicas(replicas, record)
    _draw_usage(usage, record)
    windows = (*record.find, *record.hold)
    sla = record.settings.sla
    _draw_windows(latency, windows, [w.p99_s for w in windows], sla.p99_s)
    latency.set_ylabel("p99 (s)")
    _draw_windows(errors, windows, [100 * w.errors for w in windows], 100 * sla.errors)
    errors.set_ylabel("errors (%)")
    end_s = record.hold[-1].end_s
    _draw_steps(clients, [(w.start_s, w.clients) for w in windows], end_s, "-", "")
    clients.set_ylabel("clients")
    clients.set_ylim(bottom=0)
    clients.set_xlabel("seconds since the start of FIND")
    for axes in rows:
        _draw_phases(axes, record)
    found = record.recovery
    ttr = f", TTR {found.ttr_s:g} s" if found.outcome == "recovered" else ""
    outcome = found.outcome.replace("_", " ")
    figure.suptitle(f"{title}: {outcome}{ttr}" if title else f"{outcome}{ttr}")
    _save(figure, path, _DOTS_PER_INCH)


def _draw_replicas(axes: Axes, record: HpaRecord) -> None:
    end_s = record.hold[-1].end_s
    for name, style, points in (
        ("desired", "--", [(seen.at_s, seen.desired) for seen in record.replicas]),
        ("pods", ":", [(count.at_s, count.total) for count in record.pods]),
        ("ready", "-", [(count.at_s, count.ready) for count in record.pods]),
    ):
        _draw_steps(axes, points, end_s, style, name)
    axes.set_ylabel("replicas")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right", ncols=3)


def _draw_usage(axes: Axes, record: HpaRecord) -> None:
    end_s = record.hold[-1].end_s
    read = [
        (seen.at_s, seen.cpu_percent)
        for seen in record.replicas
        if seen.cpu_percent is not None
    ]
    _draw_steps(axes, read, end_s, "-", "usage as the autoscaler reads it")
    axes.axhline(record.settings.autoscaling.target_percent, color="grey", lw=0.8)
    axes.set_ylabel("CPU (% of request)")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right")


def _draw_steps(
    axes: Axes,
    points: Sequence[tuple[float, int]],
    end_s: float,
    style: str,
    name: str,
) -> None:
    shown = [(max(at_s, 0.0), value) for at_s, value in points if at_s <= end_s]
    if shown:
        shown.append((end_s, shown[-1][1]))
    axes.step(
        [at_s for at_s, _ in shown],
        [value for _, value in shown],
        style,
        where="post",
        label=name,
    )


def _draw_windows(
    axes: Axes, windows: Sequence[LoadWindow], values: Sequence[float], limit: float
) -> None:
    for window, value in zip(windows, values, strict=True):
        colour = "tab:green" if window.ok else "tab:red"
        axes.hlines(value, window.start_s, window.end_s, colors=colour, linewidth=3)
    axes.axhline(limit, color="grey", lw=0.8)
    axes.set_ylim(bottom=0)


def _draw_phases(axes: Axes, record: HpaRecord) -> None:
    """Mark the start of HOLD, and the recovery if there was one."""
    axes.axvline(record.hold_start_s, color="black", lw=0.8)
    found = record.recovery
    if found.outcome == "recovered":
        recovered_s = record.hold_start_s + found.ttr_s
        axes.axvline(recovered_s, color="tab:green", lw=0.8, linestyle="--")
