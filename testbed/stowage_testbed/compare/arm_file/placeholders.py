"""What stands in an arm file for a value that is known only when the arm starts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

PLACEHOLDERS = ("kubeconfig", "config", "port", "folder", "qps", "burst")

_ANY = re.compile(r"\{([A-Za-z][A-Za-z0-9_-]*)\}")
_KNOWN = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")


def used(texts: Collection[str]) -> set[str]:
    """Return the placeholders that some texts have."""
    return {match[1] for text in texts for match in _KNOWN.finditer(text)}


def unknown(text: str) -> Iterator[str]:
    """Yield what looks like a placeholder of a text, and is none."""
    for match in _ANY.finditer(text):
        if match[1] not in PLACEHOLDERS:
            yield match[1]


def filled(text: str, values: Mapping[str, object]) -> str:
    """Return a text with the known placeholders replaced; other braces are kept."""
    return _KNOWN.sub(lambda match: str(values[match[1]]), text)
