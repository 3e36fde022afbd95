"""The case: a snapshot and a plan, indexed for the rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb


class Index:
    """A snapshot, indexed once however many plans are checked against it."""

    def __init__(self, snapshot: pb.Snapshot) -> None:
        self.nodes = {node.name: node for node in snapshot.nodes}
        self.classes = {one.id: one for one in snapshot.pod_classes}
        self.wanted = {
            name: Counter({**amounts(one.requests), "pods": 1})
            for name, one in self.classes.items()
        }
        self.asked_for = {
            name: tuple((what, amount) for what, amount in wanted.items() if amount)
            for name, wanted in self.wanted.items()
        }
        self.priority = {name: one.priority for name, one in self.classes.items()}
        # Reading a field of a message makes a new object each time.
        self.pods: dict[str, pb.Pod] = {}
        self.class_id: dict[str, str] = {}
        self.node: dict[str, str] = {}
        self.on_node: defaultdict[str, list[str]] = defaultdict(list)
        for pod in snapshot.pods:
            uid, node = pod.uid, pod.node
            self.pods[uid] = pod
            self.class_id[uid] = pod.class_id
            self.node[uid] = node
            self.on_node[node].append(uid)
        self.present = frozenset(self.class_id.values())
        waiting = {*self.on_node[""]}
        self.placed = Counter(
            self.priority.get(class_id, 0)
            for uid, class_id in self.class_id.items()
            if uid not in waiting
        )
        self.forbidden = {
            (pair.class_id, pair.node) for pair in snapshot.forbidden_pairs
        }


@dataclass(slots=True)
class Case:
    """What the rules look at.

    Parameters
    ----------
    asked
        Whatever else the caller asked for: objective and limits.
    index
        The index of ``snapshot``.

    What a plan does not touch is as it was, and is counted once for all plans: a check
    takes as long as its plan is large, not as the cluster is.

    A step with an unknown pod or node breaks a rule of its own. All other rules look at
    the rest: ``placements``, ``moves`` and ``evictions``.
    """

    snapshot: pb.Snapshot
    plan: pb.Plan
    policy: pb.Policy
    asked: pb.SolveOptions = field(default_factory=pb.SolveOptions)
    index: Index | None = None
    nodes: dict[str, pb.Node] = field(init=False)
    classes: dict[str, pb.PodClass] = field(init=False)
    pods: dict[str, pb.Pod] = field(init=False)
    before: dict[str, str] = field(init=False)
    after: dict[str, str] = field(init=False)
    placements: tuple[pb.Placement, ...] = field(init=False)
    moves: tuple[pb.Move, ...] = field(init=False)
    evictions: tuple[pb.Eviction, ...] = field(init=False)
    touched: dict[str, str] = field(init=False)
    present: frozenset[str] = field(init=False)
    placed_before: Counter[int] = field(init=False)
    forbidden: set[tuple[str, str]] = field(init=False)
    _index: Index = field(init=False)

    def __post_init__(self) -> None:
        index = self._index = self.index or Index(self.snapshot)
        self.nodes, self.classes, self.pods = index.nodes, index.classes, index.pods
        self.forbidden = index.forbidden
        self.present, self.placed_before = index.present, index.placed
        self.before = index.node
        pods, nodes, plan = self.pods, self.nodes, self.plan
        self.placements = tuple(
            one for one in plan.placements if one.pod_uid in pods and one.node in nodes
        )
        self.moves = tuple(
            one for one in plan.moves if one.pod_uid in pods and one.to_node in nodes
        )
        self.evictions = tuple(one for one in plan.evictions if one.pod_uid in pods)
        self.touched = {one.pod_uid: one.node for one in self.placements}
        self.touched |= {one.pod_uid: one.to_node for one in self.moves}
        self.touched |= {one.pod_uid: "" for one in self.evictions}
        self.after = {**index.node, **self.touched}

    @property
    def changes_nothing(self) -> bool:
        """Whether the plan has no placement, move or eviction."""
        plan = self.plan
        return not (plan.placements or plan.moves or plan.evictions)

    @property
    def consolidates(self) -> bool:
        """Whether the plan is to empty nodes, not to place pods."""
        return self.asked.objective == pb.OBJECTIVE_CONSOLIDATE

    @property
    def disrupted(self) -> list[str]:
        """The pods that the plan moves or evicts."""
        moved = [one.pod_uid for one in self.moves]
        return moved + [one.pod_uid for one in self.evictions]

    def arrivals(self) -> list[tuple[pb.Pod, pb.Node]]:
        """Return each pod that comes to a node, with that node."""
        return [
            (self.pods[uid], self.nodes[node])
            for uid, node in self.touched.items()
            if node and node != self.before[uid]
        ]

    def staying_on(self, node: str) -> list[str]:
        """Return the pods that are on ``node`` before the plan and after it."""
        here = self._index.on_node.get(node, ())
        return [uid for uid in here if self.after[uid] == node]

    def class_of(self, uid: str) -> pb.PodClass:
        """Return the class of the pod ``uid``."""
        return self.classes[self._index.class_id[uid]]

    def priority(self, uid: str) -> int:
        """Return the priority of the pod ``uid``."""
        return self._index.priority[self._index.class_id[uid]]

    def requests(self, uid: str) -> Counter[str]:
        """Return what the pod ``uid`` takes, with itself as one pod."""
        return self._index.wanted[self._index.class_id[uid]]

    def asked_for(self, uid: str) -> tuple[tuple[str, int], ...]:
        """Return what the pod ``uid`` takes, without what it takes nothing of."""
        return self._index.asked_for[self._index.class_id[uid]]

    def on_nodes(self) -> dict[str, list[str]]:
        """Return the pods on each node after the plan, by the node's name."""
        on_nodes: dict[str, list[str]] = {name: [] for name in self.nodes}
        for uid, node in self.after.items():
            if node:
                on_nodes[node].append(uid)
        return on_nodes


def amounts(resources: pb.Resources) -> Counter[str]:
    """Return the amounts of ``resources`` by name."""
    return Counter(
        {
            **resources.extended,
            "cpu_milli": resources.cpu_milli,
            "memory_bytes": resources.memory_bytes,
            "ephemeral_storage_bytes": resources.ephemeral_storage_bytes,
            "pods": resources.pods,
        }
    )
