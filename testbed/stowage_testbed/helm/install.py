"""Installing, changing and removing a release."""

from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import yaml

from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.helm.release import (
    Release,
    helm_folder,
    last_lines,
    merge_values,
    run_helm,
    testbed_values,
    values_refused,
)
from stowage_testbed.helm.serving import LOG_LINES, CrashLoop, await_serving, diagnose, profile_issue, said_last
from stowage_testbed.optimizer_service.compiled import compile_optimizer

RELEASE_TIMEOUT_S = 180.0
"""A release with the optimiser starts in 5 s on two idle cores."""

CHART = layout.shipped("charts") / "stowage"

_VALUES_REFUSED = ("values don't meet the specifications", "execution error at")
_LABELS = {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}
_LOOK_CLOSER = "the last log lines above mostly name the cause; the release is left as it is, for a closer look"
_INTERRUPTED = "another operation (install/upgrade/rollback) is in progress"


def install_release(
    cluster: Cluster,
    *,
    profile: str,
    optimizer_enabled: bool,
    values: Mapping[str, object] | None = None,
    namespace: str = "stowage-system",
    name: str = "stowage",
    timeout_s: float = RELEASE_TIMEOUT_S,
    chart: Path = CHART,
) -> Release:
    """Install the chart, or change the release, and wait until it is ready.

    Its ``values`` go over those that the testbed needs; the namespace is created. Raises a StowageError if the chart
    refuses the values, each of which is named; if the release is not ready in time, with pod states and log lines; if a
    container ends again and again, with the profile's line if that is why; or if a program is not installed.
    """
    needed = testbed_values(cluster, profile=profile, optimizer_enabled=optimizer_enabled)
    if optimizer_enabled and not cluster.release_location.containers:
        compile_optimizer()
    release = Release(cluster, name, namespace)
    file = helm_folder(cluster) / f"{namespace}-{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(merge_values(needed, values or {})), "utf-8")
    with cluster.api_client() as client:
        objects = Objects(client)
        objects.create(make_manifest("v1", "Namespace", namespace), or_keep=True)
        # So marked, it refuses pods outside the standard.
        objects.patch("Namespace", namespace, {"metadata": {"labels": _LABELS}})
    ends = monotonic() + timeout_s
    arguments = ["upgrade", name, str(chart), "--install", "--namespace", namespace, "--values", str(file)]
    arguments += ["--timeout", f"{timeout_s}s", "--history-max", "3"]
    # Reading the schema takes Helm longer than all the rest. Tests of the chart install it as users do, with that.
    arguments.append("--disable-openapi-validation")
    done = run_helm(cluster, arguments, timeout_s)
    if _INTERRUPTED in done.stderr:
        # A Helm that was killed leaves its lock behind, which nobody else can hold.
        _uninstall(release, timeout_s)
        done = run_helm(cluster, arguments, timeout_s)
    if any(mark in done.stderr for mark in _VALUES_REFUSED):
        raise values_refused(file, done.stderr)
    if done.returncode != 0:
        raise _helm_failed("upgrade", done.stderr)
    crash_loop = CrashLoop(release)
    if await_serving(release, ends - monotonic(), crash_loop.found):
        return release
    why = f"release {name} was not ready within {timeout_s:g} s; "
    if container := crash_loop.container:
        said = said_last(last_lines(release.logs()[container], LOG_LINES))
        cause = profile_issue(chart / "profiles" / f"{profile}.yaml", said) or said
        why = f"container {container} of release {name} ends again and again"
        why += f":\n{cause}\n" if cause else "; "
    raise StowageError(f"{why}its pods:\n{diagnose(release)}\n{_LOOK_CLOSER}")


def prepare_install(cluster: Cluster, values: Mapping[str, object]) -> Path:
    """Put the chart and its values, with ``values`` on top, into a cluster's folder; return the values' file."""
    needed = testbed_values(cluster, profile="optimizer", optimizer_enabled=True)
    file = cluster.workdir / "helm-values.yaml"
    file.write_text(yaml.safe_dump(merge_values(needed, values)), "utf-8")
    file.with_name("chart").symlink_to(CHART)
    return file


def uninstall_release(release: Release, *, timeout_s: float = RELEASE_TIMEOUT_S) -> None:
    """Remove a release and wait until its pods, and so their processes, are gone.

    Raises `StowageError` if Helm failed, for which a missing release is no failure, and `WaitTimeoutError` if a pod
    did not end.
    """
    _uninstall(release, timeout_s)
    wait_until(
        f"the pods of release {release.name} to end",
        lambda: [_how_it_ends(pod) for pod in release.pods()],
        lambda pods: not pods,
        timeout_s=timeout_s,
    )


def _how_it_ends(pod: Any) -> str:
    """Return whether a pod was told to end, by whom it is kept, and what still runs."""
    meta, status = pod.metadata, pod.status
    told = meta.deletion_timestamp
    since = f"told to end at {told:%H:%M:%S}" if told else "not told to end"
    kept_by = ", ".join(
        [f"{one.kind} {one.name}" for one in meta.owner_references or ()]
        + [f"finalizer {name}" for name in meta.finalizers or ()]
    )
    running = [
        one.name for one in status.container_statuses or () if one.state is not None and one.state.running is not None
    ]
    return f"{meta.name}: {status.phase}, {since}, of {kept_by or 'nobody'}, running: {', '.join(running) or 'nothing'}"


def _uninstall(release: Release, timeout_s: float) -> None:
    arguments = ["uninstall", release.name, "--namespace", release.namespace, "--ignore-not-found"]
    done = run_helm(release.cluster, arguments, timeout_s)
    if done.returncode != 0:
        raise _helm_failed("uninstall", done.stderr)


def _helm_failed(action: str, output: str) -> StowageError:
    return StowageError(f"helm {action} failed: {output.strip()}; is the cluster up and reachable?")
