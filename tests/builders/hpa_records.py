"""Records of recovery runs, as a run with the simulated autoscaler would leave them."""

from __future__ import annotations

from simulated_hpa import SimulatedHpa

from testbed.hpa.phases.find import find
from testbed.hpa.phases.hold import hold
from testbed.hpa.record import HpaRecord
from testbed.hpa.settings import FULL, RecoverySettings
from testbed.hpa.timeline import Replicas
from testbed.metrics.record import NodeRecord, PodRecord, RunRecord


def hpa_record(settings: RecoverySettings = FULL, *, error: str = "") -> HpaRecord:
    """Return the record of a run whose autoscaler reads what the pods use."""
    target = SimulatedHpa(settings)
    levels = find(target, settings)
    windows = hold(target, settings, levels[-1].clients)
    pods = tuple(
        PodRecord(f"u{n}", f"web-{n}", "web", 0, 200, 0, "n-0", 1.0, 1.5, 2.0)
        for n in range(4)
    )
    return HpaRecord(
        run=RunRecord(
            scenario_id="hpa/recovery",
            arm="default",
            limits="own",
            round_number=1,
            nodes=(NodeRecord("n-0", 2000, 8 << 30),),
            pods=pods,
            window_s=windows[-1].end_s - windows[0].start_s,
            error=error,
        ),
        settings=settings,
        find=levels,
        hold=windows,
        replicas=tuple(
            Replicas(count.at_s, count.ready, count.ready, 208)
            for count in target.counts
        ),
        pods=tuple(target.counts),
    )
