"""What the rows of a sweep depend on, besides its tasks."""

from __future__ import annotations

from stowage_testbed.environment import package_versions, source_digest
from stowage_testbed.toolchain import tool_path

RECIPE = 2
"""Counted up whenever a task would give other rows than before."""

PACKAGES = ("numba", "numpy", "ortools")


def program() -> dict[str, str]:
    """Return what must be the same wherever rows of one sweep are made.

    Raises
    ------
    ToolMissingError
        The scheduler without a cluster is not installed.
    """
    versions = package_versions()
    return {
        "recipe": str(RECIPE),
        "optimiser": source_digest(),
        "simulator": tool_path("stowage-simulate").parent.name,
        **{name: versions[name] for name in PACKAGES},
    }


def differences(here: dict[str, str], there: dict[str, str]) -> list[str]:
    """Return what differs, as in ``ortools 9.15 here, 9.14 there``."""
    return [
        f"{name} {here.get(name, 'none')} here, {there.get(name, 'none')} there"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]
