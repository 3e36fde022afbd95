"""In which turn pods leave a node: those that are hardest to place first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.message import resources_of
from stowage_testbed.amounts.resources import Resources

Turn = tuple[int, Fraction, str]


@dataclass(slots=True)
class Turns:
    """The turns of a snapshot's pods, as the release has them.

    Those of the highest priority come first, then those that take most of their node.
    """

    snapshot: pb.Snapshot
    _room: dict[str, Resources] = field(init=False)
    _classes: dict[str, tuple[int, Resources]] = field(init=False)
    _pods: dict[str, pb.Pod] = field(init=False)

    def __post_init__(self) -> None:
        self._room = {one.name: resources_of(one.allocatable) for one in self.snapshot.nodes}
        self._classes = {one.id: (one.priority, resources_of(one.requests)) for one in self.snapshot.pod_classes}
        self._pods = {pod.uid: pod for pod in self.snapshot.pods}

    def of(self, uids: Iterable[str]) -> tuple[str, ...]:
        """Return pods in their turn."""
        return tuple(sorted(uids, key=self._turn))

    def _turn(self, uid: str) -> Turn:
        pod = self._pods[uid]
        priority, requests = self._classes[pod.class_id]
        room = self._room[pod.node]
        shares = [Fraction(requests[name], room[name]) for name in requests if room[name]]
        largest = max(shares, default=Fraction(0))
        return -priority, -largest, f"{pod.namespace}/{pod.name}"
