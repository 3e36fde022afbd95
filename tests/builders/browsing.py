"""The report's page as a reader uses it."""

from __future__ import annotations

from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from stowage_testbed.base.wait import HANG_S

LISTED_TIMEOUT_S = HANG_S


class Page:
    """An open page."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def choose(self, control: str, text: str) -> None:
        Select(self.find(f"#{control}")).select_by_visible_text(text)

    def press(self, selector: str, *keys: str) -> None:
        self.find(selector).send_keys(*keys)

    def to_the_start(self) -> None:
        self.press("#time", Keys.HOME)

    @property
    def time(self) -> str:
        return self.find("#now").text

    def bars(self, arm: str) -> list[WebElement]:
        return self.all(f'.panel[data-arm="{arm}"] .bar')

    def choose_bar(self, arm: str, index: int) -> None:
        # The name below a bar may reach under its neighbours.
        self.bars(arm)[index].find_element(By.CSS_SELECTOR, ".area").click()

    def bar_labels(self, arm: str) -> list[str]:
        return [bar.get_attribute("aria-label") or "" for bar in self.bars(arm)]

    def listed_pods(self) -> list[list[str]]:
        """Return the cells of the chosen node's table."""
        rows: list[list[str]] = self.run(
            "return [...document.querySelectorAll('#node .pods tbody tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.innerText))"
        )
        return rows

    def opened_pods(self, group: WebElement) -> list[list[str]]:
        """Open a group of the chosen bar, and return its pods once they are listed.

        A browser tells a page of an opened group a moment later.
        """
        group.find_element(By.CSS_SELECTOR, "summary").click()
        WebDriverWait(self.driver, LISTED_TIMEOUT_S).until(
            lambda _: self.listed_pods(), "the group was opened and lists no pod"
        )
        return self.listed_pods()

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def errors(self) -> list[str]:
        """Return what the browser logged: errors, and what the policy forbade.

        It also logs what befalls pages of its own, like the one that it starts with.
        """
        log = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        messages: list[str] = [entry["message"] for entry in log]
        return [said for said in messages if not said.startswith("chrome://")]
