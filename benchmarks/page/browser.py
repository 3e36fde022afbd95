"""A headless Chromium, the distribution's own, and what it costs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from benchmarks.optimizer.measurement import pss_bytes
from stowage_testbed.errors import StowageError

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVERS = ("chromedriver",)
WINDOW = (1280, 1000)


class NoBrowserError(StowageError):
    """There is no Chromium here."""


@contextmanager
def chromium(profile: Path, options: Sequence[str] = ()) -> Iterator[Chrome]:
    """Yield a headless browser.

    Parameters
    ----------
    profile
        An empty folder, which it writes to.
    options
        Further command line options.

    Raises
    ------
    NoBrowserError
        Chromium or its driver is not on the path.
    """
    chosen = ChromeOptions()
    chosen.binary_location = _found(BROWSERS)
    width, height = WINDOW
    for option in (
        "--headless=new",
        f"--window-size={width},{height}",
        f"--user-data-dir={profile}",
        # Shared memory of containers is small, and this is one page.
        "--disable-dev-shm-usage",
        *options,
    ):
        chosen.add_argument(option)
    chosen.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if os.geteuid() == 0:
        # Chromium refuses to run as root with its sandbox; the page is our own.
        chosen.add_argument("--no-sandbox")
    driver = Chrome(chosen, ChromeService(_found(DRIVERS)))
    try:
        yield driver
    finally:
        driver.quit()


def _found(names: Sequence[str]) -> str:
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    raise NoBrowserError(f"no {names[0]} on the PATH: run ci/chromium")


def page_bytes(driver: Chrome) -> int:
    """Return the memory of the process that runs the page, in proportional set size.

    It is the largest of those that render; the others are the browser's own.
    """
    service = driver.service.process
    assert service is not None  # noqa: S101 - it was started above
    renderers = [
        process
        for process in psutil.Process(service.pid).children(recursive=True)
        if "--type=renderer" in process.cmdline()
    ]
    return max(pss_bytes([process]) for process in renderers)
