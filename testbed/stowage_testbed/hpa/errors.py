"""What can go wrong with a recovery run, every cause with its way out."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class AutoscalerBlindError(StowageError):
    """The autoscaler never had a reading, so that nothing can be said of it."""

    def __init__(self, namespace: str, said: str) -> None:
        super().__init__(
            f"the autoscaler of {namespace} read no usage in the whole run "
            f"({said or 'it says nothing'}); see logs/metrics-server.log and "
            "logs/kube-controller-manager.log in the cluster's folder"
        )
