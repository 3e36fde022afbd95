"""What is kept of one recovery run: all that its metrics and pictures are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from stowage_testbed.hpa.load import Recovery, recovery
from stowage_testbed.hpa.model.load_window import LoadWindow
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.hpa.timeline import PodCount, Replicas


@dataclass(frozen=True, slots=True)
class HpaRecord:
    """One recovery run with one scheduler: the levels of FIND and the windows of HOLD.

    Times are seconds from the start of FIND on the receipt clock. What was measured of the pods themselves is in the
    `RunRecord` of the same run. Its window is HOLD: only pods created after its start have latencies (section 5.2.2).
    """

    settings: RecoverySettings
    find: tuple[LoadWindow, ...]
    hold: tuple[LoadWindow, ...]
    replicas: tuple[Replicas, ...]
    pods: tuple[PodCount, ...]

    @property
    def clients(self) -> int:
        """The load of HOLD."""
        return self.find[-1].clients

    @property
    def hold_start_s(self) -> float:
        """When HOLD began, the time that recovery counts from."""
        return self.hold[0].start_s

    @property
    def recovery(self) -> Recovery:
        """What became of the service."""
        return recovery(self.hold, self.settings.hold.streak)

    def document(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the record of a document that `document` gave."""
        return cls(
            settings=RecoverySettings.of(document["settings"]),
            find=tuple(LoadWindow(**window) for window in document["find"]),
            hold=tuple(LoadWindow(**window) for window in document["hold"]),
            replicas=tuple(Replicas(**point) for point in document["replicas"]),
            pods=tuple(PodCount(**point) for point in document["pods"]),
        )
