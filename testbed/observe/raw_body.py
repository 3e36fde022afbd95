"""An object of a watch kept as the bytes that came, and parsed when it is looked at.

A parsed pod is a hundred and fifty objects, and a burst of pods makes millions, each of
which the collector of garbage visits again and again: beside 3,000 pods that was half
of what the harness took, in pauses of up to half a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Self, TypeVar, cast

import msgspec

T = TypeVar("T")

HOT = 64
"""Events whose objects are kept parsed, for those who look more than once."""


class Metadata(msgspec.Struct, omit_defaults=True):
    """ObjectMeta without managed fields; `UNSET` stands for what is not there."""

    name: Any = msgspec.UNSET
    generateName: Any = msgspec.UNSET  # noqa: N815 - as the API has it
    namespace: Any = msgspec.UNSET
    selfLink: Any = msgspec.UNSET  # noqa: N815
    uid: Any = msgspec.UNSET
    resourceVersion: Any = msgspec.UNSET  # noqa: N815
    generation: Any = msgspec.UNSET
    creationTimestamp: Any = msgspec.UNSET  # noqa: N815
    deletionTimestamp: Any = msgspec.UNSET  # noqa: N815
    deletionGracePeriodSeconds: Any = msgspec.UNSET  # noqa: N815
    labels: Any = msgspec.UNSET
    annotations: Any = msgspec.UNSET
    ownerReferences: Any = msgspec.UNSET  # noqa: N815
    finalizers: Any = msgspec.UNSET


class Head(msgspec.Struct):
    """What is read of an event's object as it comes; of an error, what it says."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    code: Any = None
    message: Any = None


class Event(msgspec.Struct):
    """A watch event, of whose object only the head has been read.

    Reading it so takes a fifth of the time, most of which managed fields take, and
    makes a tenth of the objects.
    """

    type: str
    object: Head

    @classmethod
    def of(cls, line: bytes) -> Self:
        """Return the event of a line.

        Raises
        ------
        msgspec.DecodeError
            The line is no event.
        """
        return msgspec.json.decode(line, type=cls)

    @property
    def metadata(self) -> dict[str, Any]:
        """The object's metadata without managed fields."""
        found: dict[str, Any] = msgspec.to_builtins(self.object.metadata)
        return found


@lru_cache(maxsize=HOT)
def parsed_object(line: bytes) -> dict[str, Any]:
    """Return the object of an event, without managed fields."""
    found: dict[str, Any] = msgspec.json.decode(line)["object"]
    found.get("metadata", {}).pop("managedFields", None)
    return found


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
        return parsed_object(self._line)
