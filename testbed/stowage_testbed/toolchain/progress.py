"""How far each tool is that is being installed: bars, or lines where nobody looks."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

LINE_EVERY_S = 3.0
"""A log that stands still for longer looks like one of a program that hangs."""

_DRAW_EVERY_S = 0.2
_NOTE_WIDTH = 40


@dataclass(slots=True)
class ToolWatcher:
    """How far one tool is; its own thread tells it, and the display reads it.

    Attributes
    ----------
    doing
        ``waiting``, ``fetching``, ``compiling``, ``linking``, ``downloading`` or
        ``installed``.
    done, total
        Modules, packages or KiB; 0 of a total that is not known.
    note
        The module or the package that was named last.
    """

    name: str
    doing: str = "waiting"
    done: int = 0
    total: int = 0
    note: str = ""
    started_s: float | None = None
    took_s: float = 0.0

    def starts(self, doing: str, total: int = 0) -> None:
        """Begin with something, whose steps count from 0."""
        self.doing, self.done, self.total, self.note = doing, 0, total, ""
        if self.started_s is None:
            self.started_s = time.monotonic()

    def advance(self, steps: int, note: str = "") -> None:
        """Go on by some steps."""
        self.reach(self.done + steps, note)

    def reach(self, done: int, note: str = "") -> None:
        """Have done so many steps."""
        self.done, self.note = done, note

    def is_installed(self) -> None:
        """End with what Go had in its cache, and did not name."""
        self.doing, self.done, self.note = "installed", self.total, ""
        if self.started_s is not None:
            self.took_s = time.monotonic() - self.started_s

    def in_words(self) -> str:
        """Return what is done, as in `kube-apiserver 812 of 2,079 packages`."""
        of = f" of {self.total:,}" if self.total else ""
        match self.doing:
            case "fetching":
                return f"{self.name} {self.done} modules fetched"
            case "compiling":
                return f"{self.name} {self.done:,}{of} packages"
            case "downloading":
                mib = f" of {self.total / 1024:.0f}" if self.total else ""
                return f"{self.name} {self.done / 1024:.0f}{mib} MiB"
            case doing:
                return f"{self.name} {doing}"


@dataclass(frozen=True, slots=True)
class InstallProgress:
    """All tools of one installation, and what is said about them."""

    watchers: Mapping[str, ToolWatcher]
    say: Callable[[str], None]
    began_s: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        """Return all that goes on, in one line."""
        every = self.watchers.values()
        installed = sum(one.doing == "installed" for one in every)
        active = [one for one in every if one.doing not in {"installed", "waiting"}]
        words = ", ".join(one.in_words() for one in active) or "waiting"
        elapsed = time.monotonic() - self.began_s
        return f"tools: {elapsed:.0f} s, {installed} of {len(every)} installed; {words}"


@contextmanager
def show_progress(names: Sequence[str], headline: str) -> Iterator[InstallProgress]:
    """Show on stderr how far the tools of these names are, while the block runs.

    The headline comes first. Then a terminal gets a bar for each, a file or a pipe a
    line every few seconds.
    """
    watchers = {name: ToolWatcher(name) for name in names}
    say(headline)
    if sys.stderr.isatty():
        with _bars(watchers) as progress:
            yield progress
    else:
        progress = InstallProgress(watchers, say)
        with repeating(lambda: say(progress.line()), LINE_EVERY_S):
            yield progress


def say(line: str) -> None:
    """Write a line to stderr at once."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - standard output is data


@contextmanager
def saying_for_how_long(what: str) -> Iterator[None]:
    """Say every few seconds for how long the block has been running."""
    began_s = time.monotonic()

    def tell() -> None:
        say(f"{what}: {time.monotonic() - began_s:.0f} s")

    with repeating(tell, LINE_EVERY_S):
        yield


@contextmanager
def repeating(act: Callable[[], None], every_s: float) -> Iterator[None]:
    """Do something again and again beside the block, in a thread of its own."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(every_s):
            act()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _bars(watchers: Mapping[str, ToolWatcher]) -> Iterator[InstallProgress]:
    # Only a terminal needs them, and they are slow to import.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks = {name: progress.add_task(name, total=None, start=False, note="waiting") for name in watchers}

        def draw() -> None:
            for name, watcher in watchers.items():
                task = tasks[name]
                if watcher.started_s is not None:
                    progress.start_task(task)
                if watcher.doing == "installed":
                    progress.update(task, total=1, completed=1, note="installed")
                    progress.stop_task(task)
                    continue
                words = f"{watcher.in_words().removeprefix(name)} {watcher.note}"
                progress.update(task, total=watcher.total or None, completed=watcher.done, note=_short(words.strip()))

        with repeating(draw, _DRAW_EVERY_S):
            yield InstallProgress(watchers, progress.console.print)
        draw()


def _short(note: str) -> str:
    return note if len(note) <= _NOTE_WIDTH else f"{note[: _NOTE_WIDTH - 1]}…"
