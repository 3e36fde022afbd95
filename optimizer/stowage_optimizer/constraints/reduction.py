"""From a snapshot to the packing problem that it poses."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, compress

import numpy as np

from stowage_optimizer.constraints.device_bins import DeviceBins, device_bins
from stowage_optimizer.constraints.disruption_budgets import Budgets, budgets_of
from stowage_optimizer.constraints.eligibility import Eligibility
from stowage_optimizer.constraints.refusals import Gangs, refused_classes, refused_gangs
from stowage_optimizer.constraints.resources import Amounts, demand, dimensions, held_room, offer, scale
from stowage_optimizer.constraints.shared_dimensions import (
    AntiAffinity,
    SharedDimension,
    anti_affinity,
    port_dimensions,
)
from stowage_optimizer.model.node import LARGEST_TOTAL
from stowage_optimizer.model.packing import ItemKind, Packing
from stowage_optimizer.model.problem import NOWHERE, Flags, Indices
from stowage_optimizer.model.snapshot import Refusal, Snapshot

LEAST_ROOM = -(2**60)
"""An over-committed node lacks more only by pods that no machine could hold."""


def reduce_snapshot(snapshot: Snapshot, *, relations: bool = False, gangs: Gangs = Gangs.LEFT_ALONE) -> Packing:
    """Return the packing problem of ``snapshot``.

    Without ``relations`` the classes that have affinity or spread are refused, and those of
    gangs as far as ``gangs`` says. What ties the items to each other is not in it: see
    `stowage_optimizer.ties.registry`.

    Pods of refused classes are left out: pending ones stay pending, running ones
    stay where they are and their room counts. So do running pods that may not move.
    """
    return _Reduction(snapshot, relations, gangs).packing()


@dataclass(slots=True)
class _Reduction:
    snapshot: Snapshot
    relational: bool
    gangs: Gangs
    anti_affinity: AntiAffinity = field(init=False)
    names: tuple[str, ...] = field(init=False)
    index: dict[str, int] = field(init=False)
    home: Indices = field(init=False)
    present: Counter[str] = field(init=False)
    shared: tuple[SharedDimension, ...] = field(init=False)
    demands: dict[str, Amounts] = field(init=False)
    refused: dict[str, list[Refusal]] = field(init=False)
    budgets: Budgets = field(init=False)
    devices: DeviceBins | None = field(init=False)
    held_otherwise: Flags | None = field(init=False)

    def __post_init__(self) -> None:
        snapshot = self.snapshot
        self.names = dimensions(snapshot)
        self.index = {node.name: index for index, node in enumerate(snapshot.nodes)}
        self.home = np.array([self.index.get(name, NOWHERE) for name in snapshot.pods.node], np.int32)
        self.present = Counter(snapshot.pods.class_id)
        self.anti_affinity = anti_affinity(snapshot, self.present)
        self.shared = (*port_dimensions(snapshot, self.present), *self.anti_affinity.dimensions)
        self.demands = {
            class_id: demand(pod_class, self.names) + self._shared_demand(class_id)
            for class_id, pod_class in snapshot.classes.items()
        }
        self.devices = device_bins(snapshot)
        self.held_otherwise = None if self.devices is None else self.devices.held_otherwise()
        self.refused = {}
        refused = refused_classes(snapshot, self.anti_affinity.others, relational=self.relational)
        for class_id, refusal in chain(refused, () if self.devices is None else self.devices.refused()):
            known = self.refused.setdefault(class_id, [])
            if refusal not in known:
                known.append(refusal)
        # Half a gang is none: they come last.
        of_gangs = refused_gangs(snapshot, self.refused, self.present, self.gangs)
        self.refused |= {class_id: [refusal] for class_id, refusal in of_gangs}
        self.budgets = budgets_of(snapshot)

    def packing(self) -> Packing:
        """Return the whole problem, in the smallest equivalent units."""
        snapshot, pods = self.snapshot, self.snapshot.pods
        in_play = self._in_play()
        members = np.flatnonzero(in_play).astype(np.int32)
        present = np.unique(pods.class_number[members]).tolist()
        asked = {self.demands[pods.classes[number]] for number in present}
        room, scaled = scale(self._room(in_play), asked)
        kinds, kind = self._kinds(members, scaled)
        tiers = {one.priority for one in kinds}
        uids = tuple(compress(pods.uid, in_play.tolist()))
        asking = self.devices is not None and any(one.requests for one in kinds)
        return Packing(
            node_names=tuple(node.name for node in snapshot.nodes),
            room=room,
            kinds=kinds,
            kind=kind,
            home=self.home[members],
            pod_uids=uids,
            tiers=tuple(sorted(tiers, reverse=True)),
            refusals=tuple(dict.fromkeys(self._refusals())),
            snapshot=snapshot,
            bins=self.devices.bins(uids) if self.devices is not None and asking else None,
        )

    def _shared_demand(self, class_id: str) -> Amounts:
        return tuple(one.takes.get(class_id, 0) for one in self.shared)

    def _kinds(self, members: Indices, scaled: Mapping[Amounts, Amounts]) -> tuple[tuple[ItemKind, ...], Indices]:
        """Return the kinds of the pods ``members``, and which one each pod is of.

        Pods of a class are of one kind, but for those at nodes that no other may come
        to.
        """
        pods, classes = self.snapshot.pods, self.snapshot.classes
        number, home = pods.class_number[members], self.home[members]
        eligibility = Eligibility(self.snapshot, self.devices)
        nodes = {
            class_number: eligibility.nodes(classes[pods.classes[class_number]])
            for class_number in np.unique(number).tolist()
        }
        # Thousands of classes share a few answers: each is kept once.
        row = {one: at for at, one in enumerate(dict.fromkeys(nodes.values()))}
        row_of = np.zeros(len(pods.classes), np.intp)
        row_of[list(nodes)] = [row[found] for found in nodes.values()]
        allowed = np.zeros((len(row), len(self.snapshot.nodes)), np.bool_)
        for found, at in row.items():
            allowed[at] = found.flags
        guest = (home != NOWHERE) & ~allowed[row_of[number], home]
        # One number for class and node, so that they are compared as one.
        width = len(self.snapshot.nodes) + 1
        stays = np.where(guest, home, NOWHERE) + 1
        unique, first, inverse = np.unique(
            number.astype(np.int64) * width + stays, return_index=True, return_inverse=True
        )
        kinds: dict[ItemKind, int] = {}
        kind = np.zeros(len(unique), np.int32)
        for at in np.argsort(first).tolist():
            class_number, host = divmod(int(unique[at]), width)
            one = classes[pods.classes[class_number]]
            eligible = nodes[class_number].indices
            if host:
                eligible = tuple(sorted((*eligible, host - 1)))
            demanded = scaled[self.demands[one.id]]
            requests = () if self.devices is None else self.devices.requests(one)
            same = ItemKind(one.priority, demanded, eligible, requests, one.counts_for)
            kind[at] = kinds.setdefault(same, len(kinds))
        return tuple(kinds), kind[inverse]

    def _in_play(self) -> Flags:
        """Return by pod whether a plan may place, move or evict it."""
        pods = self.snapshot.pods
        if not self.snapshot.nodes:
            # Every pod waits, and no plan can place one: nothing is left to decide.
            return np.zeros(len(pods), np.bool_)

        def of_class(names: Container[str]) -> Flags:
            flags = np.array([name in names for name in pods.classes], np.bool_)
            return flags[pods.class_number]

        movable = np.array(pods.movable, np.bool_) & ~of_class(self.budgets.held)
        if self.held_otherwise is not None:
            movable &= ~self.held_otherwise
        return ~of_class(self.refused) & (movable | ~pods.running)

    def _room(self, in_play: Flags) -> tuple[Amounts, ...]:
        """Return what nodes have left beside the pods that are not ``in_play``."""
        pods = self.snapshot.pods
        room = [
            [*offer(node.allocatable, self.names), *(one.offer(index, self.present) for one in self.shared)]
            for index, node in enumerate(self.snapshot.nodes)
        ]
        here = ~in_play & pods.running
        counts = Counter(zip(self.home[here].tolist(), pods.class_number[here].tolist(), strict=True))
        taken = (
            (node, [count * amount for amount in self.demands[pods.classes[number]]])
            for (node, number), count in counts.items()
        )
        held = ((self.index[node], amounts) for node, amounts in held_room(self.snapshot, self.names))
        for node, amounts in chain(taken, held):
            left = room[node]
            for dimension, amount in enumerate(amounts):
                left[dimension] -= amount
        # The solver counts in 64 bits. No pod that requests anything fits either way,
        # and no more is used of a node than all pods request.
        most = self._largest_room(room, in_play)
        return tuple(
            tuple(min(max(amount, LEAST_ROOM), limit) for amount, limit in zip(amounts, most, strict=True))
            for amounts in room
        )

    def _largest_room(self, room: list[list[int]], in_play: Flags) -> list[int]:
        """Return what pods could fill of a node, where nodes have too much to add up.

        Of the other dimensions a number that no node exceeds.
        """
        pods = self.snapshot.pods
        counts = Counter(pods.class_number[in_play].tolist())
        largest = []
        for dimension, amounts in enumerate(zip(*room, strict=True)):
            limit = max(0, *amounts)
            if sum(max(0, amount) for amount in amounts) > LARGEST_TOTAL:
                limit = sum(count * self.demands[pods.classes[number]][dimension] for number, count in counts.items())
            largest.append(limit)
        return largest

    def _refusals(self) -> Iterator[Refusal]:
        yield from self.snapshot.refusals
        for class_id, refusals in self.refused.items():
            if class_id in self.present:
                yield from refusals
        yield from self.budgets.refusals
        if self.devices is not None:
            yield from self.devices.refusals(self.held_otherwise)
