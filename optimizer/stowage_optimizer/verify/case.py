"""The case: a snapshot and a plan, as the rules look at them."""

from collections import Counter, defaultdict
from functools import cached_property
from typing import NamedTuple

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.index import Index

Pair = tuple[str, str]
"""A class and a node."""


class Step(NamedTuple):
    """A pod goes from ``source`` to ``target``, as the plan says; "" is no node.

    Attributes
    ----------
    class_id, home
        The pod's class, and the node that it is on in truth.
    """

    uid: str
    source: str
    target: str
    class_id: str
    home: str


class Case:
    """What the rules look at.

    Parameters
    ----------
    asked
        Whatever else the caller asked for: objective and limits.
    index
        The index of ``snapshot``.

    Attributes
    ----------
    named
        All placements, moves and evictions, whatever they name.
    placements, moves, evictions
        Without steps that name an unknown pod or target: they break a rule of their
        own, and all other rules look at the rest.
    touched
        The step of each pod that has one.
    arrivals, departures
        The pods that come to a node, or leave it, by their class and the node. Pods of
        a class are equal to most rules.

    What a plan does not touch is as it was, and is counted once for all plans: a check
    takes as long as its plan is large, not as the cluster is.
    """

    def __init__(
        self,
        snapshot: pb.Snapshot,
        plan: pb.Plan,
        policy: pb.Policy,
        asked: pb.SolveOptions | None = None,
        index: Index | None = None,
    ) -> None:
        self.snapshot, self.plan, self.policy = snapshot, plan, policy
        self.asked = asked or pb.SolveOptions()
        self.index = index = index or Index(snapshot)
        self.pods, self.nodes, self.classes = index.pods, index.nodes, index.classes
        step = self._step
        placed = [step(one.pod_uid, "", one.node) for one in plan.placements]
        moved = [step(one.pod_uid, one.from_node, one.to_node) for one in plan.moves]
        evicted = [step(one.pod_uid, one.node, "") for one in plan.evictions]
        self.named = placed, moved, evicted
        pods, nodes = self.pods, self.nodes
        self.placements = [one for one in placed if one.uid in pods and one.target in nodes]
        self.moves = [one for one in moved if one.uid in pods and one.target in nodes]
        self.evictions = [one for one in evicted if one.uid in pods]
        known = *self.placements, *self.moves, *self.evictions
        self.touched = {one.uid: one for one in known}
        self.arrivals: defaultdict[Pair, list[str]] = defaultdict(list)
        self.departures: defaultdict[Pair, list[str]] = defaultdict(list)
        for uid, _, target, class_id, home in self.touched.values():
            if target and target != home:
                self.arrivals[class_id, target].append(uid)
            if home and target != home:
                self.departures[class_id, home].append(uid)

    def _step(self, uid: str, source: str, target: str) -> Step:
        if uid not in self.pods:
            return Step(uid, source, target, "", "")
        pod = self.pods[uid]
        return Step(uid, source, target, pod.class_id, pod.node)

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
    def disrupted(self) -> list[Step]:
        """The moves and evictions."""
        return [*self.moves, *self.evictions]

    @cached_property
    def free(self) -> dict[str, list[int]]:
        """What is left after the plan, as the index has it of before."""
        free = {name: list(left) for name, left in self.index.free.items()}
        for pairs, sign in ((self.arrivals, -1), (self.departures, 1)):
            at: defaultdict[str, list[int]] = defaultdict(list)
            for (class_id, node), uids in pairs.items():
                at[class_id] += [self.index.number[node]] * len(uids)
            for class_id, numbers in at.items():
                self.index.give_back(free, class_id, numbers, sign)
        return free

    def before(self, uid: str) -> str:
        """Return the node of the pod ``uid`` before the plan; none is ""."""
        return self.pods[uid].node

    def after(self, uid: str) -> str:
        """Return the node of the pod ``uid`` after the plan; none is ""."""
        return self.touched[uid].target if uid in self.touched else self.before(uid)

    def class_id(self, uid: str) -> str:
        """Return the class of the pod ``uid``, by its id."""
        return self.pods[uid].class_id

    def class_of(self, uid: str) -> pb.PodClass:
        """Return the class of the pod ``uid``."""
        return self.classes[self.class_id(uid)]

    def priority(self, uid: str) -> int:
        """Return the priority of the pod ``uid``."""
        return self.index.priority[self.class_id(uid)]

    def worth(self, uid: str) -> int:
        """Return what the pod ``uid`` counts for where placed pods are counted."""
        return self.index.worth[self.class_id(uid)]

    def requests(self, uid: str) -> Counter[str]:
        """Return what the pod ``uid`` takes, with itself as one pod."""
        return self.index.wanted[self.class_id(uid)]
