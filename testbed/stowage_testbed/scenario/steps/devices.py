"""Steps that change the devices of nodes, as a driver does that finds them unhealthy, missing, or well again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.cluster.device_pools import change_slices
from stowage_testbed.cluster.devices import DeviceEffect, DeviceTaint, device_names
from stowage_testbed.observe.source import RESOURCE_SLICES
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.scenario.steps.nodes import await_watch, drop_taint
from stowage_testbed.scenario.types import Filled, Names, NodeNames


@dataclass(frozen=True, slots=True)
class TaintDevices(Action):
    """Give devices of nodes a taint, as a driver does that finds them unhealthy.

    NoExecute has pods deleted whose claims do not tolerate it.
    """

    kind = "taint-devices"
    nodes: NodeNames
    """Which nodes; `nodes` or `add-nodes` must give them devices."""
    effect: DeviceEffect
    """What happens to pods whose claims do not tolerate it."""
    devices: Names = ()
    """Which devices, as in gpu-0; without it, all. Partitions follow their device."""
    key: Filled = "stowage.dev/unhealthy"
    """The taint's key."""
    value: str = ""
    """The taint's value."""

    def carry_out(self, context: StepContext) -> None:
        """It takes the place of one of the same key and effect."""
        new = DeviceTaint(key=self.key, effect=self.effect, value=self.value).manifest()

        def taint(device: Manifest) -> Manifest:
            former: list[dict[str, Any]] = device.get("taints") or []
            return {**device, "taints": [*drop_taint(former, self.key, self.effect), new]}

        def change(meant: Collection[str], now: list[Manifest], _: list[Manifest]) -> list[Manifest]:
            return [taint(one) if one["name"] in meant else one for one in now]

        _change(context, self.nodes, self.devices, change)


@dataclass(frozen=True, slots=True)
class RemoveDevices(Action):
    """Have devices of nodes vanish with their partitions; allocations stay."""

    kind = "remove-devices"
    nodes: NodeNames
    """Which nodes; `nodes` or `add-nodes` must give them devices."""
    devices: Names = ()
    """Which devices, as in gpu-0; without it, all."""

    def carry_out(self, context: StepContext) -> None:
        def change(meant: Collection[str], now: list[Manifest], _: list[Manifest]) -> list[Manifest]:
            return [one for one in now if one["name"] not in meant]

        _change(context, self.nodes, self.devices, change)


@dataclass(frozen=True, slots=True)
class RestoreDevices(Action):
    """Give nodes the devices again that the file describes, with no other taints than those in the file."""

    kind = "restore-devices"
    bare = True
    nodes: NodeNames

    def carry_out(self, context: StepContext) -> None:
        _change(context, self.nodes, (), lambda _meant, _now, described: described)


Change = Callable[[Collection[str], list[Manifest], list[Manifest]], list[Manifest]]
"""Takes the names of the devices that are meant, and what `ChangeDevices` takes."""


def _change(context: StepContext, nodes: Iterable[str], devices: Collection[str], change: Change) -> None:
    """Change devices and their partitions, without names all, and return when the watch has all slices as they are.

    Of a pool whose slices are not all of one generation, the scheduler allocates nothing.
    """
    by_node = context.scenario.devices_by_node
    for node in nodes:
        described = by_node[node]
        known = device_names(described)
        meant = {name for device in devices or known for name in known[device]}
        # All at once: while the first ones are awaited, the pool would be of two generations.
        for changed in list(change_slices(context.objects, node, described, partial(change, meant))):
            await_watch(context, changed, RESOURCE_SLICES.kind)
