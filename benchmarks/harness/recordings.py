"""Recorded bursts in one compact file: what tests of statistics are made from."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from benchmarks.harness.burst import Burst, BurstEnvironment
from benchmarks.harness.runs import measured_burst
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.recording.run_record import RunLabel

SCENARIO_ID = "burst/deployment-200"


def recorded_bursts(
    environment: BurstEnvironment, replicas: int, arm: str, rounds: int
) -> Iterator[RunRecord]:
    """Yield so many measured bursts of one scheduler, after one that warms it up."""
    burst = Burst(replicas, environment.pod_overrides)
    with environment.cluster.api_client() as api:
        for number in range(rounds + 1):
            label = RunLabel(
                SCENARIO_ID, arm, "equal", round_number=number, warm=number > 0
            )
            made = measured_burst(
                environment.cluster, api, burst, label, environment.pids
            )
            if number:
                yield made.record


def write_recordings(file: Path, records: Iterable[RunRecord]) -> None:
    """Write records as compressed JSON lines; the same records give the same bytes."""
    lines = (msgspec.json.encode(record) + b"\n" for record in records)
    file.write_bytes(gzip.compress(b"".join(lines), mtime=0))
