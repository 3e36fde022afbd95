"""One progress bar for each tool that is being installed; plain lines in a log."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

_NOTE_WIDTH = 40

LINE_PERIOD_S = 2.0
"""Where bars cannot be drawn, a line is written this often."""


@dataclass(frozen=True, slots=True)
class ToolWatcher:
    """Moves one tool's bar: a step is a compiled package, or a KiB of a download."""

    progress: Progress
    task: TaskID

    def total(self, steps: int) -> None:
        """Set the bar's length, and begin at its start."""
        self.progress.update(self.task, total=steps, completed=0)

    def advance(self, steps: int, note: str) -> None:
        """Move the bar."""
        self.progress.update(self.task, advance=steps, note=_short(note))

    def note(self, text: str) -> None:
        """Show what goes on beside the bar."""
        self.progress.update(self.task, note=_short(text))


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """The bars of one installation."""

    progress: Progress
    tasks: dict[str, TaskID]

    @contextmanager
    def tool(self, name: str) -> Iterator[ToolWatcher]:
        """Yield what moves the bar of a tool, whose own time is that of the block."""
        task = self.tasks[name]
        self.progress.start_task(task)
        self.progress.update(task, note="starting")
        yield ToolWatcher(self.progress, task)
        # What Go had in its cache was not reported.
        total = self.progress.tasks[task].total or 1
        self.progress.update(task, total=total, completed=total, note="installed")
        self.progress.stop_task(task)


@contextmanager
def show_progress(
    names: Sequence[str], *, quiet: bool, console: Console | None = None
) -> Iterator[ToolProgress]:
    """Show a bar for each name while the block runs; lines without a terminal.

    Parameters
    ----------
    names
        The tools, in the order in which they are installed.
    quiet
        Show nothing.
    console
        Where to; stderr without one.
    """
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    console = console or Console(stderr=True, quiet=quiet)
    drawn = console.is_terminal
    with Progress(*columns, console=console, disable=not drawn) as progress:
        tasks = {
            name: progress.add_task(name, total=None, start=False, note="waiting")
            for name in names
        }
        shown = ToolProgress(progress, tasks)
        if drawn or quiet:
            yield shown
            return
        with _lines(progress, console):
            yield shown


@contextmanager
def _lines(progress: Progress, console: Console) -> Iterator[None]:
    """Write how far the tools are, at once, every `LINE_PERIOD_S`, and at the end."""
    ended = threading.Event()

    def write() -> None:
        installed = sum(task.finished for task in progress.tasks)
        counted = f"{installed} of {len(progress.tasks)} tools installed"
        running = next(
            (task for task in progress.tasks if task.started and not task.finished),
            None,
        )
        line = counted if running is None else f"{counted}; {_described(running)}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    def write_on() -> None:
        while not ended.wait(LINE_PERIOD_S):
            write()

    write()
    writer = threading.Thread(target=write_on, daemon=True)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()
        write()


def _described(task: Task) -> str:
    total = "?" if task.total is None else f"{task.total:.0f}"
    steps = f"{task.completed:.0f}/{total}"
    return (
        f"{task.description} {steps}, {task.elapsed or 0:.0f} s: {task.fields['note']}"
    )


def _short(name: str) -> str:
    return name if len(name) <= _NOTE_WIDTH else f"…{name[1 - _NOTE_WIDTH :]}"
