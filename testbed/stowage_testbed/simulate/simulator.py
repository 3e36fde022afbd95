"""Placing the pods of many instances, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowage_testbed.simulate.errors import InstanceRefusedError
from stowage_testbed.simulate.instance import Instance, Measurement, Placements
from stowage_testbed.simulate.process import SimulatorProcess


class Simulator(SimulatorProcess):
    """The scheduler without an API server, for as long as the ``with`` block lasts.

    The parameters are those of `SimulatorProcess`.

    Examples
    --------
    >>> with Simulator(profile_file("deterministic")) as simulator:
    ...     placements = simulator.place(instance)  # doctest: +SKIP
    """

    def place(self, instance: Instance) -> Placements:
        """Return where the scheduler puts the instance's pods.

        Raises
        ------
        InstanceRefusedError
            The instance has issues, or a plugin failed on it. The simulator keeps
            running.
        SimulatorEndedError, SimulatorTimeoutError
            As `SimulatorProcess.ask` says.
        """
        answer = self.ask(instance.id, instance.content())
        if answer.get("error"):
            raise InstanceRefusedError(instance.id, answer["error"])
        return Placements(
            id=answer["id"],
            nodes={pod: node or None for pod, node in answer["placements"].items()},
            evicted=tuple(answer.get("evicted", ())),
            measurement=_measurement(answer.get("measurement")),
        )


def _measurement(said: Mapping[str, Any] | None) -> Measurement | None:
    if said is None:
        return None
    return Measurement(
        pods_s=said["podsSeconds"],
        cpu_s=said["cpuSeconds"],
        arrived=said["arrived"],
        counters=said.get("counters", {}),
    )
