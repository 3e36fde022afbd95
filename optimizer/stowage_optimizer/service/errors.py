"""What keeps the service from starting or from taking a call."""

from __future__ import annotations

from pathlib import Path

from stowage_optimizer.errors import OptimizerError


class SocketPathTooLongError(OptimizerError):
    """The kernel takes no Unix socket path of this length."""

    def __init__(self, path: Path, length: int, longest: int) -> None:
        super().__init__(
            f"the socket path {path} has {length} bytes, the kernel takes {longest}; "
            "choose a shorter folder for --socket"
        )


class SocketFolderMissingError(OptimizerError):
    """The folder of the socket is not there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"the folder {folder} of the socket does not exist; create it or choose "
            "another --socket"
        )


class SocketInUseError(OptimizerError):
    """Another process serves on the socket already."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"another process serves on {path}; stop it or choose another --socket"
        )


class NotASocketError(OptimizerError):
    """The path of the socket is taken by something else."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} exists and is not a socket; remove it or choose another --socket"
        )


class SocketBindError(OptimizerError):
    """The socket could not be opened."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"cannot serve on {path}: {why}; check the folder's permissions"
        )


class MetricsPortInUseError(OptimizerError):
    """The metrics port is taken."""

    def __init__(self, port: int, why: str) -> None:
        super().__init__(
            f"cannot serve metrics on 127.0.0.1:{port}: {why}; choose another "
            "--metrics-port, or 0 for none"
        )


class WorkerStartError(OptimizerError):
    """The child process did not get ready."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the solver's child process did not get ready: {why}; see the log above, "
            "and check --memory-limit-bytes"
        )


class QueueFullError(OptimizerError):
    """Too many calls wait already."""

    def __init__(self, queue_length: int) -> None:
        super().__init__(
            f"a solve is running and {queue_length} calls wait already; call again "
            "when one has ended"
        )


class TurnTimeoutError(OptimizerError):
    """The call's own time limit passed before its turn came."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(
            f"another solve was still running after the {timeout_s:g} s of this "
            "call's time limit; call again when it has ended"
        )


class RequestTooLargeError(OptimizerError):
    """The request is larger than the service takes."""

    def __init__(self, size: int, largest: int) -> None:
        super().__init__(
            f"the request has {size} bytes, the service takes {largest}; raise "
            "--max-request-bytes or send a smaller snapshot"
        )


class RequestUnreadableError(OptimizerError):
    """The bytes are no request of the contract."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the bytes are no SolveRequest: {why}; caller and service must be built "
            "from the same contract"
        )


class CallLeftError(OptimizerError):
    """The call was ended before its turn came."""

    def __init__(self) -> None:
        super().__init__("the caller went away, or the service stops; call again")
