"""One progress bar for each tool that is being installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

_NOTE_WIDTH = 40


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
def show_progress(names: Sequence[str], *, quiet: bool) -> Iterator[ToolProgress]:
    """Show a bar for each name on stderr while the block runs."""
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    console = Console(stderr=True, quiet=quiet)
    with Progress(*columns, console=console) as progress:
        tasks = {
            name: progress.add_task(name, total=None, start=False, note="waiting")
            for name in names
        }
        yield ToolProgress(progress, tasks)


def _short(name: str) -> str:
    return name if len(name) <= _NOTE_WIDTH else f"…{name[1 - _NOTE_WIDTH :]}"
