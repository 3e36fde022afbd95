"""Rows as Parquet, which every tool for tables reads."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import polars as pl

from stowage_testbed.base.whole_file import write_whole

RowT = TypeVar("RowT")

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
