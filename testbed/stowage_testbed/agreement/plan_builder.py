"""Builds a random plan by moving pods on a cluster."""

from __future__ import annotations

from collections import Counter

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case, Index, amounts
from stowage_optimizer.verify.places import turned_away


class PlanBuilder:
    """Where every pod is, and what is free.

    Parameters
    ----------
    snapshot, index
        The cluster before the plan.
    """

    def __init__(self, snapshot: pb.Snapshot, index: Index) -> None:
        self.snapshot = snapshot
        self.index = index
        self.where = dict(index.node)
        self._free = {node.name: amounts(node.allocatable) for node in snapshot.nodes}
        self._open: dict[str, list[str]] = {}
        for uid, node in self.where.items():
            if node:
                self._free[node].subtract(self._wanted(uid))

    def pending(self) -> list[str]:
        """Return the pods without a node."""
        return [uid for uid, node in self.where.items() if not node]

    def supported(self, uid: str) -> bool:
        """Return whether the contract can express all that the pod needs."""
        return not self.index.classes[self.index.class_id[uid]].unsupported

    def movable(self) -> list[str]:
        """Return the pods that still are where they were and may be moved."""
        return [
            uid
            for uid, node in self.where.items()
            if node == self.index.node[uid] and self.index.pods[uid].movable
        ]

    def priority(self, uid: str) -> int:
        """Return the priority of the pod ``uid``."""
        return self.index.priority[self.index.class_id[uid]]

    def open_nodes(self, uid: str) -> list[str]:
        """Return the nodes that do not refuse the pod, full ones among them."""
        name = self.index.class_id[uid]
        if name not in self._open:
            case = Case(self.snapshot, pb.Plan(), pb.POLICY_STRICT, index=self.index)
            self._open[name] = [
                node for node in self.index.nodes if not turned_away(case, uid, node)
            ]
        return self._open[name]

    def fits(self, uid: str, node: str) -> bool:
        """Return whether there is room for the pod on ``node``."""
        free = self._free[node]
        return all(
            free[name] >= amount for name, amount in self._wanted(uid).items() if amount
        )

    def put(self, uid: str, node: str) -> None:
        """Put the pod on ``node``; empty takes it off its node."""
        if self.where[uid]:
            self._free[self.where[uid]].update(self._wanted(uid))
        if node:
            self._free[node].subtract(self._wanted(uid))
        self.where[uid] = node

    def plan(self) -> pb.Plan:
        """Return the plan that leads here."""
        plan = pb.Plan(snapshot_id=self.snapshot.id)
        for uid, node in self.where.items():
            home = self.index.node[uid]
            if node == home:
                continue
            if not home:
                plan.placements.add(pod_uid=uid, node=node)
            elif node:
                plan.moves.add(pod_uid=uid, from_node=home, to_node=node)
            else:
                plan.evictions.add(pod_uid=uid, node=home)
        return plan

    def _wanted(self, uid: str) -> Counter[str]:
        return self.index.wanted[self.index.class_id[uid]]
