"""One probe of one container, repeated until the container ends."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.errors import FeatureNotSupportedError
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.probes.action import ActionContext, ask
from stowage_testbed.hostpods.probes.outcome import Outcome
from stowage_testbed.hostpods.probes.thresholds import Thresholds

DEFAULT_PERIOD_S = 10
QUICK_S = 0.1

_log = logging.getLogger(__name__)

OnVerdict = Callable[[bool, Outcome], None]


@dataclass(slots=True)
class Prober:
    """Probes every period and reports its verdicts, with the API's own defaults.

    ``on_failure`` receives each new failure message, long before there is a verdict.
    """

    kind: str
    probe: Manifest
    context: ActionContext
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
        return Thresholds(
            success=self.probe.get("successThreshold", 1),
            failure=self.probe.get("failureThreshold", 3),
        )

    async def _ask(self) -> Outcome:
        timeout_s = self.probe.get("timeoutSeconds", 1)
        try:
            outcome = await ask(self.probe, self.context, timeout_s)
        except FeatureNotSupportedError as error:
            outcome = Outcome(ok=False, message=str(error))
        if not outcome.ok and outcome.message != self._said:
            self._said = outcome.message
            name = self.context.container["name"]
            _log.info("%s probe of %s failed: %s", self.kind, name, outcome.message)
            self.on_failure(f"{self.kind} probe failed: {outcome.message}")
        return outcome
