"""The picture of one recovery run (second paper, Figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stowage_testbed.hpa.model.load_window import LoadWindow
from stowage_testbed.hpa.record import HpaRecord

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
    # Without a date, the same run gives the same file.
    dated = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, dpi=_DOTS_PER_INCH, metadata=dated)


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
