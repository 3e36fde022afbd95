"""The cluster of a session of pytest: a new one, one to use again, or a given one."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import NoReturn

import pytest
from filelock import FileLock, Timeout
from kubernetes.client import ApiException, VersionApi
from urllib3.exceptions import HTTPError

from stowage_testbed.base import health, layout
from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.cluster.backend import CLUSTER_TOOLS, Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.choice import existing_cluster
from stowage_testbed.cluster.feature_gates import parse_gates
from stowage_testbed.cluster.interruption import ending_cleanly, handling, take_down
from stowage_testbed.cluster.listing import list_clusters
from stowage_testbed.cluster.supervision import unwell
from stowage_testbed.pytest.plain import speaking
from stowage_testbed.run.cluster import open_cluster
from stowage_testbed.run.context import Stopwatch
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.request import RunRequest, install_needed, make_cluster
from stowage_testbed.toolchain import tool_build
from stowage_testbed.toolchain.progress import repeating

_NAME = "pytest"
_BUILT_WITH = "pytest-tools"
_ANSWERS_IN_S = 30.0
"""A cluster that is gone refuses at once; one that is busy is used again."""
_TOOLS = ("etcd", "kube-apiserver", "kube-controller-manager", "kwok")


@contextmanager
def session_cluster(config: pytest.Config) -> Iterator[Cluster]:
    """Yield a cluster that is up; one of the session's own is gone afterwards, unless an option says otherwise."""
    worker = getattr(config, "workerinput", {"workerid": "", "workercount": 1})
    request = RunRequest(
        scenarios=(),
        cluster=config.getoption("--stowage-cluster"),
        keep_cluster=config.getoption("--stowage-keep-cluster"),
        backend=Backend(config.getoption("--stowage-backend")),
        folders=(config.getoption("--stowage-results"),),
        minor=config.getoption("--stowage-kubernetes"),
        features=parse_gates(filter(None, config.getoption("--stowage-feature-gates").split(","))),
    )
    # By the time that this leaves the block, pytest has reported it and ends.
    with suppress(RunEndedError), ExitStack() as stack:
        if request.cluster is not None:
            if worker["workercount"] > 1:
                raise StowageError(
                    f"{worker['workercount']} workers cannot share the cluster {request.cluster}: each "
                    "removes what its tests leave; give --stowage-reuse instead of "
                    "--stowage-cluster, for a cluster a worker, or leave -n out"
                )
        else:
            name = "-".join(filter(None, (_NAME, worker["workerid"])))
            reuse = config.getoption("--stowage-reuse")
            if reuse:
                stack.enter_context(_alone_with(name))
            with speaking(config):
                install_needed(*CLUSTER_TOOLS[request.backend], minor=request.minor, optimizer=False)
            if reuse:
                _bring_up(name, request)
                request = replace(request, cluster=name)
        cluster = stack.enter_context(open_cluster(request, Listener(), Stopwatch()))
        stack.enter_context(_left_cleanly(cluster))
        yield cluster


@contextmanager
def _alone_with(name: str) -> Iterator[None]:
    """Keep other sessions away; the lock of one that was killed is free again."""
    clusters = layout.clusters_folder()
    clusters.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(clusters / f".{name}.session").acquire(timeout=0)
    except Timeout as error:
        raise StowageError(
            f"another session of pytest uses the cluster {name}; wait for its end, or "
            "leave --stowage-reuse out to get a cluster of your own"
        ) from error
    with lock:
        yield


def _bring_up(name: str, request: RunRequest) -> None:
    """Make sure of a cluster that outlives the session, with the tools of today."""
    cluster = make_cluster(name, (), request.backend, request.minor, request.features)
    asked = [str(cluster.backend), repr(cluster.features)]
    built_with = "\n".join([*asked, *(f"{one} {tool_build(one, cluster.minor)}" for one in _TOOLS)])
    # What was left of a cluster that died goes with the claim of its name.
    there = any(one.name == name and one.state == "up" for one in list_clusters())
    with ending_cleanly():
        if there:
            if _serves(cluster, built_with):
                return
            take_down(existing_cluster(name))
        cluster.up()
        (cluster.workdir / _BUILT_WITH).write_text(built_with, "utf-8")
        cluster.keep()


def _serves(cluster: Cluster, built_with: str) -> bool:
    file = cluster.workdir / _BUILT_WITH
    if not file.is_file() or file.read_text("utf-8") != built_with:
        return False
    try:
        with cluster.api_client() as api:
            VersionApi(api).get_code(_request_timeout=_ANSWERS_IN_S)
    except (ApiException, HTTPError, OSError):
        return False
    return True


@contextmanager
def _left_cleanly(cluster: Cluster) -> Iterator[None]:
    """Have pytest end for a signal, and once the cluster is not well: a test may wait in a way of its own.

    pytest itself ends for Ctrl-C alone, and takes a `SystemExit` for the failure of the test that happens to run.
    """
    why: list[str] = []

    def look() -> None:
        if not why and (error := unwell(cluster)):
            why.append(str(error))
            os.kill(os.getpid(), signal.SIGTERM)

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        if why:
            pytest.exit(why[0], returncode=pytest.ExitCode.INTERRUPTED)
        pytest.exit(signal.Signals(number).name, returncode=128 + number)  # as shells say it

    with handling(dict.fromkeys((signal.SIGTERM, signal.SIGHUP), leave)), repeating(look, health.LOOK_EVERY_S):
        yield
