"""Why a pod's container cannot start, or the API server cannot be used."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class HostPodsError(StowageError):
    """The base of this room's errors.

    ``reason`` is the word that a waiting container's status shows.
    """

    reason = "HostPodsError"


class ContainerCannotStartError(HostPodsError):
    """A container has to wait."""

    reason = "CreateContainerError"


class NoHostCommandError(ContainerCannotStartError):
    """The container names an image only, and there are no images here."""

    reason = "ImageHasNoHostCommand"

    def __init__(self, container: str, image: str) -> None:
        super().__init__(
            f"container {container!r} has no command: host pods run commands of this "
            f"machine, never image {image!r}; set the container's command to a local "
            "program"
        )


class CommandNotStartedError(ContainerCannotStartError):
    """The operating system refused to start the command."""

    reason = "CreateContainerError"

    def __init__(self, program: str, cause: str) -> None:
        super().__init__(
            f"cannot start {program!r}: {cause}; the command must be an executable of "
            "this machine, best by its absolute path"
        )


class EnvironmentSourceError(ContainerCannotStartError):
    """A variable refers to something that does not exist."""

    reason = "CreateContainerConfigError"


class MountRefusedError(ContainerCannotStartError):
    """A volume cannot be shown to the process where the container wants it."""

    reason = "MountRefused"


class VolumeNotReadyError(ContainerCannotStartError):
    """A volume's source is missing or of a kind that has no place on a host."""

    reason = "VolumeNotReady"


class FeatureNotSupportedError(ContainerCannotStartError):
    """The pod asks for something that a process on the host cannot be given."""

    reason = "NotSupportedOnHost"


class ApiRefusedError(HostPodsError):
    """The API server answered with an error."""

    reason = "ApiServerRefused"

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        self.status = status
        super().__init__(
            f"{method} {path} was refused with {status}: {message}; see the API "
            "server's log in the cluster's work directory"
        )


class ApiUnreachableError(HostPodsError):
    """The API server did not answer."""

    reason = "ApiServerUnreachable"

    def __init__(self, method: str, path: str, cause: str) -> None:
        super().__init__(
            f"{method} {path} got no answer: {cause}; is the cluster up, and does the "
            "kubeconfig name its address?"
        )
