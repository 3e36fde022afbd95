"""Pages as a reader uses them, in headless browsers.

Firefox is spoken to by its own protocol, WebDriver BiDi: the driver that selenium
wants for it is in no distribution's packages.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait
from websocket import WebSocket, create_connection

from stowage_testbed.base.wait import HANG_S, wait_until

LISTED_TIMEOUT_S = HANG_S
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WINDOW = "1280,1000"
AXE = "const done = arguments[0]; axe.run().then((found) => done(found.violations));"


@contextmanager
def headless_chromium(profile: Path) -> Iterator[Chrome]:
    """Run the distribution's own Chromium for the block."""
    options = ChromeOptions()
    options.binary_location = _found(*BROWSERS)
    options.add_argument("--headless=new")
    options.add_argument(f"--window-size={WINDOW}")
    options.add_argument(f"--user-data-dir={profile}")
    # Shared memory of containers is small, and this is one page.
    options.add_argument("--disable-dev-shm-usage")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if os.geteuid() == 0:
        # Chromium refuses to run as root with its sandbox; the page is our own.
        options.add_argument("--no-sandbox")
    driver = Chrome(options, ChromeService(_found("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def _found(*names: str) -> str:
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    reason = f"no {names[0]} on the PATH: run ci/browsers"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


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

    def until(self, what: str, script: str, *arguments: object) -> Any:
        """Return what a script returns, once that is something."""
        return WebDriverWait(self.driver, HANG_S).until(lambda driver: driver.execute_script(script, *arguments), what)

    def in_the_dark(self, *, dark: bool) -> None:
        """Have the reader prefer dark pages, or light ones."""
        value = "dark" if dark else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def violations(self) -> list[str]:
        """Return what axe finds wrong with the page, and where."""
        engine = files("axe_core_python") / "axe.min.js"
        self.driver.execute_script(engine.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(AXE)
        return [f"{one['id']}: {node['html']}" for one in found for node in one["nodes"]]

    def errors(self) -> list[str]:
        """Return what the browser logged: errors, and what the policy forbade.

        It also logs what befalls pages of its own, like the one that it starts with.
        """
        log = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        messages: list[str] = [entry["message"] for entry in log]
        return [said for said in messages if not said.startswith("chrome://")]


_LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class Firefox:
    """One tab.

    Attributes
    ----------
    errors
        What the page wrote into the browser's log as an error.
    """

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        (tab,) = self._ask("browsingContext.getTree")["contexts"]
        self._tab: str = tab["context"]

    def open(self, address: str) -> None:
        """Go to an address, and wait until all of it is there."""
        self._ask("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def run(self, script: str) -> Any:
        """Return what the body of a function returns, or what it promises."""
        wrapped = f"(async () => JSON.stringify(await (async () => {{{script}}})()))()"
        answer = self._ask("script.evaluate", expression=wrapped, target={"context": self._tab}, awaitPromise=True)
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        value = answer["result"].get("value")
        return None if value is None else json.loads(value)

    def until(self, what: str, script: str) -> Any:
        """Return what a script returns, once that is something."""
        return wait_until(what, lambda: self.run(script), bool)

    def violations(self) -> list[str]:
        """Return what axe finds wrong with the page."""
        engine = files("axe_core_python") / "axe.min.js"
        self.run(engine.read_text(encoding="utf-8"))
        found = self.run("return (await axe.run()).violations.map((one) => one.id)")
        return [str(one) for one in found]

    def _ask(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": parameters}
        self._socket.send(json.dumps(command))
        while True:
            said = json.loads(self._socket.recv())
            if said.get("id") == number:
                assert "error" not in said, said
                return said["result"]
            entry = said.get("params", {})
            if said.get("method") == "log.entryAdded" and entry["level"] == "error":
                self.errors.append(entry["text"])


@contextmanager
def headless_firefox(profile: Path) -> Iterator[Firefox]:
    """Run the distribution's own Firefox for the block."""
    program = shutil.which("firefox") or shutil.which("firefox-esr")
    if program is None:
        reason = "no firefox on the PATH: run ci/browsers"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    command = [
        program, "--headless", "--no-remote", "--profile", str(profile),
        "--remote-debugging-port", "0",
    ]  # fmt: skip
    log = profile / "stderr"
    with log.open("wb") as written, subprocess.Popen(command, stdout=written, stderr=written) as process:
        try:
            found = wait_until(
                "Firefox to listen",
                lambda: _LISTENS.search(log.read_text("utf-8", errors="replace")),
                lambda found: found is not None or process.poll() is not None,
            )
            assert found is not None, log.read_text("utf-8", errors="replace")
            address = f"{found[1]}/session"
            # It talks to programs only, which have no origin.
            socket = create_connection(address, suppress_origin=True, timeout=HANG_S)
            with closing(socket):
                yield Firefox(socket)
        finally:
            process.terminate()
