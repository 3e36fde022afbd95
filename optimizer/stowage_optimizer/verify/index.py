"""The index: a snapshot read once, by columns, however many plans are checked."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.device_room import Devices
from stowage_optimizer.verify.eligibility import Eligibility
from stowage_optimizer.verify.terms import AntiAffinityRule, covers, pod_labels_match, term_selects

LARGEST_WORTH = 2**11
"""The contract's; more is unreadable."""


class Gang(NamedTuple):
    """A gang and its pods."""

    message: pb.Gang
    uids: Sequence[str]


class Index:
    """What plans for one snapshot are held against.

    Attributes
    ----------
    nodes, classes, pods
        The messages by name, id and uid.
    number
        The number of each node: where it stands in a column.
    wanted
        What a pod of the class takes, with itself as one pod.
    asked_for
        The same without what it takes nothing of.
    present
        The classes that have pods.
    unknown_nodes
        Those that a pod is on.
    movable
        The numbers of the nodes of those running pods of a class that may be moved.
    counted
        How many of them a disruption budget over the class counts.
    worth
        What a pod of the class counts for where placed pods are counted.
    placed, counted_for
        How many pods of a priority have a node, and what they count for.
    free
        What is left on each node of what some class asks for, a column a resource.
        It is negative where too much is used.
    """

    def __init__(self, snapshot: pb.Snapshot) -> None:
        self._snapshot = snapshot
        self.nodes = {node.name: node for node in snapshot.nodes}
        self.number = {name: number for number, name in enumerate(self.nodes)}
        self.classes = {one.id: one for one in snapshot.pod_classes}
        self.priority = {name: one.priority for name, one in self.classes.items()}
        self.worth = {name: _worth(one) for name, one in self.classes.items()}
        read = by_content(lambda one: Counter({**amounts(one), "pods": 1}))
        self.wanted = {name: read(one.requests) for name, one in self.classes.items()}
        self.asked_for = {
            name: tuple((what, amount) for what, amount in wanted.items() if amount)
            for name, wanted in self.wanted.items()
        }
        self.pods = {pod.uid: pod for pod in snapshot.pods}
        self.unknown_nodes: set[str] = set()
        self.movable: defaultdict[str, list[int]] = defaultdict(list)
        self.counted: Counter[str] = Counter()
        at: defaultdict[str, list[int]] = defaultdict(list)
        for pod in self.pods.values():
            node, class_id = pod.node, pod.class_id
            numbers = at[class_id]
            if node in self.number:
                numbers.append(self.number[node])
                if pod.movable:
                    self.movable[class_id].append(self.number[node])
                    self.counted[class_id] += not pod.exempt_from_budget
            elif node:
                self.unknown_nodes.add(node)
        self.present = frozenset(at)
        self.placed: Counter[int] = Counter()
        self.counted_for: Counter[int] = Counter()
        for class_id, numbers in at.items():
            priority = self.priority.get(class_id, 0)
            self.placed[priority] += len(numbers)
            self.counted_for[priority] += len(numbers) * self.worth.get(class_id, 1)
        self.free = self._unreserved()
        for class_id, numbers in at.items():
            if class_id in self.classes:
                self.give_back(self.free, class_id, numbers, -1)
        forbidden: defaultdict[str, set[str]] = defaultdict(set)
        for pair in snapshot.forbidden_pairs:
            forbidden[pair.class_id].add(pair.node)
        self.eligibility = Eligibility(self.nodes, self.classes, forbidden)
        self._domains: dict[str, dict[str, str]] = {}

    def _unreserved(self) -> dict[str, list[int]]:
        """Return what reservations leave of each node."""
        read = by_content(amounts)
        rooms = [read(node.allocatable) for node in self.nodes.values()]
        names = {name for asked in self.asked_for.values() for name, _ in asked}
        free = {name: [room[name] for room in rooms] for name in sorted(names)}
        for reservation in self._snapshot.reservations:
            if reservation.node in self.number:
                held = amounts(reservation.held)
                for name, left in free.items():
                    left[self.number[reservation.node]] -= held[name]
        return free

    def give_back(self, free: Mapping[str, list[int]], class_id: str, numbers: Iterable[int], times: int = 1) -> None:
        """Add what so many pods of the class take on each of the nodes to ``free``."""
        for name, amount in self.asked_for[class_id]:
            left, change = free[name], amount * times
            for number in numbers:
                left[number] += change

    @cached_property
    def members(self) -> Mapping[str, list[str]]:
        """The pods of each class that has any."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for uid, pod in self.pods.items():
            found[pod.class_id].append(uid)
        return found

    @cached_property
    def gangs(self) -> Mapping[str, Gang]:
        """The gang of each class that has one."""
        members: defaultdict[str, list[str]] = defaultdict(list)
        named = [name for name in self.present if name in self.classes and self.classes[name].gang]
        for name in sorted(named):
            members[self.classes[name].gang] += self.members[name]
        found = {one.id: Gang(one, members[one.id]) for one in self._snapshot.gangs}
        return {name: found[gang] for name in named if (gang := self.classes[name].gang) in found}

    @cached_property
    def devices(self) -> Devices | None:
        """The devices that pods share or that overlap, and what is asked of them; None if nobody asks."""
        asked = any(one.device_requests for one in self.classes.values())
        return Devices(self._snapshot) if asked else None

    @cached_property
    def in_use(self) -> Counter[str]:
        """How many pods there are on a node that would not go with it."""
        return Counter(pod.node for pod in self.pods.values() if pod.node and outlasts_its_node(pod))

    @cached_property
    def irremovable(self) -> frozenset[str]:
        """The nodes that are in use whatever runs there."""
        return frozenset(name for name, node in self.nodes.items() if node.irremovable_reason)

    @cached_property
    def price_micros(self) -> Mapping[str, int]:
        """What an hour of each node costs; empty where no node has a price."""
        prices = {
            name: node.hourly_price_micros if node.hourly_price_micros in PRICES else 0
            for name, node in self.nodes.items()
        }
        return prices if any(prices.values()) else {}

    @cached_property
    def listening(self) -> list[str]:
        """The classes that take host ports and have pods."""
        return [name for name in self.present if self.classes[name].host_ports]

    @cached_property
    def anti_affinity(self) -> list[AntiAffinityRule]:
        """Every required anti-affinity of the pods in the snapshot."""
        found = []
        for name in sorted(self.present):
            for term in self.classes[name].required_pod_anti_affinity:
                others = self.spoken_of(term, self.classes[name]) & self.present
                if others:
                    found.append(AntiAffinityRule(name, term.topology_key, others))
        return found

    @cached_property
    def apart(self) -> Mapping[str, list[tuple[str, list[str]]]]:
        """Labels of nodes, and classes not to be met where they are equal, by class."""
        found: defaultdict[str, list[tuple[str, list[str]]]] = defaultdict(list)
        for rule in self.anti_affinity:
            for name in {rule.carrier, *rule.others}:
                found[name].append((rule.key, sorted(rule.conflicting(name))))
        return found

    @cached_property
    def covered(self) -> list[tuple[pb.DisruptionBudget, set[str]]]:
        """Each disruption budget, and the classes that are under it."""
        return [
            (budget, {name for name in self.selected(budget.selector) if covers(budget, self.classes[name])})
            for budget in self._snapshot.disruption_budgets
        ]

    @cached_property
    def budgets(self) -> Mapping[str, list[pb.DisruptionBudget]]:
        """The budgets that a class is under, if there are any."""
        found: defaultdict[str, list[pb.DisruptionBudget]] = defaultdict(list)
        for budget, names in self.covered:
            for name in names:
                found[name].append(budget)
        return found

    def spoken_of(self, term: pb.PodAffinityTerm, carrier: pb.PodClass) -> frozenset[str]:
        """Return the classes that ``term`` means if ``carrier`` carries it."""
        return frozenset(
            name for name in self.selected(term.label_selector) if term_selects(term, carrier, self.classes[name])
        )

    def selected(self, selector: pb.LabelSelector) -> list[str]:
        """Return the classes whose labels ``selector`` picks."""
        pairs = selector.match_labels.items()
        candidates = [self._labelled.get(pair, []) for pair in pairs]
        return [
            name
            for name in min(candidates, key=len, default=list(self.classes))
            if pod_labels_match(selector, self.classes[name].labels)
        ]

    def domains(self, key: str) -> Mapping[str, str]:
        """Return the domain of ``key`` that a node is in, of those that are in one."""
        if key not in self._domains:
            self._domains[key] = {name: node.labels[key] for name, node in self.nodes.items() if key in node.labels}
        return self._domains[key]

    @cached_property
    def _labelled(self) -> Mapping[tuple[str, str], list[str]]:
        """The classes with a label of that key and value."""
        found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for name, one in self.classes.items():
            for pair in one.labels.items():
                found[pair].append(name)
        return found


PRICES = range(2**43 + 1)
"""Prices that count; a node with another one costs nothing."""

OF_ITS_NODE = ("daemonset", "mirror", "static")
"""Why a pod may not be moved that is there only because its node is."""


def outlasts_its_node(pod: pb.Pod) -> bool:
    """Return whether somebody would miss the pod if its node went."""
    return pod.movable or pod.immovable_reason not in OF_ITS_NODE


T = TypeVar("T")


def by_content(read: Callable[[pb.Resources], T]) -> Callable[[pb.Resources], T]:
    """Return ``read``, done once for equal resources; many nodes are alike."""
    known: dict[bytes, T] = {}

    def look(resources: pb.Resources) -> T:
        content = resources.SerializeToString()
        if content not in known:
            known[content] = read(resources)
        return known[content]

    return look


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


def _worth(one: pb.PodClass) -> int:
    """Return what a pod of the class counts for: 1, unless it says something else that can be read."""
    return one.worth if 0 < one.worth <= LARGEST_WORTH else 1
