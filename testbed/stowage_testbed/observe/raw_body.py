"""An object of the API kept as bytes on disk, and parsed when it is looked at.

A parsed pod is a hundred and fifty objects, and a burst of pods makes millions, each of which the collector of garbage
visits again and again: beside 3,000 pods that was half of what the harness took, in pauses of up to half a second. The
bytes alone are more than a gigabyte after a few changes of 50,000 pods, so they lie in a file.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from sys import intern
from typing import Any, TypeVar, cast

import msgspec

from stowage_testbed.base.errors import StowageError

T = TypeVar("T")
FormT = TypeVar("FormT")

HOT = 64  # Objects that are kept parsed, as they are often read more than once


class Names(msgspec.Struct):
    """What of its metadata is kept in memory of every object."""

    uid: str = ""
    namespace: str = ""
    name: str = ""
    resourceVersion: str = ""  # noqa: N815


class Head(msgspec.Struct):
    """What is read of an object as it comes; of an error, what it says."""

    metadata: Names = msgspec.field(default_factory=Names)
    code: int | None = None
    message: str | None = None


class _Described(msgspec.Struct):
    metadata: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class BodyFile:
    """A file without a name, which is gone with the last body that lies in it."""

    def __init__(self) -> None:
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._file = file
        weakref.finalize(self, file.close)
        self._lock = threading.Lock()
        self.length = 0

        @lru_cache(maxsize=HOT)
        def parsed(at: int, length: int) -> dict[str, Any]:
            found: dict[str, Any] = msgspec.json.decode(os.pread(file.fileno(), length, at))
            found.get("metadata", {}).pop("managedFields", None)
            return found

        self.parsed = parsed
        """Returns the object that begins at a byte, without managed fields."""

    def append(self, content: bytes | memoryview) -> int:
        """Write at the end, and return where that was; a StowageError if the disk is full."""
        with self._lock:
            at, left = self.length, memoryview(content)
            try:
                while left:
                    done = os.pwrite(self._file.fileno(), left, at + len(content) - len(left))
                    left = left[done:]
            except OSError as error:
                raise StowageError(
                    f"cannot keep what the watches see: {error.strerror}; make room in "
                    f"{tempfile.gettempdir()}, or name another folder in TMPDIR"
                ) from error
            # What was cut off is written over.
            self.length = at + len(content)
            return at

    def keep(self, raw: bytes | memoryview, names: Names) -> RawBody:
        """Return the body of an object that is given as JSON."""
        return RawBody(self, self.append(raw), len(raw), names)

    def read(self, at: int, length: int) -> bytes:
        """Return what was written."""
        return os.pread(self._file.fileno(), length, at)


class RawBody(Mapping[str, Any]):
    """An object that lies in a file, of which only names are known without looking; reads like the parsed object."""

    __slots__ = ("_at", "_digest", "_file", "_length", "name", "namespace", "uid")

    def __init__(self, file: BodyFile, at: int, length: int, names: Names) -> None:
        self._file = file
        self._at = at
        self._length = length
        self._digest: object = None
        # The changes of one object share their names.
        self.uid = intern(names.uid)
        self.namespace = intern(names.namespace)
        self.name = intern(names.name)

    def digest(self, read: Callable[[FormT], T], form: type[FormT]) -> T:
        """Return what ``read`` makes of as much as ``form`` has, once: all callers agree on one ``read``."""
        if self._digest is None:
            self._digest = read(self.decode(form))
        return cast("T", self._digest)

    def decode(self, form: type[T]) -> T:
        """Return as much of the object as a type has."""
        return msgspec.json.decode(self._file.read(self._at, self._length), type=form)

    def moved_to(self, file: BodyFile) -> RawBody:
        """Return the same object in another file."""
        names = Names(self.uid, self.namespace, self.name)
        moved = file.keep(self._file.read(self._at, self._length), names)
        moved._digest = self._digest
        return moved

    def __getitem__(self, key: str) -> Any:
        if key == "metadata":
            parts = self.decode(_Described).metadata
            parts.pop("managedFields", None)
            return {name: msgspec.json.decode(raw) for name, raw in parts.items()}
        return self._parsed()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def _parsed(self) -> dict[str, Any]:
        return self._file.parsed(self._at, self._length)


def decode(body: Mapping[str, Any], form: type[T]) -> T:
    """Return as much of an object as a type has, of one that lies on disk without reading the rest."""
    if isinstance(body, RawBody):
        return body.decode(form)
    return msgspec.json.decode(msgspec.json.encode(body, enc_hook=dict), type=form)
