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
    """Moves one tool's bar as its build goes on."""

    progress: Progress
    task: TaskID

    def total(self, packages: int) -> None:
        """Set the bar's length: the packages that the tool consists of."""
        self.progress.update(self.task, total=packages, note="compiling")

    def compiled(self, package: str) -> None:
        """Move the bar by one package."""
        self.progress.update(self.task, advance=1, note=_short(package))

    def downloading(self, module: str) -> None:
        """Show which module is being fetched."""
        self.progress.update(self.task, note=f"fetching {_short(module)}")


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """The bars of one installation."""

    progress: Progress
    tasks: dict[str, TaskID]

    def begin(self, name: str) -> None:
        """Start a tool's own time."""
        self.progress.start_task(self.tasks[name])
        self.progress.update(self.tasks[name], note="starting")

    def watcher(self, name: str) -> ToolWatcher:
        """Return what moves the bar of the tool called ``name``."""
        return ToolWatcher(self.progress, self.tasks[name])

    def finish(self, name: str) -> None:
        """Fill a tool's bar: packages that Go had in its cache are not reported."""
        task = self.tasks[name]
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
