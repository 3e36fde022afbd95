"""Tests without a network: whatever they need was fetched before they began."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from stowage_testbed.toolchain.location import ToolMissingError, tool_path
from stowage_testbed.toolchain.manifest import load_manifest

OFFLINE = {
    "GOPROXY": "off",
    "PIP_NO_INDEX": "1",
    "SE_OFFLINE": "true",
    "STOWAGE_SOURCE": "none",
    "UV_OFFLINE": "1",
}
"""What keeps Go, pip, Selenium, Stowage and uv from fetching."""


def hold_own_tools() -> None:
    """Keep the builds of this checkout: those of others on this machine displace them.

    What is missing is reported by the test that needs it.
    """
    for tool in load_manifest().all_tools:
        if tool.own:
            with suppress(ToolMissingError):
                tool_path(tool.name, tool.minor)


@contextmanager
def naming_the_set_up() -> Iterator[None]:
    """Add to the error of a tool that is not installed which target installs it."""
    try:
        yield
    except ToolMissingError as error:
        error.add_note("tests build no tools; in a checkout: make test-tools")
        raise
