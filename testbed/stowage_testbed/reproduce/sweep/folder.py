"""The folder of a sweep: its journals, what made them, and its rows as Parquet, which every tool for tables reads."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import polars as pl
from filelock import FileLock, Timeout

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.files import write_whole
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.toolchain import choose_minor, tool_build
from stowage_testbed.toolchain.environment import machine, package_versions, source_digest

RECIPE = 2
"""Counted up whenever a task would give other rows than before."""

PACKAGES = ("numba", "numpy", "ortools")

RowT = TypeVar("RowT")


def program() -> dict[str, str]:
    """Return what must be the same wherever rows of one sweep are made."""
    versions = package_versions()
    return {
        "recipe": str(RECIPE),
        "optimiser": source_digest(),
        "simulator": tool_build("stowage-simulate", choose_minor()),
        **{name: versions[name] for name in PACKAGES},
    }


def find_differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Return what differs, as in ``ortools 9.15 here, 9.14 there``."""
    return [
        f"{name} {here.get(name, 'none')} here, {there.get(name, 'none')} there"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]


HEADER = "sweep.json"


@dataclass(frozen=True, slots=True)
class Header:
    """What a folder's rows were made of; the scope is what was asked for, as JSON values."""

    kind: str
    program: dict[str, str]
    scope: dict[str, Any]
    machines: tuple[str, ...]


class SweepFolder:
    """A folder of results."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def journal(self, name: str, row_type: type[RowT]) -> TaskJournal[RowT]:
        """Return one of the journals, with what is in it."""
        return TaskJournal(self.path / f"{name}.jsonl", row_type)

    def header(self) -> Header:
        """Return what the rows were made of; a `StowageError` if there are none."""
        file = self.path / HEADER
        if not file.is_file():
            raise StowageError(
                f"{self.path} holds no results of a sweep; make some with `stowage reproduce` and --results"
            )
        return msgspec.json.decode(file.read_bytes(), type=Header)

    def write_header(self, header: Header) -> None:
        """Write the header, whole or not at all."""
        content = msgspec.json.format(msgspec.json.encode(header), indent=1)
        write_whole(self.path / HEADER, content + b"\n")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others out for the block; a `StowageError` if somebody else is at work here."""
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path / ".lock", timeout=0):
                yield
        except Timeout as error:
            raise StowageError(
                f"another sweep is at work in {self.path}; wait for it, or name another folder with --results"
            ) from error

    @contextmanager
    def opened(self, kind: str, scope: dict[str, Any]) -> Iterator[None]:
        """Keep others out for the block, and write the header; a `StowageError` for rows of another kind or program."""
        with self.alone():
            made_by, facts = program(), machine()
            machines: tuple[str, ...] = ()
            if (self.path / HEADER).is_file():
                before = self.header()
                found = find_differences(made_by, before.program)
                if before.kind != kind:
                    found.append(f"it reproduces {before.kind}, not {kind}")
                if found:
                    raise StowageError(
                        f"{self.path} holds results that cannot be resumed: {'; '.join(found)}; name another folder "
                        "with --results, or remove this one"
                    )
                machines = before.machines
            gib = facts["memory_bytes"] / 2**30
            here = f"{facts['system']}, {facts['cpus']} cores, {gib:.0f} GiB, Python {facts['python']}"
            self.write_header(Header(kind, made_by, scope, tuple(dict.fromkeys((*machines, here)))))
            yield


_PLAIN: dict[type, Any] = {bool: pl.Boolean, float: pl.Float64, int: pl.Int64, str: pl.String}


def frame_of(rows: Iterable[RowT], row_type: type[RowT]) -> pl.DataFrame:
    """Return rows as a table with a column a field, also if there are none."""
    return pl.DataFrame([msgspec.to_builtins(row) for row in rows], schema=_schema(row_type))


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Write a table, whole or not at all."""
    content = io.BytesIO()
    frame.write_parquet(content)
    write_whole(path, content.getvalue())


def read_rows(path: Path, row_type: type[RowT]) -> tuple[RowT, ...]:
    """Return the rows of a file, which may have further columns."""
    columns = [field.name for field in dataclasses.fields(row_type)]  # type: ignore[arg-type] # a dataclass
    records = pl.read_parquet(path, columns=columns).to_dicts()
    return msgspec.convert(records, tuple[row_type, ...])  # type: ignore[valid-type] # known at run time


def _schema(row_type: type) -> dict[str, Any]:
    hints = get_type_hints(row_type)
    return {field.name: _column(hints[field.name]) for field in dataclasses.fields(row_type)}


def _column(hint: Any) -> Any:
    if get_origin(hint) is tuple:
        return pl.List(_column(get_args(hint)[0]))
    if dataclasses.is_dataclass(hint):
        assert isinstance(hint, type)  # noqa: S101 - a type hint is no instance
        return pl.Struct(_schema(hint))
    return _PLAIN[hint]
