"""The folder of a comparison: every table and picture can be made from it again.

::

    compare.json                          what was compared, and the verdicts at the end
    records/<limits>/round-001-<arm>.json.gz    one run each, as soon as it is over
    configurations/<limits>-<arm>.txt     what the scheduler read

It is written while the comparison goes on: what was had is kept.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import msgspec

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.compare.comparison import Comparison, sha256_of
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts
from stowage_testbed.metrics.record import RunRecord, read_record, write_record

FORMAT = "stowage.dev/compare/v2"


class BundleMissingError(InputError):
    """There is no comparison where one was looked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds no comparison (no compare.json); `stowage compare` makes "
            "one, below results/compare unless given otherwise"
        )


HEAD = "compare.json"
RECORDS = "records"
CONFIGURATIONS = "configurations"


def record_path(folder: Path, limits: str, round_number: int, arm: str) -> Path:
    """Return the file of one run; a user's arm may have any name."""
    name = f"round-{round_number:03}-{_safe(arm)}.json.gz"
    return folder / RECORDS / _safe(limits) / name


def configuration_path(folder: Path, limits: str, arm: str) -> Path:
    """Return the file of what an arm's scheduler read."""
    return folder / CONFIGURATIONS / f"{_safe(limits)}-{_safe(arm)}.txt"


def _safe(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A comparison and its runs so far, by limits, round and place in the arms' order.

    It is complete once the verdicts are written, which a comparison does last.
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
    InputError
        Files are broken, or differ from their hashes.
    """
    path = folder / HEAD
    if not path.is_file():
        raise BundleMissingError(folder)
    issues: list[str] = []
    head = _head(path, issues)
    records: list[RunRecord] = []
    if head is not None:
        # Records of another format would only be said to be broken, each of them.
        files = sorted((folder / RECORDS).glob("*/*.json.gz"))
        found = (_record(file, folder, issues) for file in files)
        records += (record for record in found if record is not None)
        issues += _strangers(head.comparison, records)
        issues += _changed(folder, head.comparison)
    if issues or head is None:
        listed = "\n".join(f"  {issue}" for issue in issues)
        raise InputError(
            f"{folder} cannot be read:\n{listed}\n"
            "put the files back as they were written; the comparison can be resumed "
            "after a broken record has been deleted"
        )
    return Bundle(folder, head.comparison, _in_order(head.comparison, records), head.verdicts is not None)


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
        return read_record(gzip.decompress(file.read_bytes()))
    except (msgspec.MsgspecError, OSError, EOFError, zlib.error) as error:
        issues.append(f"{file.relative_to(folder)}: {error}")
        return None


def _strangers(comparison: Comparison, records: Sequence[RunRecord]) -> list[str]:
    arms = {entry.name for entry in comparison.arms}
    return [
        f"a record is of arm {record.arm!r} with limits {record.limits!r}, which compare.json does not name"
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


def _in_order(comparison: Comparison, records: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    arms = [entry.name for entry in comparison.arms]
    return tuple(
        sorted(
            records,
            key=lambda record: (comparison.limits.index(record.limits), record.round_number, arms.index(record.arm)),
        )
    )


Key = tuple[str, int, str]
"""Limits, round and arm: what a run is known by."""


class BundleFolder:
    """The folder of a comparison that is under way.

    Made by `create` or `resume`. Each file is there whole or not at all.
    """

    def __init__(self, folder: Path, comparison: Comparison) -> None:
        self.folder = folder
        self._comparison = comparison
        self._done: set[Key] = set()

    @classmethod
    def create(cls, folder: Path, comparison: Comparison) -> Self:
        """Begin a comparison in a folder that has none.

        Raises
        ------
        InputError
            It has one.
        """
        if (folder / HEAD).exists():
            raise InputError(f"{folder} holds a comparison already; resume it, or name another folder")
        made = cls(folder, comparison)
        made._write_head()
        return made

    @classmethod
    def resume(cls, folder: Path) -> Self:
        """Go on with a comparison that was interrupted."""
        bundle = read_bundle(folder)
        made = cls(folder, bundle.comparison)
        made._done = {_key(one) for one in bundle.records if not one.error}
        return made

    @property
    def comparison(self) -> Comparison:
        """What is compared, with the configurations seen so far."""
        return self._comparison

    def extend(self, rounds: int) -> None:
        """Ask for more rounds than at first; never for fewer."""
        if rounds > self._comparison.rounds:
            self._comparison = replace(self._comparison, rounds=rounds)
            self._write_head()

    @property
    def done(self) -> frozenset[Key]:
        """The runs whose records are there and count."""
        return frozenset(self._done)

    def add(self, record: RunRecord) -> None:
        """Keep a run."""
        limits, number, arm = _key(record)
        # Without a time stamp inside, equal records are equal files.
        packed = gzip.compress(write_record(record), mtime=0)
        write_whole(record_path(self.folder, limits, number, arm), packed)
        if not record.error:
            self._done.add((limits, number, arm))

    def add_configuration(self, limits: str, arm: str, text: str) -> None:
        """Keep what an arm's scheduler reads, and its hash."""
        write_whole(configuration_path(self.folder, limits, arm), text)
        arms = tuple(
            replace(entry, configuration_sha256={**entry.configuration_sha256, limits: sha256_of(text)})
            if entry.name == arm
            else entry
            for entry in self._comparison.arms
        )
        self._comparison = replace(self._comparison, arms=arms)
        self._write_head()

    def finish(self, verdicts: Sequence[ArmVerdicts]) -> None:
        """Write the verdicts beside what they are about."""
        self._write_head(verdicts)

    def _write_head(self, verdicts: Sequence[ArmVerdicts] | None = None) -> None:
        document = {"format": FORMAT, "comparison": self._comparison, "verdicts": verdicts}
        text = msgspec.json.format(msgspec.json.encode(document), indent=2)
        write_whole(self.folder / HEAD, text)


def _key(record: RunRecord) -> Key:
    return record.limits, record.round_number, record.arm
