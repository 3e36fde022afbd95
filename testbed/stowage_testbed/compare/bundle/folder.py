"""Writes a comparison's folder while the comparison goes on: what was had is kept."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import msgspec

from stowage_testbed.compare.bundle.comparison import Comparison, sha256_of
from stowage_testbed.compare.bundle.errors import BundleExistsError
from stowage_testbed.compare.bundle.layout import (
    FORMAT,
    HEAD,
    configuration_path,
    record_path,
)
from stowage_testbed.compare.bundle.reading import read_bundle
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.whole_file import write_whole

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
        BundleExistsError
            It has one.
        """
        if (folder / HEAD).exists():
            raise BundleExistsError(folder)
        made = cls(folder, comparison)
        made._write_head()
        return made

    @classmethod
    def resume(cls, folder: Path) -> Self:
        """Go on with a comparison that was interrupted.

        Raises
        ------
        BundleMissingError, BundleBrokenError
            As `read_bundle` says.
        """
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
        packed = gzip.compress(msgspec.json.encode(record), mtime=0)
        write_whole(record_path(self.folder, limits, number, arm), packed)
        if not record.error:
            self._done.add((limits, number, arm))

    def add_configuration(self, limits: str, arm: str, text: str) -> None:
        """Keep what an arm's scheduler reads, and its hash."""
        write_whole(configuration_path(self.folder, limits, arm), text)
        arms = tuple(
            replace(
                entry,
                configuration_sha256={
                    **entry.configuration_sha256,
                    limits: sha256_of(text),
                },
            )
            if entry.name == arm
            else entry
            for entry in self._comparison.arms
        )
        self._comparison = replace(self._comparison, arms=arms)
        self._write_head()

    def finish(self, verdicts: Sequence[ArmVerdicts]) -> None:
        """Write the verdicts beside what they are about."""
        self._write_head([one.document() for one in verdicts])

    def _write_head(self, verdicts: list[dict[str, Any]] | None = None) -> None:
        document = {
            "format": FORMAT,
            "comparison": self._comparison,
            "verdicts": verdicts,
        }
        text = msgspec.json.format(msgspec.json.encode(document), indent=2)
        write_whole(self.folder / HEAD, text)


def _key(record: RunRecord) -> Key:
    return record.limits, record.round_number, record.arm
