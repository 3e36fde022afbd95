"""How a cluster's usage is measured."""

from __future__ import annotations

from dataclasses import dataclass

SHORTEST_RESOLUTION_S = 10
"""What metrics-server accepts at least."""

DEFAULT_RESOLUTION_S = 15
"""What metrics-server's own manifests set."""


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """Settings of metrics-server.

    Attributes
    ----------
    resolution_s
        Seconds between two scrapes. A new pod has a reading after its second one, or
        after its first if it is more than 10 s old then.

    Raises
    ------
    ValueError
        metrics-server would refuse the resolution.
    """

    resolution_s: int = DEFAULT_RESOLUTION_S

    def __post_init__(self) -> None:
        if self.resolution_s < SHORTEST_RESOLUTION_S:
            raise ValueError(
                f"metrics-server scrapes every {SHORTEST_RESOLUTION_S} s at most, "
                f"not every {self.resolution_s} s"
            )
