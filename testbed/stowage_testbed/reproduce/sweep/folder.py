"""The folder of a sweep: its journals, and what made them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from stowage_testbed.environment import machine
from stowage_testbed.reproduce.sweep.errors import (
    FolderBusyError,
    NoSweepError,
    OtherSweepError,
)
from stowage_testbed.reproduce.sweep.journal import Journal
from stowage_testbed.reproduce.sweep.program import differences, program
from stowage_testbed.reproduce.sweep.shard import Shard
from stowage_testbed.reproduce.sweep.task import RowT
from stowage_testbed.whole_file import write_whole

HEADER = "sweep.json"


@dataclass(frozen=True, slots=True)
class Header:
    """What a folder's rows were made of.

    Attributes
    ----------
    kind
        What is reproduced.
    program
        As `program` returns it.
    scope
        What was asked for, as JSON values.
    shards
        Those that are in it, as ``i/n``.
    machines
        Where rows were made, in a line each.
    """

    kind: str
    program: dict[str, str]
    scope: dict[str, Any]
    shards: tuple[str, ...]
    machines: tuple[str, ...]


class SweepFolder:
    """A folder of results."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def journal(self, name: str, row_type: type[RowT]) -> Journal[RowT]:
        """Return one of the journals, with what is in it."""
        return Journal(self.path / f"{name}.jsonl", row_type)

    def header(self) -> Header:
        """Return what the rows were made of.

        Raises
        ------
        NoSweepError
            There are none.
        """
        file = self.path / HEADER
        if not file.is_file():
            raise NoSweepError(self.path)
        return msgspec.json.decode(file.read_bytes(), type=Header)

    def write_header(self, header: Header) -> None:
        """Write the header, whole or not at all."""
        content = msgspec.json.format(msgspec.json.encode(header), indent=1)
        write_whole(self.path / HEADER, content + b"\n")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others out for the block.

        Raises
        ------
        FolderBusyError
            Somebody else is at work here.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path / ".lock", timeout=0):
                yield
        except Timeout as error:
            raise FolderBusyError(self.path) from error

    @contextmanager
    def opened(self, kind: str, scope: dict[str, Any], shard: Shard) -> Iterator[None]:
        """Keep others out for the block, and write the header.

        Raises
        ------
        FolderBusyError
            Somebody else is at work here.
        OtherSweepError
            What is in it was made by another program, or is of another kind.
        """
        with self.alone():
            self._begin(kind, scope, shard)
            yield

    def _begin(self, kind: str, scope: dict[str, Any], shard: Shard) -> None:
        made_by = program()
        shards: tuple[str, ...] = (str(shard),)
        machines: tuple[str, ...] = (_this_machine(),)
        if (self.path / HEADER).is_file():
            before = self.header()
            found = differences(made_by, before.program)
            if before.kind != kind:
                found.append(f"it reproduces {before.kind}, not {kind}")
            if before.shards != shards:
                found.append(f"it is shard {', '.join(before.shards)}, not {shard}")
            if found:
                raise OtherSweepError(self.path, found)
            machines = tuple(dict.fromkeys((*before.machines, *machines)))
        self.write_header(Header(kind, made_by, scope, shards, machines))


def _this_machine() -> str:
    facts = machine()
    gib = facts["memory_bytes"] / 2**30
    return (
        f"{facts['system']}, {facts['cpus']} cores, {gib:.0f} GiB, "
        f"Python {facts['python']}"
    )
