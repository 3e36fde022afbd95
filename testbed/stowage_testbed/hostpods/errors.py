"""Why a pod has to wait, or the API server cannot be used."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class HostPodsError(StowageError):
    """Something without which a pod cannot go on.

    Parameters
    ----------
    reason
        The word that a waiting container's status shows.
    message
        The cause, and the way out.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class ApiRefusedError(HostPodsError):
    """The API server answered with an error."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        self.status = status
        super().__init__(
            "ApiServerRefused",
            f"{method} {path} was refused with {status}: {message}; see the API "
            "server's log in the cluster's work directory",
        )


class ApiUnreachableError(HostPodsError):
    """The API server did not answer."""

    def __init__(self, method: str, path: str, cause: str) -> None:
        super().__init__(
            "ApiServerUnreachable",
            f"{method} {path} got no answer: {cause}; is the cluster up, and does the "
            "kubeconfig name its address?",
        )
