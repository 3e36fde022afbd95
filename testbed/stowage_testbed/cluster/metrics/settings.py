"""How a cluster's usage is measured, and what that asks of the control plane."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.cluster.components import API_SERVER, KWOK
from stowage_testbed.cluster.kwokctl_config import ExtraArgs

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


_PROXY_USER = "kwok-admin"
"""Name in the certificate that kwokctl gives the API server to proxy with."""


def metrics_arguments(workdir: Path) -> ExtraArgs:
    """Return the further arguments of a cluster with metrics.

    KWOK reads its metrics and usages from the API. The API server tells metrics-server
    who really asks, so that both authorise the same user.
    """
    return {
        KWOK: {"enable-crds": "Metric,ClusterResourceUsage"},
        API_SERVER: {
            "requestheader-client-ca-file": str(workdir / "pki" / "ca.crt"),
            "requestheader-allowed-names": _PROXY_USER,
            "requestheader-username-headers": "X-Remote-User",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        },
    }
