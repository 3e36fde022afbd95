"""A headless browser for the page, the distribution's own Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import Page
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WINDOW = "1280,1000"


def _found(*names: str) -> str:
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    reason = f"no {names[0]} on the PATH: run ci/chromium"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    options = ChromeOptions()
    options.binary_location = _found(*BROWSERS)
    options.add_argument("--headless=new")
    options.add_argument(f"--window-size={WINDOW}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    # Shared memory of containers is small, and this is one page.
    options.add_argument("--disable-dev-shm-usage")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if os.geteuid() == 0:
        # Chromium refuses to run as root with its sandbox; the page is our own file.
        options.add_argument("--no-sandbox")
    driver = Chrome(options, ChromeService(_found("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def open_page(browser: Chrome, tmp_path: Path) -> Callable[[str], Page]:
    def opened(text: str) -> Page:
        file = tmp_path / "report.html"
        file.write_text(text, encoding="utf-8")
        browser.get(file.as_uri())
        return Page(browser)

    return opened
