"""The oracle for pods that are tied: every plan for a small snapshot, the best first.

It knows what `tests.differential.proofs.cases` draws: memory and number of pods, node selectors, forbidden pairs, host
ports, affinity, anti-affinity, spread, budgets, owners, limits, pods that may not move. The rules are Kubernetes' own
and the strict policy's, written down once more; nothing of the optimiser is used.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

from stowage_optimizer.contract import optimizer_pb2 as pb
from tests.differential.proofs.cases import Case

Place = int | None
Plan = tuple[Place, ...]
"""Node of each pod that a plan may touch, None for none."""

There = tuple[pb.PodClass, int, bool]
"""A pod that is there: its class, its node, and whether it is terminating."""

Value = tuple[tuple[int, int, int], ...]
"""Per tier, highest first: running pods of the tier kept, what pods placed count for, stability."""

MOVE, EVICTION = 2, 3

BASE = 256
"""More than any number of a value, so that values add up as single numbers."""


@dataclass
class Oracle:
    """Tries the plans of one case."""

    case: Case
    pods: list[pb.Pod] = field(init=False)
    fixed: list[There] = field(init=False)

    def __post_init__(self) -> None:
        snapshot = self.case.snapshot
        self.classes = {one.id: one for one in snapshot.pod_classes}
        self.nodes = list(snapshot.nodes)
        self.number = {node.name: index for index, node in enumerate(self.nodes)}
        self.pods = [pod for pod in snapshot.pods if not pod.node or pod.movable]
        self.fixed = [
            (self.classes[pod.class_id], self.number[pod.node], pod.immovable_reason == "terminating")
            for pod in snapshot.pods
            if pod.node and not pod.movable
        ]
        self.class_of = [self.classes[pod.class_id] for pod in self.pods]
        self.home = [self.number[pod.node] if pod.node else None for pod in self.pods]
        self.tiers = sorted({self.classes[pod.class_id].priority for pod in snapshot.pods}, reverse=True)

    @cached_property
    def best(self) -> Value:
        """The value of the best plan that can be carried out."""
        plans = sorted(self._plans(0, []), key=lambda one: one[0], reverse=True)
        for _, plan in plans:
            if self._just(plan) and self._reachable(plan):
                return self.value(plan)
        raise AssertionError("to change nothing is always a plan")

    def outcome(self, plan: pb.Plan) -> Plan:
        """Return where the pods are after a plan of the contract."""
        where = {pod.uid: pod.node for pod in self.pods}
        where.update({one.pod_uid: one.node for one in plan.placements})
        where.update({one.pod_uid: one.to_node for one in plan.moves})
        where.update({one.pod_uid: "" for one in plan.evictions})
        return tuple(self.number.get(where[pod.uid]) for pod in self.pods)

    def value(self, plan: Plan) -> Value:
        """Return what ``plan`` is worth."""
        rows = [self._worth(one, at, at) for one, at, _ in self.fixed]
        rows += [self._worth(*one) for one in zip(self.class_of, self.home, plan, strict=True)]
        sums = [sum(column) for column in zip(*rows, strict=True)]
        return tuple((sums[at], sums[at + 1], sums[at + 2]) for at in range(0, len(sums), 3))

    def _worth(self, one: pb.PodClass, home: Place, node: Place) -> list[int]:
        """Return what a pod adds to the numbers of a value, tier by tier."""
        lost, found = self._disruption(home, node), list[int]()
        for tier in self.tiers:
            kept = home is not None and node is not None and one.priority == tier
            placed = max(1, one.worth) if node is not None and one.priority >= tier else 0
            found += [int(kept), placed, -lost if one.priority >= tier else 0]
        return found

    def _weight(self, index: int, node: Place) -> int:
        """Return what a pod adds to the value, as one number."""
        worth = self._worth(self.class_of[index], self.home[index], node)
        return reduce(lambda weight, part: weight * BASE + part, worth)

    def _disruption(self, home: Place, node: Place) -> int:
        if home is None or node == home:
            return 0
        return EVICTION if node is None else MOVE

    def _plans(self, index: int, chosen: list[Place]) -> Iterator[tuple[int, Plan]]:
        """Yield the plans that keep to room, budgets and limits, with their weight."""
        if not chosen:
            self._load = [[0, 0] for _ in self.nodes]
            self._gone = Counter[str]()
            for fixed, at, _ in self.fixed:
                self._add(fixed, at, 1)
        if index == len(self.pods):
            yield 0, tuple(chosen)
            return
        one = self.class_of[index]
        for node in self._choices(index):
            spent = self._spent(index, node)
            if any(self._gone[name] >= most for name, most in spent):
                continue
            if node is not None and not self._has_room(one, node):
                continue
            self._count(one, node, spent, 1)
            weight = self._weight(index, node)
            for more, plan in self._plans(index + 1, [*chosen, node]):
                yield weight + more, plan
            self._count(one, node, spent, -1)

    def _choices(self, index: int) -> list[Place]:
        one, home = self.class_of[index], self.home[index]
        if home is not None and len(self._over(one)) > 1:
            return [home]
        open_ = [n for n in range(len(self.nodes)) if n == home or self._open(one, n)]
        return [None, *open_]

    def _open(self, one: pb.PodClass, node: int) -> bool:
        forbidden = {(pair.class_id, pair.node) for pair in self.case.snapshot.forbidden_pairs}
        return (one.id, self.nodes[node].name) not in forbidden and self._selected(one, node)

    def _selected(self, one: pb.PodClass, node: int) -> bool:
        labels = self.nodes[node].labels
        return all(labels.get(key) == value for key, value in one.node_selector.items())

    def _budgets(self, index: int) -> list[pb.DisruptionBudget]:
        """Return the budgets that count the pod."""
        if self.pods[index].exempt_from_budget:
            return []
        return self._over(self.class_of[index])

    def _over(self, one: pb.PodClass) -> list[pb.DisruptionBudget]:
        return [budget for budget in self.case.snapshot.disruption_budgets if _matches(budget.selector, one)]

    def _spent(self, index: int, node: Place) -> list[tuple[str, int]]:
        """Return what a pod's change counts against, and how often that may be."""
        home, one = self.home[index], self.class_of[index]
        if home is None or node == home:
            return []
        found = [(one.name, one.disruptions_allowed) for one in self._budgets(index)]
        asked = self.case.options
        if node is not None and asked.HasField("max_moves"):
            found.append(("moves", asked.max_moves))
        if node is None and asked.HasField("max_evictions"):
            found.append(("evictions", asked.max_evictions))
        if asked.HasField("max_disruptions_per_owner"):
            found.append((one.owner.uid, asked.max_disruptions_per_owner))
        return found

    def _has_room(self, one: pb.PodClass, node: int) -> bool:
        offered, (memory, pods) = self.nodes[node].allocatable, self._load[node]
        enough = memory + one.requests.memory_bytes <= offered.memory_bytes
        return enough and pods < offered.pods

    def _add(self, one: pb.PodClass, node: int, sign: int) -> None:
        self._load[node][0] += sign * one.requests.memory_bytes
        self._load[node][1] += sign

    def _count(self, one: pb.PodClass, node: Place, spent: list[tuple[str, int]], sign: int) -> None:
        if node is not None:
            self._add(one, node, sign)
        for name, _ in spent:
            self._gone[name] += sign

    def _just(self, plan: Plan) -> bool:
        """Return whether each evicted pod goes for a higher priority, and must."""
        gains = [
            one.priority
            for one, home, node in zip(self.class_of, self.home, plan, strict=True)
            if home is None and node is not None
        ]
        for index, node in enumerate(plan):
            if node is not None or self.home[index] is None:
                continue
            one = self.class_of[index]
            if not any(priority > one.priority for priority in gains):
                return False
            if not _demanding(one) and self._could_stay(index, plan):
                return False
        return True

    def _could_stay(self, index: int, plan: Plan) -> bool:
        """Return whether a pod fits beside those that need not make way for it."""
        one = self.class_of[index]
        staying, came = list(self.fixed), list[There]()
        for at, node in enumerate(plan):
            if node is None:
                continue
            other, home = self.class_of[at], self.home[at]
            equal = other.priority == one.priority and home is not None
            held = home == node and (
                _demanding(other) or self._kept_off(other) or self._tight(at) or len(self._over(other)) > 1
            )
            if other.priority > one.priority or equal or held:
                staying.append((other, node, False))
                came += staying[-1:] if node != home else []
        load = [[0, 0] for _ in self.nodes]
        for other, node, _ in staying:
            load[node][0] += other.requests.memory_bytes
            load[node][1] += 1
        for node in range(len(self.nodes)):
            offered = self.nodes[node].allocatable
            roomy = load[node][0] + one.requests.memory_bytes <= offered.memory_bytes and load[node][1] < offered.pods
            at_home = node == self.home[index]
            if not roomy or not (at_home or self._open(one, node)):
                continue
            # At home, only those that come are a conflict.
            if self._no_conflict(came if at_home else staying, one, node):
                return True
        return False

    def _tight(self, index: int) -> bool:
        """Return whether a budget over the pod does not allow for all its pods."""
        names = [{one.name for one in self._budgets(at)} for at, home in enumerate(self.home) if home is not None]
        return any(sum(one.name in each for each in names) > one.disruptions_allowed for one in self._budgets(index))

    def _kept_off(self, one: pb.PodClass) -> bool:
        return any(
            _matches(term.label_selector, one)
            for other in self.classes.values()
            for term in other.required_pod_anti_affinity
        )

    def _reachable(self, plan: Plan) -> bool:
        """Return whether those that come may come in some order, once others left."""
        there, coming = list(self.fixed), []
        for one, home, node in zip(self.class_of, self.home, plan, strict=True):
            if node is not None and node == home:
                there.append((one, node, False))
            elif node is not None:
                coming.append((one, node, False))
        dead: set[frozenset[int]] = set()

        def arrive(present: Sequence[There], left: frozenset[int]) -> bool:
            if not left:
                return True
            if left in dead:
                return False
            for index in left:
                one, node, _ = coming[index]
                if self._may_come(present, one, node) and arrive([*present, coming[index]], left - {index}):
                    return True
            dead.add(left)
            return False

        return arrive(there, frozenset(range(len(coming))))

    def _may_come(self, there: Sequence[There], one: pb.PodClass, node: int) -> bool:
        return self._no_conflict(there, one, node) and self._near(there, one, node) and self._even(there, one, node)

    def _domain(self, key: str, node: int) -> str | None:
        return self.nodes[node].labels.get(key)

    def _no_conflict(self, there: Sequence[There], one: pb.PodClass, node: int) -> bool:
        ports = {port.port for port in one.host_ports}
        for other, at, _ in there:
            if at == node and ports & {port.port for port in other.host_ports}:
                return False
            apart = [(term, other) for term in one.required_pod_anti_affinity]
            for term, who in [*apart, *((term, one) for term in other.required_pod_anti_affinity)]:
                here = self._domain(term.topology_key, node)
                near = here is not None and here == self._domain(term.topology_key, at)
                if near and _matches(term.label_selector, who):
                    return False
        return True

    def _near(self, there: Sequence[There], one: pb.PodClass, node: int) -> bool:
        terms = one.required_pod_affinity
        if not terms:
            return True
        keys = [term.topology_key for term in terms]
        if any(self._domain(key, node) is None for key in keys):
            return False
        wanted = [at for other, at, _ in there if all(_matches(term.label_selector, other) for term in terms)]
        if all(any(self._domain(key, at) == self._domain(key, node) for at in wanted) for key in keys):
            return True
        counted = any(self._domain(key, at) is not None for key in keys for at in wanted)
        itself = all(_matches(term.label_selector, one) for term in terms)
        return itself and not counted

    def _even(self, there: Sequence[There], one: pb.PodClass, node: int) -> bool:
        spreads = one.topology_spread
        keys = [spread.topology_key for spread in spreads]
        if any(self._domain(key, node) is None for key in keys):
            return False
        counted = [
            at
            for at in range(len(self.nodes))
            if self._selected(one, at) and all(self._domain(key, at) is not None for key in keys)
        ]
        for spread in spreads:
            key = spread.topology_key
            number = {self._domain(key, at): 0 for at in counted}
            for other, at, terminating in there:
                if at in counted and not terminating:
                    number[self._domain(key, at)] += _matches(spread.label_selector, other)
            least = min(number.values(), default=0)
            if len(number) < max(1, spread.min_domains):
                least = 0
            own = _matches(spread.label_selector, one)
            if number.get(self._domain(key, node), 0) + own - least > spread.max_skew:
                return False
        return True


def _demanding(one: pb.PodClass) -> bool:
    return bool(one.required_pod_affinity or one.required_pod_anti_affinity or one.topology_spread)


def _matches(selector: pb.LabelSelector, one: pb.PodClass) -> bool:
    return all(one.labels.get(key) == value for key, value in selector.match_labels.items())
