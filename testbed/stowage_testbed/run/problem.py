"""What goes wrong with a run on a cluster, in words."""

from __future__ import annotations

from collections.abc import Callable

from kubernetes.client import ApiException
from urllib3.exceptions import HTTPError

from stowage_testbed.base.errors import StowageError

PROBLEMS = (StowageError, ApiException, HTTPError)
"""What a run records as its error; anything else is a fault of the testbed itself."""


def in_words(problem: Exception) -> str:
    """Return one of ``PROBLEMS`` as text for a run's record."""
    if isinstance(problem, StowageError):
        return str(problem)
    return f"the API server failed: {problem}"


def catch_problem(act: Callable[[], object]) -> str:
    """Do it, and return what went wrong in words; empty if nothing did."""
    try:
        act()
    except PROBLEMS as problem:
        return in_words(problem)
    return ""
