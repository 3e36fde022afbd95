"""A headless browser for the page, the distribution's own Chromium."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import Page, headless_chromium
from selenium.webdriver import Chrome


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with headless_chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def open_page(browser: Chrome, tmp_path: Path) -> Callable[[str], Page]:
    def opened(text: str) -> Page:
        file = tmp_path / "report.html"
        file.write_text(text, encoding="utf-8")
        browser.get(file.as_uri())
        return Page(browser)

    return opened
