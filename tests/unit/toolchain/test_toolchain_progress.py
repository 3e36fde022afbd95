"""Progress is seen in a log of CI as well as on a terminal."""

from __future__ import annotations

import io
import threading

import pytest
from rich.console import Console

from stowage_testbed.toolchain import progress
from stowage_testbed.toolchain.progress import show_progress


class Log(io.StringIO):
    """Tells when a line has been written that holds a word."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word
        self.seen = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.word in self.getvalue():
            self.seen.set()
        return written


def test_a_log_gets_plain_lines_while_a_tool_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Minutes without a line look like a hung job; control codes garble its log."""
    monkeypatch.setattr(progress, "LINE_PERIOD_S", 0.01)
    log = Log("etcd 3/10")

    with show_progress(
        ["etcd", "helm"], quiet=False, console=Console(file=log)
    ) as all_:
        assert log.getvalue() == "0 of 2 tools installed\n"
        with all_.tool("etcd") as watcher:
            watcher.total(10)
            watcher.advance(3, "net/http")
            assert log.seen.wait(10), log.getvalue()

    assert "0 of 2 tools installed; etcd 3/10, 0 s: net/http\n" in log.getvalue()
    assert log.getvalue().endswith("1 of 2 tools installed\n")
    assert "\x1b" not in log.getvalue()


def test_a_failed_build_ends_the_lines() -> None:
    """A thread that goes on would write into whatever comes next."""
    before = threading.active_count()

    with (
        pytest.raises(InterruptedError),
        show_progress(["etcd"], quiet=False, console=Console(file=io.StringIO())),
    ):
        raise InterruptedError

    assert threading.active_count() == before


def test_quiet_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Scripts ask for it."""
    with show_progress(["etcd"], quiet=True) as all_, all_.tool("etcd"):
        pass

    assert capfd.readouterr() == ("", "")
