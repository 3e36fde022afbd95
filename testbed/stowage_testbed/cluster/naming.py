"""What a cluster may be called."""

from __future__ import annotations

import re

from stowage_testbed.cluster.errors import ClusterNameError

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST = 30
_RULE = (
    f"write 1 to {_LONGEST} lower-case letters, digits and dashes, "
    "with a letter or digit at both ends"
)


def check_name(name: str) -> str:
    """Return ``name`` if it may be a cluster's, as it becomes a folder.

    The length is bounded because Unix sockets live below that folder, and a socket's
    whole path has room for 107 bytes.

    Raises
    ------
    ClusterNameError
        It may not.
    """
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        raise ClusterNameError(name, _RULE)
    return name
