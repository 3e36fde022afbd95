"""Probes: two ways to ask a container, and when to believe the answer."""

from __future__ import annotations

import asyncio
import http.client
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.environment import expand
from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.manifest import POD_IP, Manifest
from stowage_testbed.hostpods.process import Command, run_to_end

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


OnVerdict = Callable[[bool, Outcome], None]


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
            return await _ask_command(Command(argv, self.env, self.cwd), timeout_s)
        get = probe["httpGet"]
        port = self._port(get["port"])
        if port is None:
            return Outcome(
                ok=False,
                message=f"container {self.container['name']!r} has no port named "
                f"{get['port']!r}; name one under ports, or give the number",
            )
        target = HttpTarget(get.get("scheme", "HTTP"), get.get("host", POD_IP), port, get.get("path", "/"))
        return await asyncio.to_thread(_ask_http, target, timeout_s)

    def _port(self, given: int | str) -> int | None:
        """Return the port's number, also when it is given by name."""
        if isinstance(given, int) or given.isdigit():
            return int(given)
        for port in self.container.get("ports", ()):
            if port.get("name") == given:
                return int(port["containerPort"])
        return None


async def _ask_command(command: Command, timeout_s: float) -> Outcome:
    """Succeed if the command ends with 0 in time."""
    try:
        ended = await run_to_end(command, timeout_s)
    except HostPodsError as error:
        return Outcome(ok=False, message=str(error))
    if ended is None:
        return Outcome(ok=False, message=f"command took longer than {timeout_s:g} s")
    message = f"exit code {ended.code}: {ended.output.strip()}"
    return Outcome(ok=ended.code == 0, message=message)


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """What an HTTP probe asks for."""

    scheme: str
    host: str
    port: int
    path: str

    def connect(self, timeout_s: float) -> http.client.HTTPConnection:
        """Return a connection that is not open yet.

        As with a kubelet, a certificate is not verified: the probe asks whether the
        process answers, not who it is.
        """
        if self.scheme.upper() == "HTTPS":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout_s, context=context)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)

    def __str__(self) -> str:
        return f"{self.scheme.lower()}://{self.host}:{self.port}{self.path}"


def _ask_http(target: HttpTarget, timeout_s: float) -> Outcome:
    """Succeed on a status from 200 to 399 in time."""
    try:
        with closing(target.connect(timeout_s)) as connection:
            connection.request("GET", target.path, headers={"Accept": "*/*"})
            response = connection.getresponse()
            body = response.read(BODY_BYTES).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return Outcome(ok=False, message=f"{target}: {error}")
    ok = OK_FROM <= response.status < OK_BELOW
    return Outcome(ok, f"{target}: {response.status} {body}")


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
        needed = self.success if ok else self.failure
        return ok if self._in_a_row >= needed else None


@dataclass(slots=True)
class Prober:
    """Probes every period and reports its verdicts, with the API's own defaults.

    ``on_failure`` receives each new failure message, long before there is a verdict.
    """

    kind: str
    probe: Manifest
    probed: Probed
    clock: LoopClock
    on_failure: Callable[[str], None] = lambda _: None
    _said: str = ""

    async def run(self, on_verdict: OnVerdict) -> None:
        """Probe until cancelled; ``on_verdict`` receives every verdict."""
        thresholds = self._thresholds()
        async for outcome in self._outcomes():
            verdict = thresholds.record(ok=outcome.ok)
            if verdict is not None:
                on_verdict(verdict, outcome)

    async def until_success(self, failed: Callable[[Outcome], None]) -> None:
        """Probe until it succeeds; ``failed`` receives each negative verdict.

        Periods are whole seconds, which is long for a process that is up after a
        tenth of one. So this probes again within the period, which counts once.
        """
        thresholds = self._thresholds()
        await self.clock.pause(self.probe.get("initialDelaySeconds", 0))
        while True:
            due = self.clock.now() + self.probe.get("periodSeconds", DEFAULT_PERIOD_S)
            outcome = await self._ask()
            while not outcome.ok and self.clock.now() < due:
                await self.clock.pause(QUICK_S)
                outcome = await self._ask()
            if outcome.ok:
                return
            if thresholds.record(ok=False) is False:
                failed(outcome)

    async def _outcomes(self) -> AsyncIterator[Outcome]:
        """Ask once a period, counted from the start of one asking to the next."""
        await self.clock.pause(self.probe.get("initialDelaySeconds", 0))
        while True:
            asked = self.clock.now()
            yield await self._ask()
            due = asked + self.probe.get("periodSeconds", DEFAULT_PERIOD_S)
            await self.clock.pause(max(0.0, due - self.clock.now()))

    def _thresholds(self) -> Thresholds:
        return Thresholds(success=self.probe.get("successThreshold", 1), failure=self.probe.get("failureThreshold", 3))

    async def _ask(self) -> Outcome:
        outcome = await self.probed.ask(self.probe)
        if not outcome.ok and outcome.message != self._said:
            self._said = outcome.message
            name = self.probed.container["name"]
            _log.info("%s probe of %s failed: %s", self.kind, name, outcome.message)
            self.on_failure(f"{self.kind} probe failed: {outcome.message}")
        return outcome
