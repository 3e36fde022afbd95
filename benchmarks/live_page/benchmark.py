"""How soon the page of a large cluster is there, how it moves, and what it takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import IO

import psutil
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.command import Say, write_figures
from benchmarks.live_page.made_cluster import write_kubeconfig
from stowage_testbed.base.clock import SystemClock
from stowage_testbed.base.errors import StowageError
from stowage_testbed.text.figure import Figure, at_most, figure

NAME = "bench-page"
MADE_CLUSTER = "benchmarks.live_page.made_cluster"
MB = 10**6
FIRST_S, FRAME_MS, BROWSER_MB, SERVER_MB = 3.0, 100.0, 400.0, 300.0
SLIDES = 300
"""Frames that are measured, each at another moment."""

DRAWN_S = 120.0

_SLIDE = """
const [count, done] = arguments;
const slider = document.getElementById("time");
const [frames, work] = [[], []];
let [step, last] = [0, null];
function frame(now) {
  if (last !== null) frames.push(now - last);
  last = now;
  if (step === count) { done([frames, work]); return; }
  const part = Math.abs(1 - 2 * ((step * 7) % count) / count);
  const began = performance.now();
  slider.value = Number(slider.min) + part * (slider.max - slider.min);
  slider.dispatchEvent(new Event("input"));
  work.push(performance.now() - began);
  step += 1;
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
"""
_FIRST = "return performance.getEntriesByName('first-picture')[0]?.startTime ?? null"


@dataclass(frozen=True, slots=True)
class Scope:
    """What is measured; targets are of the largest."""

    name: str
    nodes: int
    pods: int
    watched_s: float
    events_per_s: float = 100.0


SCOPES = {
    "smoke": Scope("smoke", 600, 6000, 5.0),
    "default": Scope("default", 5000, 50_000, 120.0),
    "full": Scope("full", 5000, 50_000, 3600.0),
}


def run_benchmark(scope: Scope, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-page.json``, return the table.

    Raises
    ------
    StowageError
        There is no Chromium, or the page's server ended.
    """
    made = [str(scope.nodes), str(scope.pods), str(scope.events_per_s)]
    python = sys.executable
    with (
        tempfile.TemporaryDirectory() as folder,
        _running(python, "-m", MADE_CLUSTER, *made) as (_, said),
    ):
        kubeconfig = write_kubeconfig(int(said.readline()), Path(folder))
        say(f"{scope.nodes} nodes and {scope.pods} pods are served")
        began = perf_counter()
        stowage = str(Path(python).with_name("stowage"))
        page = ("page", "--kubeconfig", str(kubeconfig), "--for", "24h")
        with _running(stowage, *page) as (server, told):
            address = told.readline().removeprefix("page: ").strip()
            if not address:
                raise StowageError("the page's server ended; its error is above")
            ready_s = perf_counter() - began
            figures = _measure(scope, address, server, say)
    figures.insert(
        0, figure("listing, to the address of the page", "s", [ready_s], max)
    )
    return write_figures(results / f"{NAME}.json", figures, asdict(scope))


def _measure(scope: Scope, address: str, server: int, say: Say) -> list[Figure]:
    with _chromium() as driver:
        driver.get(address)
        first_ms = WebDriverWait(driver, DRAWN_S).until(
            lambda found: found.execute_script(_FIRST), "no picture was drawn"
        )
        say(f"first picture after {first_ms:.0f} ms; watching {scope.watched_s:.0f} s")
        SystemClock().pause(scope.watched_s)
        driver.set_script_timeout(DRAWN_S)
        frames, work = driver.execute_async_script(_SLIDE, SLIDES)
        browser = _renderer_memory(driver)
    return [
        figure(
            "first picture, from the request", "s", [first_ms / 1000], max,
            at_most(FIRST_S, "s"),
        ),
        figure(
            "longest frame while sliding", "ms", frames, max, at_most(FRAME_MS, "ms")
        ),
        figure(
            "longest that the page itself takes for a frame", "ms", work, max,
            note="a busy machine adds to frames what others take",
        ),
        figure(
            "memory of the page's process in Chromium", "MB", [browser / MB], max,
            at_most(BROWSER_MB, "MB"), note="resident, after sliding",
        ),
        figure(
            "memory of the page's server", "MB",
            [psutil.Process(server).memory_info().rss / MB], max,
            at_most(SERVER_MB, "MB"), note="resident, after sliding",
        ),
    ]  # fmt: skip


@contextmanager
def _running(*command: str) -> Iterator[tuple[int, IO[str]]]:
    """Run a command for the block; yields its process's id and what it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            yield process.pid, process.stdout
        finally:
            process.terminate()


@contextmanager
def _chromium() -> Iterator[Chrome]:
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        raise StowageError("no chromium on the PATH: run ci/browsers")
    options = ChromeOptions()
    options.binary_location = browser
    with tempfile.TemporaryDirectory() as profile:
        for one in (
            "--headless=new", "--window-size=1280,1000", "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
        ):  # fmt: skip
            options.add_argument(one)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        opened = Chrome(options, ChromeService(driver))
        try:
            yield opened
        finally:
            opened.quit()


def _renderer_memory(driver: Chrome) -> int:
    """Return the resident bytes of the largest process that renders a page."""
    found = psutil.Process(driver.service.process.pid).children(recursive=True)
    return max(
        one.memory_info().rss for one in found if "--type=renderer" in one.cmdline()
    )
