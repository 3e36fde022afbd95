"""Nodes on which an evicted pod would have found room, for all nodes at once.

The rule compares every evicted pod with every node. Counting each node's pods anew
for each of them took minutes on 5,000 nodes, so loads are kept as arrays, one a
priority.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.contract import optimizer_pb2 as pb
from optimizer.verify.case import Case, amounts
from optimizer.verify.eligibility import turned_away

Table = NDArray[Any]
"""Amounts by node (or pod) and resource: 64 bits, or objects where sums are huge."""

SAFE_TOTAL = 2**62
"""Up to here sums fit into 64 bits; beyond it Python's own integers count."""


class SpareRoom:
    """The room that is left beside the pods that need not make way.

    Parameters
    ----------
    case
        The case.
    disturbable
        Running pods that a plan may move or evict.
    """

    def __init__(self, case: Case, disturbable: Set[str]) -> None:
        self._case = case
        self._names = list(case.nodes)
        self._index = {name: index for index, name in enumerate(self._names)}
        asks = {name: _asks(one) for name, one in case.classes.items()}
        self._resources = sorted({name for one in asks.values() for name in one})
        self._dtype = np.int64 if _sums_are_small(case, asks) else np.object_
        self._room = self._table(
            [amounts(node.allocatable) for node in case.nodes.values()]
        )
        self._wanted = {name: self._row(one) for name, one in asks.items()}
        placed = [(uid, node) for uid, node in case.after.items() if node]
        self._node = np.array([self._index[node] for _, node in placed], np.int64)
        self._load: Table = np.array(
            [self._wanted[case.pods[uid].class_id] for uid, _ in placed], self._dtype
        ).reshape(len(placed), len(self._resources))
        self._priority = np.array([case.priority(uid) for uid, _ in placed], np.int64)
        homes = [(case.pods[uid].node, uid, node) for uid, node in placed]
        self._runs = np.array([bool(home) for home, _, _ in homes], np.bool_)
        self._comes = np.array([home != node for home, _, node in homes], np.bool_)
        self._fixed = np.array(
            [bool(home) and uid not in disturbable for home, uid, _ in homes], np.bool_
        )
        self._beside: dict[int, tuple[Table, NDArray[np.bool_]]] = {}
        self._roomy: dict[str, list[str]] = {}
        self._closed: dict[tuple[bytes, str], bool] = {}

    def nodes_for(self, uid: str) -> Iterator[str]:
        """Yield the nodes that the evicted pod fits on and may come to, home first."""
        pod = self._case.pods[uid]
        if self._fits_at_home(uid):
            yield pod.node
        if pod.class_id not in self._roomy:
            self._roomy[pod.class_id] = self._with_room(uid)
        for name in self._roomy[pod.class_id]:
            if name != pod.node and not self._turns_away(uid, name):
                yield name

    def _with_room(self, uid: str) -> list[str]:
        load, scarce = self._beside_priority(self._case.priority(uid))
        wanted = self._wanted[self._case.pods[uid].class_id]
        over = np.asarray(load + wanted > self._room, np.bool_)
        short = (over & (scarce | np.asarray(wanted > 0, np.bool_))).any(axis=1)
        return [self._names[index] for index in np.flatnonzero(~short)]

    def _fits_at_home(self, uid: str) -> bool:
        """Tell whether the pod could have stayed: it does not come to its own node."""
        load, scarce = self._beside_priority(self._case.priority(uid))
        pod = self._case.pods[uid]
        home = self._index[pod.node]
        wanted = self._wanted[pod.class_id]
        over = np.asarray(load[home] + wanted > self._room[home], np.bool_)
        return not bool((over & scarce[home]).any())

    def _beside_priority(self, priority: int) -> tuple[Table, NDArray[np.bool_]]:
        """Return by node what is taken by those who stay for pods of ``priority``.

        And which resources newcomers among them ask for, so that they are scarce.
        """
        if priority not in self._beside:
            stays = (self._priority > priority) | self._fixed
            stays |= (self._priority == priority) & self._runs
            load = self._held()
            np.add.at(load, self._node[stays], self._load[stays])
            scarce = np.zeros(load.shape, np.bool_)
            comes = stays & self._comes
            asks = np.asarray(self._load[comes] > 0, np.bool_)
            np.logical_or.at(scarce, self._node[comes], asks)
            self._beside[priority] = load, scarce
        return self._beside[priority]

    def _held(self) -> Table:
        held = [Counter[str]() for _ in self._names]
        for reservation in self._case.snapshot.reservations:
            held[self._index[reservation.node]].update(amounts(reservation.held))
        return self._table(held)

    def _turns_away(self, uid: str, node: str) -> bool:
        wanted = self._case.class_of(uid)
        if (wanted.id, node) in self._case.forbidden:
            return True
        key = (_manners(wanted), node)
        if key not in self._closed:
            self._closed[key] = bool(turned_away(self._case, uid, node))
        return self._closed[key]

    def _table(self, rows: list[Counter[str]]) -> Table:
        table = np.array([self._row(row) for row in rows], self._dtype)
        return table.reshape(len(rows), len(self._resources))

    def _row(self, row: Counter[str]) -> Table:
        return np.array([row[name] for name in self._resources], self._dtype)


def _sums_are_small(case: Case, asks: Mapping[str, Counter[str]]) -> bool:
    total: Counter[str] = Counter()
    pods = Counter(pod.class_id for pod in case.pods.values())
    for class_id, count in pods.items():
        for name, amount in asks[class_id].items():
            # One pod more than there are is what the rule asks about.
            total[name] += (count + 1) * amount
    for reservation in case.snapshot.reservations:
        total.update(amounts(reservation.held))
    largest = [amounts(node.allocatable) for node in case.nodes.values()]
    return all(
        amount < SAFE_TOTAL for one in (total, *largest) for amount in one.values()
    )


def _asks(wanted: pb.PodClass) -> Counter[str]:
    return Counter({**amounts(wanted.requests), "pods": 1})


def _manners(wanted: pb.PodClass) -> bytes:
    """Return what of a class decides which nodes turn it away."""
    return pb.PodClass(
        node_name=wanted.node_name,
        node_selector=wanted.node_selector,
        required_node_affinity=wanted.required_node_affinity,
        tolerations=wanted.tolerations,
        volume_node_affinity=wanted.volume_node_affinity,
    ).SerializeToString(deterministic=True)
