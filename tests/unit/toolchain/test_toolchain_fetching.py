"""The modules of a tool are fetched again when a download fails, played by a script."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from small_tools import a_tool

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.build import FETCH_TRIES, Builder
from stowage_testbed.toolchain.golang import Go
from stowage_testbed.toolchain.progress import ToolWatcher

GO = """#!/bin/sh
case $1 in
  list)
    echo x >>"$0-tries"
    [ "$(wc -l <"$0-tries")" -gt {failing} ] && exit 0
    echo 'go: m@v1.0.0: Get "https://proxy/m": {words}'
    exit 1 ;;
  build) while [ "$1" != -o ]; do shift; done; echo built >"$2" ;;
esac
"""
TIMED_OUT = "dial tcp 192.0.2.1:443: i/o timeout"


@dataclass(slots=True)
class Pauses:
    """A clock that only notes for how long it was to pause."""

    all_of_them: list[float] = field(default_factory=list)

    def now(self) -> float:
        return 0.0

    def pause(self, seconds: float) -> None:
        self.all_of_them.append(seconds)


def build(folder: Path, words: str, failing: int, clock: Pauses) -> Path:
    """Build with a Go whose first downloads fail with these words."""
    go, target = folder / "go", folder / "built"
    go.write_text(GO.format(failing=failing, words=words))
    go.chmod(0o755)
    tool = a_tool(folder / "hello")
    builder = Builder([tool], lambda: Go(go, "1.26.4"), clock)
    builder.build(tool, target, ToolWatcher("hello"))
    return target


def tries(folder: Path) -> int:
    return (folder / "go-tries").read_text().count("x")


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "words",
    [
        TIMED_OUT,
        "net/http: TLS handshake timeout",
        "read: connection reset by peer",
        "unexpected EOF",
        "reading https://proxy/m.zip: 502 Bad Gateway",
    ],
)
def test_a_download_that_fails_once_is_tried_again(words: str, tmp_path: Path) -> None:
    """Of hundreds of downloads on a busy machine, one times out."""
    clock = Pauses()

    assert build(tmp_path, words, 2, clock).read_text() == "built\n"
    assert tries(tmp_path) == 3
    assert clock.all_of_them == [2.0, 4.0]


@pytest.mark.usefixtures("cache")
def test_a_download_that_goes_on_failing_says_why(tmp_path: Path) -> None:
    """In Go's own words; and it ends."""
    with pytest.raises(StowageError, match="i/o timeout"):
        build(tmp_path, TIMED_OUT, 99, Pauses())

    assert tries(tmp_path) == FETCH_TRIES


@pytest.mark.usefixtures("cache")
def test_what_does_not_pass_by_itself_is_not_tried_again(tmp_path: Path) -> None:
    """A version that is not there will not be there in a moment."""
    with pytest.raises(StowageError, match="404 Not Found"):
        build(tmp_path, "404 Not Found", 99, Pauses())

    assert tries(tmp_path) == 1
