"""A benchmark of hours survives an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_records import a_record

from benchmarks.optimizer.journal import Journal
from stowage_testbed.errors import StowageError


def test_what_was_measured_is_there_after_an_interruption(tmp_path: Path) -> None:
    """Every record is on disk before the next call begins."""
    record = a_record(((0, 3, 0), (-1, 9, -5)), refused=("class a",))
    Journal(tmp_path / "records").add(record)

    again = Journal(tmp_path / "records")

    assert again.records() == (record,)
    assert (record.case, record.arm) in again


def test_a_half_written_last_line_is_measured_again(tmp_path: Path) -> None:
    """It is what a kill in the middle of a write leaves."""
    path = tmp_path / "records"
    first, second = a_record(), a_record(arm="second")
    Journal(path).add(first)
    with path.open("a") as file:
        file.write('{"case": "pap')

    journal = Journal(path)
    journal.add(second)

    assert Journal(path).records() == (first, second)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    """Silently leaving it out would change the figures."""
    path = tmp_path / "records"
    path.write_text('{"case": 1}\n')

    with pytest.raises(StowageError, match="records:1: is no record"):
        Journal(path)
