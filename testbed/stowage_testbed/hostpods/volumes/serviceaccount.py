"""Service account tokens, renewed before they expire."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.objects import Objects, Token
from stowage_testbed.hostpods.volumes.payload import FileContent, Payload

DEFAULT_LIFETIME_S = 3600
RENEW_AT = 0.8
"""A kubelet asks for a new token when 80 % of the old one's life has passed."""
TOKEN_MODE = 0o600


@dataclass(frozen=True, slots=True)
class _Held:
    token: Token
    renew: datetime


@dataclass(slots=True)
class TokenSource:
    """The tokens of one pod, one a path; asked for when first needed or nearly over."""

    objects: Objects
    clock: LoopClock
    _held: dict[str, _Held] = field(default_factory=dict)

    async def payload(self, pod: Manifest, source: Manifest) -> Payload:
        """Return a good token as a file that only its owner can read."""
        path = str(source["path"])
        held = self._held.get(path)
        if held is None or self.clock.wall() >= held.renew:
            held = await self._ask(pod, source)
            self._held[path] = held
        return {path: FileContent(held.token.value.encode(), TOKEN_MODE)}

    async def _ask(self, pod: Manifest, source: Manifest) -> _Held:
        lifetime_s = int(source.get("expirationSeconds", DEFAULT_LIFETIME_S))
        asked = self.clock.wall()
        token = await self.objects.token(pod, source.get("audience"), lifetime_s)
        granted_s = (token.expires - asked).total_seconds()
        return _Held(token, asked + timedelta(seconds=granted_s * RENEW_AT))
