"""What commands and fixtures need installed, and install at their first use."""

from __future__ import annotations

from collections.abc import Sequence

from stowage_testbed.cluster.backend import CLUSTER_TOOLS, RELEASE_TOOLS, SCHEDULER, Backend
from stowage_testbed.cluster.components import METRICS_SERVER
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.run.arm import Arm
from stowage_testbed.run.cluster_needs import measures_usage
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.toolchain import install_tools

SIMULATOR = "stowage-simulate"


def install_needed(*names: str, minor: str | None = None, optimizer: bool = True) -> None:
    """Install what is missing, as `stowage tools install` does beforehand.

    Those are tools that go with a minor of Kubernetes and, for whoever asks the
    optimiser, compiled hot loops. Everything that needs any begins with it, so that
    nothing is built without a word.

    Raises
    ------
    StowageError
        As `install_tools` and `compile_optimizer` say.
    """
    # Else a build would go on that nobody waits for.
    with ending_cleanly():
        if names:
            install_tools(names, minor=minor)
        if optimizer:
            compile_optimizer()


def install_release_tools(minor: str, *, optimizer: bool = True) -> None:
    """Install what the chart's release needs; raises as `install_needed`."""
    install_needed(*RELEASE_TOOLS, minor=minor, optimizer=optimizer)


def install_arms(arms: Sequence[Arm], backend: Backend | None = None, scenarios: Sequence[Scenario] = ()) -> None:
    """Install what arms need, and clusters of a kind for scenarios, where one is named.

    Raises as `install_needed`.
    """
    for minor in sorted({arm.minor for arm in arms}):
        tools = [tool for arm in arms if arm.minor == minor for tool in arm.tools]
        if backend is not None:
            tools += list_tools(backend, scenarios)
        install_needed(*tools, minor=minor, optimizer=SCHEDULER in tools)


def list_tools(backend: Backend, scenarios: Sequence[Scenario]) -> tuple[str, ...]:
    """Return the tools without which no cluster for scenarios comes up."""
    measured = measures_usage(backend, scenarios)
    return (*CLUSTER_TOOLS[backend], *((METRICS_SERVER,) if measured else ()))
