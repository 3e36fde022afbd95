"""A comparison with all that is computed from its runs."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.amounts.resources import names_of
from stowage_testbed.compare.bundle import Bundle
from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.verdicts.judging import judge
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts, MeasuredRun
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord


@dataclass(frozen=True, slots=True)
class Result:
    """What tables and pages are made from: records, and their metrics in that order."""

    comparison: Comparison
    records: tuple[RunRecord, ...]
    runs: tuple[MeasuredRun, ...]
    verdicts: tuple[ArmVerdicts, ...]
    complete: bool

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms, in the order in which they were given."""
        return tuple(entry.name for entry in self.comparison.arms)

    @property
    def others(self) -> tuple[str, ...]:
        """The arms that are compared with the baseline."""
        return tuple(arm for arm in self.arms if arm != self.comparison.baseline)

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that nodes of any run have, without pods."""
        return names_of(node.resources for record in self.records for node in record.nodes)

    def of(self, limits: str, arm: str) -> tuple[MeasuredRun, ...]:
        """Return the runs of an arm that count."""
        return tuple(run for run in self.runs if run.limits == limits and run.arm == arm and not run.error)

    def records_of(self, limits: str, arm: str) -> tuple[RunRecord, ...]:
        """Return the records of the runs of an arm that count."""
        return tuple(
            record for record in self.records if record.limits == limits and record.arm == arm and not record.error
        )

    def metrics(self, limits: str, arm: str, name: str) -> tuple[Metric, ...]:
        """Return one metric of every run of an arm that counts and has a value."""
        return tuple(
            metric
            for run in self.of(limits, arm)
            for metric in run.metrics
            if metric.name == name and metric.value is not None
        )

    def values(self, limits: str, arm: str, name: str) -> tuple[float, ...]:
        """Return the values of one metric, one a run."""
        found = (metric.value for metric in self.metrics(limits, arm, name))
        return tuple(value for value in found if value is not None)

    def judged(self, limits: str, arm: str) -> ArmVerdicts | None:
        """Return what is said of an arm, ``None`` of the baseline or without runs."""
        for one in self.verdicts:
            if one.limits == limits and one.arm == arm:
                return one
        return None


def measured(record: RunRecord) -> MeasuredRun:
    """Return the metrics of a run."""
    return MeasuredRun(record.arm, record.limits, record.round_number, metrics_of(record), record.error, record.clock)


def result_of(bundle: Bundle) -> Result:
    """Return a comparison's metrics and verdicts."""
    runs = tuple(measured(record) for record in bundle.records)
    return Result(
        comparison=bundle.comparison,
        records=bundle.records,
        runs=runs,
        verdicts=judge(runs, bundle.comparison.baseline, bundle.comparison.question),
        complete=bundle.complete,
    )
