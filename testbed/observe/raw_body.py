"""An object of a watch kept as the bytes that came, and parsed when it is looked at.

A parsed pod is a hundred and fifty objects, and a burst of pods makes millions, each of
which the collector of garbage visits again and again: beside 3,000 pods that was half
of what the harness took, in pauses of up to half a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

HOT = 64
"""Events whose objects are kept parsed, for those who look more than once."""


@lru_cache(maxsize=HOT)
def parsed_event(line: bytes) -> dict[str, Any]:
    """Return a watch event: its ``type``, and its ``object`` without managed fields.

    Raises
    ------
    msgspec.DecodeError
        The line is no JSON.
    """
    event: dict[str, Any] = msgspec.json.decode(line)
    event["object"].get("metadata", {}).pop("managedFields", None)
    return event


class RawBody(Mapping[str, Any]):
    """The object of one event; reads like the parsed object.

    Parameters
    ----------
    line
        The whole event.
    metadata
        The object's metadata, which is looked at most.
    """

    __slots__ = ("_digest", "_line", "_metadata")

    def __init__(self, line: bytes, metadata: Mapping[str, Any]) -> None:
        self._line = line
        self._metadata = metadata
        self._digest: object = None

    def digest(self, read: Callable[[Mapping[str, Any]], T]) -> T:
        """Return what ``read`` makes of the object, which it is asked only once.

        A body has room for one digest: its callers agree on one ``read``.
        """
        if self._digest is None:
            self._digest = read(self._parsed())
        return cast("T", self._digest)

    def __getitem__(self, key: str) -> Any:
        return self._metadata if key == "metadata" else self._parsed()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def _parsed(self) -> dict[str, Any]:
        parsed: dict[str, Any] = parsed_event(self._line)["object"]
        return parsed
