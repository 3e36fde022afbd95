"""What can go wrong when a cluster is asked about, one class a cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import StowageError


class NotAListError(StowageError):
    """A file is not what kubectl prints."""

    exit_code = 2

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path}: {why}; make it with: kubectl get nodes,pods,pdb -A -o json"
        )


class NotValuesError(StowageError):
    """A file does not hold values of the chart."""

    exit_code = 2

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path}: {why}; make it with: helm get values --all -o yaml stowage "
            "--namespace stowage-system"
        )


class NothingToAskError(StowageError):
    """There is no cluster to ask about."""

    exit_code = 2

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"there are no {missing} in what was read; what-if needs at least the "
            "cluster's nodes and pods, of all namespaces"
        )


class NoContextError(StowageError):
    """The kubeconfig has no such context."""

    exit_code = 2

    def __init__(self, context: str | None, why: str) -> None:
        asked = f"context {context!r}" if context else "the kubeconfig's own context"
        super().__init__(
            f"{asked} cannot be used: {why}; kubectl config get-contexts lists those "
            "that there are"
        )


class ReadingRefusedError(StowageError):
    """The API server does not let us read what is needed at least."""

    def __init__(self, kinds: Sequence[str], why: str) -> None:
        super().__init__(
            f"the API server lets nobody list {' and '.join(kinds)} ({why}); what-if "
            "needs a ClusterRole with the verb list on nodes, pods and "
            "poddisruptionbudgets, and writes nothing"
        )


class ApiServerGoneError(StowageError):
    """The API server does not answer."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the API server does not answer ({why}); try: kubectl get nodes, or give "
            "the objects as files with --file"
        )
