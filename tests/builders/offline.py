"""Tests without a network: whatever they need was fetched before they began."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from stowage_testbed.toolchain import choose_minor
from stowage_testbed.toolchain.location import ToolMissingError, tool_path
from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, Tool, load_manifest

OFFLINE = {"GOPROXY": "off", "PIP_NO_INDEX": "1", "SE_OFFLINE": "true", "STOWAGE_SOURCE": "none", "UV_OFFLINE": "1"}
"""What keeps Go, pip, Selenium, Stowage and uv from fetching."""


OF_EVERY_TEST = ("", choose_minor())
"""The minors of Kubernetes whose tools every test may count on; "" is of none."""


def hold_own_tools() -> None:
    """Keep the builds of this checkout: those of others on this machine displace them.

    What is missing is reported by the test that needs it.
    """
    for tool in load_manifest().all_tools:
        if tool.own:
            with suppress(ToolMissingError):
                tool_path(tool.name, tool.minor)


def _is_of_every_test(tool: Tool) -> bool:
    return tool.group == DEFAULT_GROUP and tool.minor in OF_EVERY_TEST


@contextmanager
def naming_the_set_up() -> Iterator[None]:
    """Skip a test for want of a tool that `make test-all` installs; name the command.

    A tool that every test may count on is an error, whose note names the target.
    """
    try:
        yield
    except ToolMissingError as error:
        if not all(map(_is_of_every_test, error.tools)):
            pytest.skip(str(error))
        error.add_note("tests build no tools; in a checkout: make test-tools")
        raise
