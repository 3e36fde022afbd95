"""Probes: two ways to ask a container, and when to believe the answer."""

from __future__ import annotations

import asyncio
import http.client
import logging
import ssl
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.hostpods.node import HostPodsError, LoopClock, Manifest
from stowage_testbed.hostpods.process import Command, expand, run_to_end
from stowage_testbed.hostpods.status import POD_IP

DEFAULT_PERIOD_S = 10
QUICK_S = 0.1
BODY_BYTES = 512
OK_FROM, OK_BELOW = 200, 400

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one probe found out: success or failure, and what was seen."""

    ok: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Probed:
    """The container that a probe asks."""

    container: Manifest
    env: Mapping[str, str]
    cwd: Path

    async def ask(self, probe: Manifest) -> Outcome:
        """Carry out a probe's action once; what cannot be done is a failure."""
        timeout_s = probe.get("timeoutSeconds", 1)
        if "exec" in probe:
            argv = [expand(part, self.env) for part in probe["exec"]["command"]]
            try:
                ended = await run_to_end(Command(argv, self.env, self.cwd), timeout_s)
            except HostPodsError as error:
                return Outcome(ok=False, message=str(error))
            if ended is None:
                return Outcome(ok=False, message=f"command took longer than {timeout_s:g} s")
            return Outcome(ended.code == 0, f"exit code {ended.code}: {ended.output.strip()}")
        given = probe["httpGet"]["port"]
        named = {one.get("name"): one["containerPort"] for one in self.container.get("ports", ())}
        port = given if str(given).isdigit() else named.get(given)
        if port is None:
            return Outcome(
                ok=False,
                message=f"container {self.container['name']!r} has no port named {given!r}; "
                "name one under ports, or give the number",
            )
        return await asyncio.to_thread(_ask_http, probe["httpGet"], int(port), timeout_s)


def _ask_http(get: Manifest, port: int, timeout_s: float) -> Outcome:
    """Succeed on a status from 200 to 399 in time."""
    host, path = get.get("host", POD_IP), get.get("path", "/")
    scheme = get.get("scheme", "HTTP").lower()
    url = f"{scheme}://{host}:{port}{path}"
    connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    if scheme == "https":
        # As with a kubelet, a certificate is not verified: whether the process answers is asked, not who it is.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context)
    try:
        with closing(connection):
            connection.request("GET", path, headers={"Accept": "*/*"})
            response = connection.getresponse()
            body = response.read(BODY_BYTES).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return Outcome(ok=False, message=f"{url}: {error}")
    return Outcome(OK_FROM <= response.status < OK_BELOW, f"{url}: {response.status} {body}")


@dataclass(slots=True)
class Thresholds:
    """Counts equal answers in a row and gives a verdict when there are enough."""

    success: int
    failure: int
    _last: bool | None = None
    _in_a_row: int = 0

    def record(self, *, ok: bool) -> bool | None:
        """Take one answer; return the verdict, or ``None`` while it is open."""
        self._in_a_row = self._in_a_row + 1 if ok == self._last else 1
        self._last = ok
        return ok if self._in_a_row >= (self.success if ok else self.failure) else None


@dataclass(slots=True)
class Prober:
    """Probes every period, with the API's own defaults; ``on_failure`` receives each new failure message at once."""

    kind: str
    probe: Manifest
    probed: Probed
    clock: LoopClock
    on_failure: Callable[[str], None] = lambda _: None
    _said: str = ""

    async def run(self, on_verdict: Callable[[bool, Outcome], None]) -> None:
        """Probe until cancelled, once a period from start to start; ``on_verdict`` receives every verdict."""
        thresholds = self._thresholds()
        await self.clock.pause(self.probe.get("initialDelaySeconds", 0))
        while True:
            due = self._next_due()
            outcome = await self._ask()
            verdict = thresholds.record(ok=outcome.ok)
            if verdict is not None:
                on_verdict(verdict, outcome)
            await self.clock.pause(max(0.0, due - self.clock.now()))

    async def until_success(self, failed: Callable[[Outcome], None]) -> None:
        """Probe until it succeeds; ``failed`` receives each negative verdict.

        Periods are whole seconds, which is long for a process that is up after a tenth of one. So this probes again
        within the period, which counts once.
        """
        thresholds = self._thresholds()
        await self.clock.pause(self.probe.get("initialDelaySeconds", 0))
        while True:
            due = self._next_due()
            outcome = await self._ask()
            while not outcome.ok and self.clock.now() < due:
                await self.clock.pause(QUICK_S)
                outcome = await self._ask()
            if outcome.ok:
                return
            if thresholds.record(ok=False) is False:
                failed(outcome)

    def _next_due(self) -> float:
        return self.clock.now() + float(self.probe.get("periodSeconds", DEFAULT_PERIOD_S))

    def _thresholds(self) -> Thresholds:
        return Thresholds(success=self.probe.get("successThreshold", 1), failure=self.probe.get("failureThreshold", 3))

    async def _ask(self) -> Outcome:
        outcome = await self.probed.ask(self.probe)
        if not outcome.ok and outcome.message != self._said:
            self._said = outcome.message
            _log.info("%s probe of %s failed: %s", self.kind, self.probed.container["name"], outcome.message)
            self.on_failure(f"{self.kind} probe failed: {outcome.message}")
        return outcome
