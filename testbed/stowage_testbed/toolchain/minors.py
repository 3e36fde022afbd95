"""Which minor of Kubernetes is meant where somebody names one, or nobody does."""

from __future__ import annotations

import os

from stowage_testbed.errors import InputError
from stowage_testbed.toolchain.manifest import Minor, load_manifest

VARIABLE = "STOWAGE_KUBERNETES"
"""The environment variable that names another default."""


def choose_minor(asked: str | None = None) -> str:
    """Return the minor that is asked for, as in ``1.37``, or else the default.

    Raises
    ------
    InputError
        There is no such minor.
    """
    known = load_manifest().minors
    word = asked or os.environ.get(VARIABLE) or next(iter(known))
    if word not in known:
        source = "" if asked else f" ({VARIABLE} names it)"
        raise InputError(
            f"there is no Kubernetes {word!r} here{source}; name one of "
            f"{', '.join(known)}"
        )
    return word


def built_minors() -> list[str]:
    """Return the minors that Stowage's scheduler is built for, the default first."""
    return [one.number for one in load_manifest().minors.values() if one.only is None]


def find_minor(number: str) -> Minor:
    """Return what goes with a minor that there is."""
    return load_manifest().minors[number]
