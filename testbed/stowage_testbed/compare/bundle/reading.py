"""Reads a comparison's folder, and names every file that is broken."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stowage_testbed.compare.bundle.comparison import Comparison, sha256_of
from stowage_testbed.compare.bundle.errors import BundleBrokenError, BundleMissingError
from stowage_testbed.compare.bundle.layout import (
    FORMAT,
    HEAD,
    RECORDS,
    configuration_path,
)
from stowage_testbed.metrics.record import RunRecord


@dataclass(frozen=True, slots=True)
class Bundle:
    """A comparison and its runs so far, by limits, round and place in the arms' order.

    Attributes
    ----------
    complete
        Whether the verdicts were written, which is the last that a comparison does.
    """

    folder: Path
    comparison: Comparison
    records: tuple[RunRecord, ...]
    complete: bool


@dataclass(frozen=True)
class _Head:
    """``compare.json``."""

    format: str
    comparison: Comparison
    verdicts: list[dict[str, Any]] | None = None


def read_bundle(folder: Path) -> Bundle:
    """Return the comparison of a folder.

    Raises
    ------
    BundleMissingError
        There is none.
    BundleBrokenError
        Files are broken, or differ from their hashes.
    """
    path = folder / HEAD
    if not path.is_file():
        raise BundleMissingError(folder)
    issues: list[str] = []
    head = _head(path, issues)
    records = [
        record
        for file in sorted((folder / RECORDS).glob("*/*.json.gz"))
        if (record := _record(file, folder, issues)) is not None
    ]
    if head is not None:
        issues += _strangers(head.comparison, records)
        issues += _changed(folder, head.comparison)
    if issues or head is None:
        raise BundleBrokenError(folder, issues)
    return Bundle(
        folder,
        head.comparison,
        _in_order(head.comparison, records),
        head.verdicts is not None,
    )


def _head(path: Path, issues: list[str]) -> _Head | None:
    try:
        head = msgspec.json.decode(path.read_bytes(), type=_Head)
    except msgspec.MsgspecError as error:
        issues.append(f"{path.name}: {error}")
        return None
    if head.format != FORMAT:
        issues.append(f"{path.name}: format {head.format!r}, this reads {FORMAT!r}")
        return None
    scenario = head.comparison.scenario
    if sha256_of(scenario.text) != scenario.sha256:
        issues.append(f"{path.name}: the scenario's text is not that of its sha256")
    return head


def _record(file: Path, folder: Path, issues: list[str]) -> RunRecord | None:
    try:
        return msgspec.json.decode(gzip.decompress(file.read_bytes()), type=RunRecord)
    except (msgspec.MsgspecError, OSError, EOFError, zlib.error) as error:
        issues.append(f"{file.relative_to(folder)}: {error}")
        return None


def _strangers(comparison: Comparison, records: Sequence[RunRecord]) -> list[str]:
    arms = {entry.name for entry in comparison.arms}
    return [
        f"a record is of arm {record.arm!r} with limits {record.limits!r}, "
        "which compare.json does not name"
        for record in records
        if record.arm not in arms or record.limits not in comparison.limits
    ]


def _changed(folder: Path, comparison: Comparison) -> list[str]:
    issues = []
    for entry in comparison.arms:
        for limits, digest in entry.configuration_sha256.items():
            path = configuration_path(folder, limits, entry.name)
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            if sha256_of(text) != digest:
                name = path.relative_to(folder)
                issues.append(f"{name}: missing, or not that of its sha256")
    return issues


def _in_order(
    comparison: Comparison, records: Sequence[RunRecord]
) -> tuple[RunRecord, ...]:
    arms = [entry.name for entry in comparison.arms]
    return tuple(
        sorted(
            records,
            key=lambda record: (
                comparison.limits.index(record.limits),
                record.round_number,
                arms.index(record.arm),
            ),
        )
    )
