"""From a snapshot to the packing problem that it poses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from stowage_optimizer.constraints.disruption_budgets import (
    Budgets,
    allowances,
    budgets_of,
)
from stowage_optimizer.constraints.eligibility import Eligibility
from stowage_optimizer.constraints.refusing import refused_classes
from stowage_optimizer.constraints.relations import RelationCompiler
from stowage_optimizer.constraints.resources import (
    Amounts,
    demand,
    dimensions,
    held_room,
    offer,
    scale,
)
from stowage_optimizer.constraints.shared_dimensions import (
    AntiAffinity,
    SharedDimension,
    anti_affinity,
    port_dimensions,
)
from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.model.relations import Relations
from stowage_optimizer.model.snapshot import Pod, Refusal, Snapshot

LEAST_ROOM = -(2**60)
"""An over-committed node lacks more only by pods that no machine could hold."""


def reduce_snapshot(snapshot: Snapshot, *, relations: bool = False) -> Packing:
    """Return the packing problem of ``snapshot``.

    With ``relations``, affinity and spread between pods are described in the packing;
    without, the classes that have them are refused.

    Pods of refused classes are left out: pending ones stay pending, running ones
    stay where they are and their room counts. So do running pods that may not move.
    """
    return _Reduction(snapshot, relations).packing()


@dataclass(slots=True)
class _Reduction:
    snapshot: Snapshot
    relational: bool
    anti_affinity: AntiAffinity = field(init=False)
    names: tuple[str, ...] = field(init=False)
    index: dict[str, int] = field(init=False)
    present: Counter[str] = field(init=False)
    shared: tuple[SharedDimension, ...] = field(init=False)
    demands: dict[str, Amounts] = field(init=False)
    refused: dict[str, list[Refusal]] = field(init=False)
    budgets: Budgets = field(init=False)

    def __post_init__(self) -> None:
        snapshot = self.snapshot
        self.names = dimensions(snapshot)
        self.index = {node.name: index for index, node in enumerate(snapshot.nodes)}
        self.present = Counter(pod.class_id for pod in snapshot.pods)
        self.anti_affinity = anti_affinity(snapshot, self.present)
        self.shared = (
            *port_dimensions(snapshot, self.present),
            *self.anti_affinity.dimensions,
        )
        self.demands = {
            class_id: demand(pod_class, self.names) + self._shared_demand(class_id)
            for class_id, pod_class in snapshot.classes.items()
        }
        self.refused = {}
        for class_id, refusal in refused_classes(
            snapshot, self.anti_affinity.others, relational=self.relational
        ):
            known = self.refused.setdefault(class_id, [])
            if refusal not in known:
                known.append(refusal)
        self.budgets = budgets_of(snapshot)

    def packing(self) -> Packing:
        """Return the whole problem, in the smallest equivalent units."""
        pods = [pod for pod in self.snapshot.pods if self._in_play(pod)]
        asked = {self.demands[name] for name in {pod.class_id for pod in pods}}
        room, scaled = scale(self._room({pod.uid for pod in pods}), asked)
        items = tuple(self._items(pods, scaled))
        class_of = tuple(pod.class_id for pod in pods)
        return Packing(
            node_names=tuple(node.name for node in self.snapshot.nodes),
            room=room,
            items=items,
            tiers=tuple(sorted({item.priority for item in items}, reverse=True)),
            refusals=tuple(self._refusals()),
            relations=self._relations(items, class_of) if self.relational else None,
            snapshot=self.snapshot,
            allowances=tuple(allowances(self.snapshot, self.budgets, items, class_of)),
        )

    def _shared_demand(self, class_id: str) -> Amounts:
        return tuple(one.takes.get(class_id, 0) for one in self.shared)

    def _items(
        self, pods: Iterable[Pod], scaled: Mapping[Amounts, Amounts]
    ) -> Iterator[Item]:
        eligibility = Eligibility(self.snapshot)
        # What pods of a class share is looked up once: of pods there are thousands.
        of_class: dict[str, tuple[int, Amounts, tuple[int, ...]]] = {}
        for pod in pods:
            if (known := of_class.get(pod.class_id)) is None:
                one = self.snapshot.class_of(pod)
                demanded = scaled[self.demands[one.id]]
                known = one.priority, demanded, eligibility.nodes(one)
                of_class[one.id] = known
            priority, demanded, nodes = known
            home = None if pod.node is None else self.index[pod.node]
            nodes = eligibility.with_home(nodes, home)
            yield Item(pod.uid, priority, demanded, nodes, home)

    def _relations(
        self, items: tuple[Item, ...], class_of: tuple[str, ...]
    ) -> Relations | None:
        compiler = RelationCompiler(self.snapshot, self.present)
        rules = compiler.rules(self.anti_affinity.others)
        if not rules:
            return None
        in_play = {item.pod_uid for item in items}
        return Relations(
            tallies=tuple(compiler.tallies),
            counting={one: tuple(found) for one, found in compiler.counting.items()},
            rules=rules,
            class_of=class_of,
            staying=tuple(
                (pod.class_id, self.index[pod.node], pod.terminating)
                for pod in self.snapshot.pods
                if pod.node is not None and pod.uid not in in_play
            ),
        )

    def _in_play(self, pod: Pod) -> bool:
        if pod.class_id in self.refused:
            return False
        if pod.node is None:
            return True
        return pod.movable and pod.class_id not in self.budgets.held

    def _room(self, in_play: set[str]) -> tuple[Amounts, ...]:
        room = [
            [
                *offer(node.allocatable, self.names),
                *(one.offer(index, self.present) for one in self.shared),
            ]
            for index, node in enumerate(self.snapshot.nodes)
        ]
        staying = (
            (pod.node, self.demands[pod.class_id])
            for pod in self.snapshot.pods
            if pod.node is not None and pod.uid not in in_play
        )
        for node, amounts in chain(staying, held_room(self.snapshot, self.names)):
            left = room[self.index[node]]
            for dimension, amount in enumerate(amounts):
                left[dimension] -= amount
        # No pod that requests anything fits either way; the solver counts in 64 bits.
        return tuple(
            tuple(max(amount, LEAST_ROOM) for amount in amounts) for amounts in room
        )

    def _refusals(self) -> Iterator[Refusal]:
        yield from self.snapshot.refusals
        for class_id, refusals in self.refused.items():
            if class_id in self.present:
                yield from refusals
        yield from self.budgets.refusals
