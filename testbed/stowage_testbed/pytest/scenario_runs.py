"""`stowage run` is a session of pytest: a scenario is an item, and workers are those of pytest-xdist."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.pytest.scenario_items import RunPlugin, ScenarioRunner
from stowage_testbed.pytest.workers import WorkerPool
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.run.outcome import RunOutcome
from stowage_testbed.run.request import RunRequest

_UNUSED = (
    *("assertion", "cacheprovider", "capture", "doctest", "faulthandler", "logging", "terminal"),
    *("threadexception", "unittest", "unraisableexception", "warnings"),
)
"""Plugins of pytest that would print, write files, or take the place of handlers of this process."""

_OPTIONS = (
    *(f"-pno:{name}" for name in _UNUSED),
    # Neither the project in whose folder it runs nor what else is installed has a say.
    *(f"--config-file={os.devnull}", "--rootdir=.", "--noconftest", "--disable-plugin-autoload"),
)


def run_scenarios(request: RunRequest, bundle: Bundle, junit: Path | None = None) -> RunOutcome:
    """Run every scenario of a request in every round, and write the bundle.

    An error or a signal that ends the run early is part of the outcome, with the results so far; the cluster is down
    then. The bundle's listeners are told of everything in the order of the report.
    """
    options = [*_OPTIONS, "-o", "junit_suite_name=stowage", *([f"--junitxml={junit}"] if junit else [])]
    if request.jobs > 1:
        plugin: RunPlugin = WorkerPool(request, bundle)
        options += ["-pxdist.plugin", "-pstowage_testbed.pytest.workers", f"--numprocesses={request.jobs}"]
    else:
        plugin = ScenarioRunner(request, bundle)
    bundle.run_started(bundle.run_id, request.total)
    try:
        with ending_cleanly(), _without_settings():
            pytest.main(options, plugins=[plugin])
        outcome = bundle.finish(plugin.outcome())
    except OSError as error:
        if plugin.problem in {None, error}:
            raise
        # Files that cannot be written must not hide why: a disk may be full.
        raise plugin.problem from error
    return outcome


@contextmanager
def _without_settings() -> Iterator[None]:
    """Let no variable of the environment change what pytest does, here or in a worker."""
    settings = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PYTEST_")}
    try:
        yield
    finally:
        os.environ.update(settings)
