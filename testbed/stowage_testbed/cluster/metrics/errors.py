"""What can go wrong with a cluster's metrics, every cause with its way out."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class MetricsMissingError(StowageError):
    """A cluster has no metrics-server."""

    def __init__(self, cluster: str) -> None:
        super().__init__(
            f"cluster {cluster!r} measures no usage; "
            f"bring one up that does with: stowage up NAME --metrics"
        )


class MeterError(StowageError):
    """A fake node does not report its usage."""

    def __init__(self, node: str, answer: str) -> None:
        super().__init__(
            f"the fake kubelet of node {node!r} gave no reading ({answer}); "
            "see logs/kwok-controller.log in the cluster's folder"
        )
