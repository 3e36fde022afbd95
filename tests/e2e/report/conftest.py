"""A headless browser for the page, the distribution's own Chromium."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from browsing import Page
from selenium.webdriver import Chrome

from benchmarks.page.browser import NoBrowserError, chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with ExitStack() as stack:
        try:
            driver = stack.enter_context(chromium(tmp_path_factory.mktemp("profile")))
        except NoBrowserError as error:
            if os.environ.get("CI"):
                pytest.fail(str(error))
            pytest.skip(str(error))
        yield driver


@pytest.fixture
def open_page(browser: Chrome, tmp_path: Path) -> Callable[[str], Page]:
    def opened(text: str) -> Page:
        file = tmp_path / "report.html"
        file.write_text(text, encoding="utf-8")
        browser.get(file.as_uri())
        return Page(browser)

    return opened
