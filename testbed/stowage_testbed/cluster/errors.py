"""What can go wrong with a cluster, one class a cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import RUN_ENDED, StowageError


class ClusterNameError(StowageError):
    """A name cannot be a cluster's."""

    def __init__(self, name: str, rule: str) -> None:
        super().__init__(f"{name!r} cannot name a cluster: {rule}")


class ClusterBusyError(StowageError):
    """Another live process owns the cluster."""

    def __init__(self, name: str, pid: int) -> None:
        self.pid = pid
        super().__init__(
            f"cluster {name!r} belongs to process {pid}, which is still running; "
            "wait for it, or choose another name"
        )


class ClusterExistsError(StowageError):
    """The cluster is up already."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"cluster {name!r} is up already; use it, choose another name, "
            f"or run: stowage down {name}"
        )


class ClusterMissingError(StowageError):
    """There is no cluster of that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        there = f"there are {', '.join(known)}" if known else "there is none"
        super().__init__(f"no cluster {name!r} ({there}); run: stowage up {name}")


class ContainersUnreachableError(StowageError):
    """The engine that has a cluster's containers does not answer."""

    def __init__(self, cluster: str, engine: str, why: str) -> None:
        super().__init__(
            f"the containers of cluster {cluster!r} cannot be removed, as the Docker "
            f"engine {engine or 'of this machine'} does not answer ({why}); start it, "
            "or remove the cluster's folder by hand if the engine is gone for good"
        )


class BackendLacksError(StowageError):
    """A kind of cluster cannot give what it is asked for."""

    def __init__(self, backend: str, need: str, why: str) -> None:
        super().__init__(
            f"a cluster of {backend} has no {need}: {why}; use --backend kwok-binary"
        )


class PortInUseError(StowageError):
    """A port that was asked for is taken."""

    def __init__(self, port: int, holder: str) -> None:
        self.port = port
        super().__init__(
            f"port {port} of 127.0.0.1 is in use by {holder}; "
            "name another with --port, or leave it out to get a free one"
        )


class PortsExhaustedError(StowageError):
    """No free port was found."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__(
            f"no free port between {first} and {last}; "
            "run: stowage purge, or stop what holds them"
        )


class ComponentFailedError(StowageError):
    """A component of the control plane ended before the cluster was ready."""

    def __init__(
        self, cluster: str, component: str, log: Path, tail: Sequence[str]
    ) -> None:
        self.component = component
        self.tail = tuple(tail)
        text = "\n  ".join(tail) or "(it wrote nothing)"
        super().__init__(
            f"cluster {cluster!r} did not start: {component} ended. Its last lines "
            f"({log.name}):\n  {text}"
        )


class StartTimeoutError(StowageError):
    """The control plane runs but did not become ready in time."""

    def __init__(
        self, cluster: str, timeout_s: float, state: str, tail: Sequence[str]
    ) -> None:
        text = "\n  ".join(tail) or "(it wrote nothing)"
        super().__init__(
            f"cluster {cluster!r} was not ready within {timeout_s:g} s: {state}. "
            f"The last lines of kube-apiserver:\n  {text}\n"
            "on a slow or busy machine run it again"
        )


class ProcessesSurviveError(StowageError):
    """Processes of a cluster did not end although they were killed."""

    def __init__(self, name: str, pids: Sequence[int]) -> None:
        super().__init__(
            f"processes {', '.join(map(str, pids))} of cluster {name!r} did not end; "
            "they may hang in the kernel: see what they wait for with ps"
        )


class NodeSpecError(StowageError):
    """A short node spec cannot be read; the message has every issue."""

    def __init__(self, spec: str, issues: Sequence[str]) -> None:
        self.issues = tuple(issues)
        super().__init__(
            f"--nodes {spec!r}: {'; '.join(issues)}. "
            "Write for example: count=3,cpu=4,memory=8Gi,zones=a|b"
        )


class NodePoolError(StowageError):
    """A node pool's sizes make no node."""

    def __init__(self, prefix: str, issues: Sequence[str]) -> None:
        self.issues = tuple(issues)
        super().__init__(f"node pool {prefix!r}: {'; '.join(issues)}")


class NodesNotReadyError(StowageError):
    """Nodes were created but did not become Ready."""

    def __init__(self, names: Sequence[str], timeout_s: float) -> None:
        self.names = tuple(names)
        super().__init__(
            f"{len(names)} nodes were not Ready within {timeout_s:g} s, "
            f"{names[0]} the first of them; "
            "see logs/kwok-controller.log in the cluster's folder"
        )


class RunEndedError(StowageError):
    """What a run needs is gone, so that it cannot go on.

    The base of the causes: no verdict on what was run.
    """

    exit_code = RUN_ENDED


class ProcessEndedError(RunEndedError):
    """A process of the cluster ended while a run worked with it."""

    def __init__(self, name: str, how: str, log: Path, tail: Sequence[str]) -> None:
        self.name = name
        text = "\n  ".join(tail) or "(it wrote nothing)"
        super().__init__(
            f"{name} has ended{f' ({how})' if how else ''}, and the run with it. "
            f"Its last lines ({log.name}):\n  {text}"
        )


class ThreadEndedError(RunEndedError):
    """A thread that observes ended while a run relied on it."""

    def __init__(self, name: str, how: str, tail: Sequence[str] = ()) -> None:
        self.name = name
        lines = "".join(f"\n  {line}" for line in tail)
        super().__init__(f"{name} has ended ({how}), and the run with it.{lines}")


class DiskFullError(RunEndedError):
    """There is no room for what a run writes."""

    def __init__(self, why: str, folder: Path) -> None:
        self.folder = folder
        super().__init__(
            f"{why}, and the run ends before its results break; make room in {folder}, "
            "or choose other folders with --results and STOWAGE_CACHE"
        )
