"""Which minor of Kubernetes is meant where somebody names one, or nobody does."""

from __future__ import annotations

import os
import re

from stowage_testbed.base.errors import InputError
from stowage_testbed.toolchain.manifest import Minor, load_manifest

VARIABLE = "STOWAGE_KUBERNETES"
"""The environment variable that names another default."""


def choose_minor(asked: str | None = None) -> str:
    """Return the minor that is asked for, as in ``1.37``, or else the default; raises `InputError` without one."""
    known = load_manifest().minors
    word = asked or os.environ.get(VARIABLE) or next(iter(known))
    if word not in known:
        source = "" if asked else f" ({VARIABLE} names it)"
        raise InputError(f"there is no Kubernetes {word!r} here{source}; name one of {', '.join(known)}")
    return word


def built_minors() -> list[str]:
    """Return the minors that Stowage's scheduler is built for, the default first."""
    return [one.number for one in load_manifest().minors.values() if one.only is None]


def nearest_minor(version: str) -> str:
    """Return the built minor that suits a cluster of a version, as in ``v1.36.3``.

    That is its own, or the newest before it, or else the oldest; of a version that says nothing, the default.
    """
    number = _number_of(version)
    if not number:
        return choose_minor()
    built = sorted(built_minors(), key=_number_of, reverse=True)
    return next((one for one in built if _number_of(one) <= number), built[-1])


def is_of_minor(version: str, minor: str) -> bool:
    """Return whether a version is one of a minor."""
    return _number_of(version) == _number_of(minor)


def find_minor(number: str) -> Minor:
    """Return what goes with a minor that there is."""
    return load_manifest().minors[number]


def _number_of(version: str) -> tuple[int, ...]:
    """Return v1.36.3-gke.1 as (1, 36); nothing of what is no version."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else ()
