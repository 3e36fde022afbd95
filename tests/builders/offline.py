"""Tests without a network: whatever they need was fetched before they began."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stowage_testbed.toolchain.location import ToolMissingError

OFFLINE = {
    "GOPROXY": "off",
    "PIP_NO_INDEX": "1",
    "SE_OFFLINE": "true",
    "UV_OFFLINE": "1",
}
"""What keeps Go, pip, Selenium and uv from fetching."""


@contextmanager
def naming_the_set_up() -> Iterator[None]:
    """Add to the error of a tool that is not installed which target installs it."""
    try:
        yield
    except ToolMissingError as error:
        error.add_note("tests build no tools; in a checkout: make test-tools")
        raise
