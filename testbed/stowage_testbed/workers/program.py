"""What must be the same wherever results that belong together are made."""

from __future__ import annotations

import platform
from pathlib import Path

import stowage_testbed
from stowage_testbed import layout
from stowage_testbed.environment import package_versions, source_digest
from stowage_testbed.toolchain.location import tool_key
from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, load_manifest


def differences(here: dict[str, str], there: dict[str, str]) -> list[str]:
    """Return what differs, as in ``ortools 9.15 here, 9.14 there``."""
    return [
        f"{name} {here.get(name, 'none')} here, {there.get(name, 'none')} there"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]


def cluster_program() -> dict[str, str]:
    """Return what decides what comes of a scenario on a cluster.

    The tools need not be installed: their names say what they are built from.
    """
    manifest = load_manifest()
    tools = manifest.group(DEFAULT_GROUP)
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "optimiser": source_digest(),
        "testbed": source_digest(Path(stowage_testbed.__file__).parent),
        "chart": source_digest(layout.shipped("charts"), "*.yaml"),
        **package_versions(),
        **{tool.name: f"{tool.version}-{tool_key(tool)}" for tool in tools},
    }
