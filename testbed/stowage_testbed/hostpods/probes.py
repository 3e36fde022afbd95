"""Probes: two ways to ask a container, and when to believe the answer."""

import asyncio
import http.client
import logging
import ssl
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.hostpods.node import HostPodsError, LoopClock, Manifest
from stowage_testbed.hostpods.process import expand, run_to_end
from stowage_testbed.hostpods.status import POD_IP

DEFAULT_PERIOD_S = 10
QUICK_S = 0.1
BODY_BYTES = 512
OK_FROM, OK_BELOW = 200, 400

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Prober:
    """Asks a container by one of its probes every period, with the API's own defaults.

    ``kind`` is startup, readiness or liveness; ``on_failure`` receives each new failure message at once.
    """

    kind: str
    container: Manifest
    env: Mapping[str, str]
    cwd: Path
    clock: LoopClock
    on_failure: Callable[[str], None] = lambda _: None
    _said: str = ""
    _last: bool | None = None
    _in_a_row: int = 0

    @property
    def probe(self) -> Manifest:
        """The probe as the pod has it."""
        probe: Manifest = self.container[f"{self.kind}Probe"]
        return probe

    async def run(self, on_verdict: Callable[[str], None]) -> None:
        """Probe until cancelled, once a period from start to start.

        ``on_verdict`` receives the last failure, or an empty text, whenever there are enough of a kind in a row.
        """
        await self.clock.pause(self.probe.get("initialDelaySeconds", 0))
        while True:
            due = self._next_due()
            failure = await self._notice()
            if self.decides(ok=not failure):
                on_verdict(failure)
            await self.clock.pause(max(0.0, due - self.clock.now()))

    async def until_success(self, failed: Callable[[str], None]) -> None:
        """Probe until it succeeds; ``failed`` receives the last failure whenever there are enough in a row.

        Periods are whole seconds, which is long for a process that is up after a tenth of one. So this probes again
        within the period, which counts once.
        """
        await self.clock.pause(self.probe.get("initialDelaySeconds", 0))
        while True:
            due = self._next_due()
            while (failure := await self._notice()) and self.clock.now() < due:
                await self.clock.pause(QUICK_S)
            if not failure:
                return
            if self.decides(ok=False):
                failed(failure)

    def decides(self, *, ok: bool) -> bool:
        """Count one answer; return whether there have been as many such in a row as the probe asks for."""
        self._in_a_row = self._in_a_row + 1 if ok == self._last else 1
        self._last = ok
        enough = self.probe.get("successThreshold", 1) if ok else self.probe.get("failureThreshold", 3)
        return bool(self._in_a_row >= enough)

    def _next_due(self) -> float:
        return self.clock.now() + float(self.probe.get("periodSeconds", DEFAULT_PERIOD_S))

    async def _notice(self) -> str:
        failure = await self.ask()
        if failure and failure != self._said:
            self._said = failure
            _log.info("%s probe of %s failed: %s", self.kind, self.container["name"], failure)
            self.on_failure(f"{self.kind} probe failed: {failure}")
        return failure

    async def ask(self) -> str:
        """Ask once; return why the probe failed or could not be carried out, empty if neither."""
        probe = self.probe
        timeout_s = probe.get("timeoutSeconds", 1)
        if "exec" in probe:
            argv = [expand(part, self.env) for part in probe["exec"]["command"]]
            try:
                ended = await run_to_end(argv, self.env, self.cwd, timeout_s)
            except HostPodsError as error:
                return str(error)
            if ended is None:
                return f"command took longer than {timeout_s:g} s"
            code, output = ended
            return f"exit code {code}: {output.strip()}" if code else ""
        given = probe["httpGet"]["port"]
        named = {one.get("name"): one["containerPort"] for one in self.container.get("ports", ())}
        port = given if str(given).isdigit() else named.get(given)
        if port is None:
            return (
                f"container {self.container['name']!r} has no port named {given!r}; "
                "name one under ports, or give the number"
            )
        return await asyncio.to_thread(_ask_http, probe["httpGet"], int(port), timeout_s)


def _ask_http(get: Manifest, port: int, timeout_s: float) -> str:
    """Return why there is no status from 200 to 399 in time; empty if there is."""
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
        return f"{url}: {error}"
    return "" if OK_FROM <= response.status < OK_BELOW else f"{url}: {response.status} {body}"
