"""A comparison: what was asked for, its runs so far, what they say; and the folder from which all can be made again.

::

    compare.json                                what was compared, and the verdicts at the end
    records/<limits>/round-001-<arm>.json.gz    one run each, as soon as it is over
    configurations/<limits>-<arm>.txt           what the scheduler read
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import msgspec

from stowage_testbed.amounts.resources import names_of
from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.compare.arms.settings import ArmSettings
from stowage_testbed.compare.speed import Speed
from stowage_testbed.compare.verdicts import ArmVerdicts, MeasuredRun, Question, Verdict, judge
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.record import Metric, RunRecord, read_record, write_record
from stowage_testbed.scenario.model import GENERAL, OF_RECOVERY

ALL_HEADLINES = Question((*GENERAL, *OF_RECOVERY))
"""What is asked of a comparison that was made before scenarios had headlines."""


@dataclass(frozen=True, slots=True)
class ScenarioText:
    """The scenario as it was run: its file, whole, and the SHA-256 of that in UTF-8."""

    scenario_id: str
    text: str
    sha256: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArmEntry:
    """An arm, what it was built from, and by kind of client limits how it ran and the hash of its configuration."""

    name: str
    settings: Mapping[str, ArmSettings]
    configuration_sha256: Mapping[str, str] = field(default_factory=dict)
    build: str = ""


@dataclass(frozen=True, slots=True)
class PreflightRow:
    """One setting of all arms under one kind of client limits; fair if no arm has an advantage from it."""

    limits: str
    setting: str
    values: Mapping[str, str]
    fair: bool

    @property
    def differs(self) -> bool:
        """Whether the arms do not all have one value."""
        return len(set(self.values.values())) > 1


@dataclass(frozen=True)
class Comparison:
    """A comparison with its runs so far, in the order of limits, rounds and arms, of which the first is the baseline.

    Every arm runs under each kind of client ``limits``, and places ``warm_up`` pods before its window opens. ``rounds``
    were asked for; it is ``complete`` once its verdicts are written.
    """

    scenario: ScenarioText
    started: str
    baseline: str
    arms: tuple[ArmEntry, ...]
    limits: tuple[str, ...]
    rounds: int
    seed: int
    environment: Mapping[str, Any]
    preflight: tuple[PreflightRow, ...] = ()
    speed: Speed | None = None
    warm_up: int = 0
    question: Question = ALL_HEADLINES
    records: tuple[RunRecord, ...] = ()
    complete: bool = False

    @cached_property
    def runs(self) -> tuple[MeasuredRun, ...]:
        """The metrics of every run."""
        return tuple(
            MeasuredRun(one.arm, one.limits, one.round_number, metrics_of(one), one.error, one.clock)
            for one in self.records
        )

    @cached_property
    def verdicts(self) -> tuple[ArmVerdicts, ...]:
        """What the runs say of every arm that is compared with the baseline."""
        return judge(self.runs, self.baseline, self.question)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The names of the arms, the baseline first."""
        return tuple(entry.name for entry in self.arms)

    @property
    def others(self) -> tuple[str, ...]:
        """The arms that are compared with the baseline."""
        return tuple(arm for arm in self.arm_names if arm != self.baseline)

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that nodes of any run have, without pods."""
        return names_of(node.resources for record in self.records for node in record.nodes)

    def records_of(self, limits: str, arm: str | None = None) -> tuple[RunRecord, ...]:
        """Return the records of the runs that count, of one arm or of all."""
        return tuple(one for one in self.records if one.limits == limits and arm in {None, one.arm} and not one.error)

    def metrics(self, limits: str, arm: str, name: str) -> tuple[Metric, ...]:
        """Return one metric of every run of an arm that counts and has a value."""
        return tuple(
            metric
            for run in self.runs
            if run.limits == limits and run.arm == arm and not run.error
            for metric in run.metrics
            if metric.name == name and metric.value is not None
        )

    def values(self, limits: str, arm: str, name: str) -> tuple[float, ...]:
        """Return the values of one metric, one a run."""
        return tuple(one.value for one in self.metrics(limits, arm, name) if one.value is not None)

    def verdicts_on(self, limits: str, arm: str) -> ArmVerdicts | None:
        """Return the verdicts on an arm; `None` for the baseline, or without runs."""
        return next((one for one in self.verdicts if one.limits == limits and one.arm == arm), None)

    def verdict(self, limits: str, arm: str, name: str) -> Verdict | None:
        """Return the verdict on one metric of one arm."""
        found = self.verdicts_on(limits, arm)
        return next((one for one in found.verdicts if one.name == name), None) if found else None

    def with_records(self, records: Iterable[RunRecord]) -> Comparison:
        """Return it with these runs, in its order; strangers come last."""

        def place(record: RunRecord) -> tuple[int, int, int]:
            kinds, arms = (*self.limits, record.limits), (*self.arm_names, record.arm)
            return kinds.index(record.limits), record.round_number, arms.index(record.arm)

        return replace(self, records=tuple(sorted(records, key=place)))


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


FORMAT = "stowage.dev/compare/v2"
HEAD = "compare.json"


class Turn(NamedTuple):
    """One arm's run in one round under one kind of client limits: what its record is known by."""

    limits: str
    round_number: int
    arm: str

    @classmethod
    def of(cls, record: RunRecord) -> Turn:
        """Return whose record it is."""
        return cls(record.limits, record.round_number, record.arm)

    @property
    def folder(self) -> Path:
        """Where its manifests and logs are, among those of the comparison."""
        return Path(self.limits) / f"round-{self.round_number:03d}-{self.arm}"


class BundleMissingError(InputError):
    """There is no comparison where one was looked for."""

    def __init__(self, folder: Path) -> None:
        way_out = "`stowage compare` makes one, below results/compare unless given otherwise"
        super().__init__(f"{folder} holds no comparison (no compare.json); {way_out}")


def read_bundle(folder: Path) -> Comparison:
    """Return the comparison of a folder, with its runs; an `InputError` names every file that is broken or changed."""
    if not (folder / HEAD).is_file():
        raise BundleMissingError(folder)
    issues: list[str] = []
    comparison: Comparison | None = None
    try:
        head = msgspec.json.decode((folder / HEAD).read_bytes(), type=dict[str, Any])
        if head.get("format") == FORMAT:
            found = msgspec.convert(head.get("comparison"), Comparison)
            comparison = replace(found, complete=head.get("verdicts") is not None)
        else:
            issues.append(f"{HEAD}: format {head.get('format')!r}, this reads {FORMAT!r}")
    except msgspec.MsgspecError as error:
        issues.append(f"{HEAD}: {error}")
    # Records of another format would only be said to be broken, each of them.
    if comparison is not None:
        records = []
        for file in sorted((folder / "records").glob("*/*.json.gz")):
            try:
                records.append(read_record(gzip.decompress(file.read_bytes())))
            except (msgspec.MsgspecError, OSError, EOFError, zlib.error) as error:
                issues.append(f"{file.relative_to(folder)}: {error}")
        comparison = comparison.with_records(records)
        issues += _list_inconsistencies(folder, comparison)
    if issues or comparison is None:
        listed = "\n".join(f"  {issue}" for issue in issues)
        way_out = "put the files back as they were written; the comparison can be resumed after a broken record has"
        raise InputError(f"{folder} cannot be read:\n{listed}\n{way_out} been deleted")
    return comparison


def read_finished(folder: Path) -> Comparison:
    """Return the comparison of a folder; errors as of `read_bundle`, and an `InputError` if no run is in it."""
    comparison = read_bundle(folder)
    if not comparison.records:
        raise InputError(f"{folder} holds no finished run yet; resume the comparison")
    return comparison


class Bundle:
    """The folder of a comparison under way, by `create` or `resume`; each file is written whole or not at all."""

    def __init__(self, folder: Path, comparison: Comparison) -> None:
        self.folder = folder
        self.comparison = comparison

    @classmethod
    def create(cls, folder: Path, comparison: Comparison) -> Self:
        """Begin a comparison in a folder; an `InputError` if it has one."""
        if (folder / HEAD).exists():
            raise InputError(f"{folder} holds a comparison already; resume it, or name another folder")
        bundle = cls(folder, comparison)
        bundle._write_head()
        return bundle

    @classmethod
    def resume(cls, folder: Path) -> Self:
        """Go on with a comparison that was interrupted; errors as of `read_bundle`."""
        return cls(folder, replace(read_bundle(folder), complete=False))

    @property
    def done(self) -> frozenset[Turn]:
        """The runs whose records are there and count."""
        return frozenset(Turn.of(record) for record in self.comparison.records if not record.error)

    def extend(self, rounds: int) -> None:
        """Ask for more rounds than at first; never for fewer."""
        if rounds > self.comparison.rounds:
            self.comparison = replace(self.comparison, rounds=rounds)
            self._write_head()

    def add(self, record: RunRecord) -> None:
        """Keep a run, in place of one with the same key."""
        limits, number, arm = Turn.of(record)
        file = self.folder / "records" / _safe(limits) / f"round-{number:03}-{_safe(arm)}.json.gz"
        # Without a time stamp inside, equal records are equal files.
        write_whole(file, gzip.compress(write_record(record), mtime=0))
        others = (one for one in self.comparison.records if Turn.of(one) != Turn.of(record))
        self.comparison = self.comparison.with_records((*others, record))

    def add_configuration(self, limits: str, arm: str, text: str) -> None:
        """Keep what an arm's scheduler reads, and its hash; the first text counts, as others differ in paths."""
        by_name = {entry.name: entry for entry in self.comparison.arms}
        digests = by_name[arm].configuration_sha256
        if limits in digests:
            return
        write_whole(_configuration(self.folder, limits, arm), text)
        by_name[arm] = replace(by_name[arm], configuration_sha256={**digests, limits: sha256_of(text)})
        self.comparison = replace(self.comparison, arms=tuple(by_name.values()))
        self._write_head()

    def finish(self) -> Comparison:
        """Write the verdicts beside what they are about, and return the whole comparison."""
        self.comparison = replace(self.comparison, complete=True)
        self._write_head()
        return self.comparison

    def _write_head(self) -> None:
        comparison, elsewhere = self.comparison, {"records", "complete"}
        own = {one.name: getattr(comparison, one.name) for one in fields(comparison) if one.name not in elsewhere}
        verdicts = comparison.verdicts if comparison.complete else None
        document = {"format": FORMAT, "comparison": own, "verdicts": verdicts}
        write_whole(self.folder / HEAD, msgspec.json.format(msgspec.json.encode(document), indent=2))


def _list_inconsistencies(folder: Path, comparison: Comparison) -> Iterator[str]:
    if sha256_of(comparison.scenario.text) != comparison.scenario.sha256:
        yield f"{HEAD}: the scenario's text is not that of its sha256"
    for record in comparison.records:
        if record.arm not in comparison.arm_names or record.limits not in comparison.limits:
            yield f"a record is of arm {record.arm!r} with limits {record.limits!r}, which {HEAD} does not name"
    for entry in comparison.arms:
        for limits, digest in entry.configuration_sha256.items():
            path = _configuration(folder, limits, entry.name)
            if sha256_of(path.read_text(encoding="utf-8") if path.is_file() else "") != digest:
                yield f"{path.relative_to(folder)}: missing, or not that of its sha256"


def _configuration(folder: Path, limits: str, arm: str) -> Path:
    return folder / "configurations" / f"{_safe(limits)}-{_safe(arm)}.txt"


def _safe(name: str) -> str:
    """Return a name, which may be a user's, as one that stays in its folder."""
    return quote(name, safe="").replace(".", "%2E")
