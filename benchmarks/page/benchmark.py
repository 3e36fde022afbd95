"""The figures of the live page: first picture, frames while sliding, memory."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.command import Say, write_figures
from benchmarks.page.browser import chromium, page_bytes
from benchmarks.page.fleet import Fleet, FleetSize
from stowage_testbed.live_page.feed import Feed
from stowage_testbed.live_page.page import FIRST_PICTURE, page_of
from stowage_testbed.live_page.server import Content, serving
from stowage_testbed.text.figure import Figure, Target, at_least, at_most, figure

FIRST_PICTURE_TARGET = at_most(2, "s")
FRAMES_TARGET = at_least(30, "1/s")
MEMORY_TARGET = at_most(300, "MB")
DRAWN_TIMEOUT_S = 60.0
MB = 10**6

SLIDE = """
const [done, ms] = [arguments[arguments.length - 1], arguments[0]];
const slider = document.getElementById("time");
const frames = [];
const begin = performance.now();
let last = begin;
const step = (now) => {
  frames.push(now - last);
  last = now;
  const share = ((now - begin) / ms) * 3 % 2;
  slider.value = String(Math.round(1000 * (share < 1 ? 1 - share : share - 1)));
  slider.dispatchEvent(new Event("input"));
  if (now - begin < ms) requestAnimationFrame(step);
  else done(frames.slice(1));
};
requestAnimationFrame(step);
"""
"""Moves the slider at every frame, to and fro; gives the times between frames."""


@dataclass(frozen=True, slots=True)
class Round:
    """One browser's visit.

    Attributes
    ----------
    first_picture_s
        From the request for the page to the first nodes on the canvas.
    frames_ms
        Times between frames while the slider moves.
    page_mb
        Memory of the page's process after that.
    server_share
        CPU of the process that watches and serves meanwhile, in cores; the generation
        of the changes is part of it.
    """

    first_picture_s: float
    frames_ms: list[float]
    page_mb: float
    server_share: float

    @property
    def frames_hz(self) -> float:
        """Frames a second."""
        return 1000 * len(self.frames_ms) / sum(self.frames_ms)


def run_benchmark(
    size: FleetSize, rounds: int, slide_s: float, results: Path, say: Say
) -> str:
    """Measure, write the figures, and return them as a table.

    Parameters
    ----------
    size
        Of the generated cluster.
    rounds
        Browsers, one after the other.
    slide_s
        How long the slider moves in each.
    """
    say(f"{size.nodes} nodes, {size.pods} pods, {size.past} changes before")
    found = []
    with served_fleet(size) as address:
        for number in range(1, rounds + 1):
            found.append(_visit(address, slide_s))
            say(
                f"visit {number}: {found[-1].first_picture_s:.2f} s, "
                f"{found[-1].frames_hz:.0f} frames/s, {found[-1].page_mb:.0f} MB"
            )
    return write_figures(
        results / "page.json",
        page_figures(found),
        about={"fleet": asdict(size), "slide_s": slide_s},
    )


@contextmanager
def served_fleet(size: FleetSize) -> Iterator[str]:
    """Serve the page of a generated cluster, and yield its address."""
    fleet = Fleet(size)
    with (
        Feed("fleet", fleet.opened, bool) as feed,
        serving(Content(page_of("fleet"), feed.messages, {})) as address,
    ):
        yield address


def _visit(address: str, slide_s: float) -> Round:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        chromium(Path(profile)) as driver,
    ):
        driver.get(address)
        first_picture_s = await_picture(driver)
        driver.set_script_timeout(slide_s + DRAWN_TIMEOUT_S)
        began_s, used_s = time.monotonic(), _used_s()
        frames: list[float] = driver.execute_async_script(SLIDE, slide_s * 1000)
        share = (_used_s() - used_s) / (time.monotonic() - began_s)
        return Round(first_picture_s, frames, page_bytes(driver) / MB, share)


def await_picture(driver: Chrome) -> float:
    """Wait until nodes are drawn, and return how long that took, in seconds."""
    script = f"return performance.getEntriesByName('{FIRST_PICTURE}')[0]?.startTime"
    drawn: float = WebDriverWait(driver, DRAWN_TIMEOUT_S).until(
        lambda _: driver.execute_script(script), "no nodes were drawn"
    )
    return drawn / 1000


def _used_s() -> float:
    times = os.times()
    return times.user + times.system


def page_figures(rounds: list[Round]) -> list[Figure]:
    """Return what the visits have shown."""
    frames = [one for found in rounds for one in found.frames_ms]
    late = sum(1 for one in frames if one > 1000 / 30) / max(len(frames), 1)

    def of(name: str, unit: str, values: list[float], target: Target) -> Figure:
        return figure(name, unit, values, median, target)

    return [
        of(
            "first picture",
            "s",
            [one.first_picture_s for one in rounds],
            FIRST_PICTURE_TARGET,
        ),
        figure(
            "frames while sliding",
            "1/s",
            [one.frames_hz for one in rounds],
            median,
            FRAMES_TARGET,
            note=f"{late:.1%} of {len(frames)} frames took longer than 1/30 s; "
            "without a GPU",
        ),
        of("memory of the page", "MB", [one.page_mb for one in rounds], MEMORY_TARGET),
        figure(
            "CPU of stowage",
            "cores",
            [one.server_share for one in rounds],
            median,
            note="without reading the changes off an API server",
        ),
    ]
