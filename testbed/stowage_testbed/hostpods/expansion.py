"""Kubernetes' own ``$(NAME)`` in values, commands and arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\((?P<name>[^()\s]+)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by its value.

    A name without a value stays as it is, and ``$$(NAME)`` means a literal
    ``$(NAME)``, as the API's reference has it.
    """

    def value(match: re.Match[str]) -> str:
        if match["name"] is None:
            return "$"
        return variables.get(match["name"], match[0])

    return _REFERENCE.sub(value, text)
