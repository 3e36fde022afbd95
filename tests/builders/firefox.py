"""Firefox without a window, spoken to by its own protocol, WebDriver BiDi.

The driver that selenium wants for it is in no distribution's packages.
"""

from __future__ import annotations

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
from websocket import WebSocket, create_connection

from stowage_testbed.base.wait import HANG_S, wait_until

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
        return wait_until(what, lambda: self.run(script), bool, timeout_s=HANG_S)

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
                timeout_s=HANG_S,
            )
            assert found is not None, log.read_text("utf-8", errors="replace")
            address = f"{found[1]}/session"
            # It talks to programs only, which have no origin.
            socket = create_connection(address, suppress_origin=True, timeout=HANG_S)
            with closing(socket):
                yield Firefox(socket)
        finally:
            process.terminate()
