"""How far something is that takes long: one line on stderr, renewed on a terminal, repeated elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

LINE_EVERY_S = 3.0
"""A log that stands still for longer looks like one of a program that hangs."""


def say(line: str) -> None:
    """Write a line to stderr at once."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - standard output is data


@contextmanager
def telling(line: Callable[[float], str]) -> Iterator[None]:
    """Show every few seconds what `line` says, given the seconds since the block began."""
    began_s = time.monotonic()

    def now() -> str:
        return line(time.monotonic() - began_s)

    if not sys.stderr.isatty():
        with repeating(lambda: say(now()), LINE_EVERY_S):
            yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it, and it is slow to import

    with Console(stderr=True).status(now()) as status, repeating(lambda: status.update(now()), 0.2):
        yield


def saying_for_how_long(what: str) -> AbstractContextManager[None]:
    """Say every few seconds for how long the block has been running."""
    return telling(lambda elapsed_s: f"{what}: {elapsed_s:.0f} s")


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


@dataclass(slots=True)
class ToolProgress:
    """How far one tool is; its own thread writes it, and the display reads it. `pooch` takes it for its bar."""

    name: str
    is_ended: Callable[[], bool]
    doing: str = "waiting"
    done: int = 0
    total: int = 0

    def begin(self, doing: str) -> None:
        """Begin with something, whose steps count from 0."""
        self.doing, self.done, self.total = doing, 0, 0

    def update(self, steps: int = 1) -> None:
        """Go on by some steps, which are bytes of a download; end one that nobody waits for any more."""
        if self.is_ended():
            raise ConnectionAbortedError("nobody waits for it any more")
        self.done += steps

    def reset(self) -> None:
        """Begin to count anew."""
        self.done = 0

    def close(self) -> None:
        """End the download."""
        self.doing = "waiting"

    def in_words(self) -> str:
        """Return what is done, as in `kube-apiserver: 812 packages`."""
        match self.doing:
            case "fetching":
                return f"{self.name}: {self.done} modules fetched"
            case "compiling":
                return f"{self.name}: {self.done:,} packages"
            case "downloading":
                of = f" of {self.total >> 20}" if self.total else ""
                return f"{self.name}: {self.done >> 20}{of} MiB"
            case doing:
                return f"{self.name}: {doing}"
