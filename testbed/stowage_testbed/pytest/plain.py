"""Errors that point at the user's line, and not at the plugin's insides."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import ParamSpec, TypeVar

import pytest

from stowage_testbed.base.errors import StowageError

P = ParamSpec("P")
R = TypeVar("R")


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function whose known errors have a traceback that ends at its caller.

    They keep their class, so that a test can expect one.
    """

    @functools.wraps(function)
    def reporting(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except StowageError as error:
            raise error.with_traceback(None) from None

    return reporting


@contextmanager
def speaking(config: pytest.Config) -> Iterator[None]:
    """Let what the block says on stderr be seen at once: a build takes minutes."""
    manager = config.pluginmanager.getplugin("capturemanager")
    with manager.global_and_fixture_disabled() if manager else nullcontext():
        yield


@contextmanager
def failing_plainly() -> Iterator[None]:
    """Turn a known error in the set-up of a fixture into its message alone."""
    try:
        yield
    except StowageError as error:
        # What pytest.fail raises would show the error a second time.
        raise pytest.fail.Exception(str(error), pytrace=False) from None
