"""What the measuring of usage asks of the control plane."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.cluster.components import API_SERVER, KWOK
from stowage_testbed.cluster.kwokctl_config import ExtraArgs

DEFAULT_RESOLUTION_S = 15
"""Between two scrapes, as metrics-server's own manifests have it; 10 is the least."""

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
