"""Installing, changing and removing a release."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml

from stowage_testbed import layout
from stowage_testbed.cluster.protocol import Cluster
from stowage_testbed.helm.command import helm_folder, run_helm
from stowage_testbed.helm.crash_loop import CrashLoop
from stowage_testbed.helm.diagnosis import LOG_LINES, diagnose
from stowage_testbed.helm.errors import (
    ChartValuesError,
    HelmFailedError,
    ReleaseCrashedError,
    ReleaseNotReadyError,
)
from stowage_testbed.helm.logs import last_lines
from stowage_testbed.helm.namespace import ensure_namespace
from stowage_testbed.helm.profile_issue import profile_issue, said_last
from stowage_testbed.helm.release import Release
from stowage_testbed.helm.values import merge_values, testbed_values
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.wait import wait_until

CHART = layout.shipped("charts") / "stowage"

_VALUES_REFUSED = ("values don't meet the specifications", "execution error at")
_TIMED_OUT = ("context deadline exceeded", "timed out waiting", "deadline exceeded")
_INTERRUPTED = "another operation (install/upgrade/rollback) is in progress"


def install_release(
    cluster: Cluster,
    *,
    profile: str,
    optimizer_enabled: bool,
    values: Mapping[str, object] | None = None,
    namespace: str = "stowage-system",
    name: str = "stowage",
    timeout_s: float = 60.0,
    chart: Path = CHART,
) -> Release:
    """Install the chart, or change the release, and wait until it is ready.

    Parameters
    ----------
    cluster
        A cluster that is up.
    profile
        The chart's profile.
    optimizer_enabled
        Whether the optimiser runs beside the scheduler.
    values
        Further values, over those that the testbed needs.
    namespace, name
        Where, and under which name; the namespace is created.
    timeout_s
        How long it may take to become ready.
    chart
        The chart's folder.

    Raises
    ------
    ChartValuesError
        The chart refuses the values; names each of them.
    ReleaseNotReadyError
        Not ready in time; carries pod states and log lines.
    ReleaseCrashedError
        A container ends again and again; names the profile's line if that is why.
    HelmFailedError
        Helm failed otherwise.
    ToolMissingError, OptimizerMissingError
        A program is not installed.
    CompilingFailedError
        The optimiser's hot loops cannot be compiled.
    """
    needed = testbed_values(
        cluster, profile=profile, optimizer_enabled=optimizer_enabled
    )
    if optimizer_enabled and not cluster.release_location.containers:
        compile_optimizer()
    release = Release(cluster, name, namespace)
    file = helm_folder(cluster) / f"{namespace}-{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(merge_values(needed, values or {})), "utf-8")
    ensure_namespace(cluster, namespace)
    _upgrade(release, chart, file, timeout_s, chart / "profiles" / f"{profile}.yaml")
    return release


def uninstall_release(release: Release, *, timeout_s: float = 60.0) -> None:
    """Remove a release and wait until its pods, and so their processes, are gone.

    Raises
    ------
    HelmFailedError
        Helm failed; a release that does not exist is not a failure.
    WaitTimeoutError
        A pod did not end.
    """
    _uninstall(release, timeout_s)
    wait_until(
        f"the pods of release {release.name} to end",
        lambda: [pod.metadata.name for pod in release.pods()],
        lambda names: not names,
        timeout_s=timeout_s,
    )


def _upgrade(
    release: Release, chart: Path, values_file: Path, timeout_s: float, profile: Path
) -> None:
    arguments = ["upgrade", release.name, str(chart), "--install", "--wait"]
    arguments += ["--namespace", release.namespace, "--values", str(values_file)]
    arguments += ["--timeout", f"{timeout_s}s", "--history-max", "3"]
    crash_loop = CrashLoop(release)

    def run() -> subprocess.CompletedProcess[str]:
        return run_helm(
            release.cluster, arguments, timeout_s, hopeless=crash_loop.found
        )

    done = run()
    if _INTERRUPTED in done.stderr:
        # A Helm that was killed leaves its lock behind, which nobody else can hold.
        _uninstall(release, timeout_s)
        done = run()
    if done.returncode == 0:
        return
    if crash_loop.container:
        raise _crashed(release, crash_loop.container, profile)
    if any(mark in done.stderr for mark in _VALUES_REFUSED):
        raise ChartValuesError(values_file, done.stderr)
    if any(mark in done.stderr for mark in _TIMED_OUT):
        raise ReleaseNotReadyError(release.name, timeout_s, diagnose(release))
    raise HelmFailedError("upgrade", done.stderr)


def _crashed(release: Release, container: str, profile: Path) -> ReleaseCrashedError:
    said = said_last(last_lines(release.logs()[container], LOG_LINES))
    cause = profile_issue(profile, said) or said
    return ReleaseCrashedError(release.name, container, cause, diagnose(release))


def _uninstall(release: Release, timeout_s: float) -> None:
    arguments = ["uninstall", release.name, "--namespace", release.namespace]
    arguments += ["--ignore-not-found"]
    done = run_helm(release.cluster, arguments, timeout_s)
    if done.returncode != 0:
        raise HelmFailedError("uninstall", done.stderr)
