"""The folder of a sweep: its journals, and what made them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.reproduce.sweep.shard import Shard
from stowage_testbed.reproduce.sweep.task import RowT
from stowage_testbed.toolchain import choose_minor, tool_build
from stowage_testbed.toolchain.environment import machine, package_versions, source_digest

RECIPE = 2
"""Counted up whenever a task would give other rows than before."""

PACKAGES = ("numba", "numpy", "ortools")


def program() -> dict[str, str]:
    """Return what must be the same wherever rows of one sweep are made."""
    versions = package_versions()
    return {
        "recipe": str(RECIPE),
        "optimiser": source_digest(),
        "simulator": tool_build("stowage-simulate", choose_minor()),
        **{name: versions[name] for name in PACKAGES},
    }


def differences(here: dict[str, str], there: dict[str, str]) -> list[str]:
    """Return what differs, as in ``ortools 9.15 here, 9.14 there``."""
    return [
        f"{name} {here.get(name, 'none')} here, {there.get(name, 'none')} there"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]


HEADER = "sweep.json"


@dataclass(frozen=True, slots=True)
class Header:
    """What a folder's rows were made of.

    The scope is what was asked for, as JSON values; shards are written ``i/n``, and
    machines a line each.
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

    def journal(self, name: str, row_type: type[RowT]) -> TaskJournal[RowT]:
        """Return one of the journals, with what is in it."""
        return TaskJournal(self.path / f"{name}.jsonl", row_type)

    def header(self) -> Header:
        """Return what the rows were made of.

        Raises
        ------
        StowageError
            There are none.
        """
        file = self.path / HEADER
        if not file.is_file():
            raise no_sweep(self.path)
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
        StowageError
            Somebody else is at work here.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path / ".lock", timeout=0):
                yield
        except Timeout as error:
            raise StowageError(
                f"another sweep is at work in {self.path}; wait for it, or give this one another folder with --results"
            ) from error

    @contextmanager
    def opened(self, kind: str, scope: dict[str, Any], shard: Shard) -> Iterator[None]:
        """Keep others out for the block, and write the header."""
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
                raise other_sweep(self.path, found)
            machines = tuple(dict.fromkeys((*before.machines, *machines)))
        self.write_header(Header(kind, made_by, scope, shards, machines))


def _this_machine() -> str:
    facts = machine()
    gib = facts["memory_bytes"] / 2**30
    return f"{facts['system']}, {facts['cpus']} cores, {gib:.0f} GiB, Python {facts['python']}"


def no_sweep(folder: Path) -> StowageError:
    """Return the error that there is nothing to report on."""
    return StowageError(f"{folder} holds no results of a sweep; make some with `stowage reproduce` and --results")


def other_sweep(folder: Path, differences: Sequence[str]) -> StowageError:
    """Return the error that a folder holds results of another program or kind."""
    return StowageError(
        f"{folder} holds results that cannot be resumed: {'; '.join(differences)}; "
        "name another folder with --results, or remove this one"
    )
