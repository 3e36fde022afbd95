"""Records of recovery runs, as a run with the simulated autoscaler would leave them."""

from __future__ import annotations

from simulated_hpa import SimulatedHpa

from stowage_testbed.hpa.phases.load import find, hold
from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.hpa.settings import FULL, RecoverySettings
from stowage_testbed.hpa.timeline import Replicas


def hpa_record(settings: RecoverySettings = FULL) -> HpaRecord:
    """Return the record of a run whose autoscaler reads what the pods use."""
    target = SimulatedHpa(settings)
    levels = find(target, settings)
    windows = hold(target, settings, levels[-1].clients)
    return HpaRecord(
        settings=settings,
        find=levels,
        hold=windows,
        replicas=tuple(
            Replicas(count.at_s, count.ready, count.ready, 208)
            for count in target.counts
        ),
        pods=tuple(target.counts),
    )
