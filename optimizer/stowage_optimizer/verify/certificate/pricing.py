"""The bound that prices prove, computed anew from the snapshot."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.accounting import EVICTION_WEIGHT, MOVE_WEIGHT, count_tiers
from stowage_optimizer.verify.certificate.knapsack import Choice, most_valuable
from stowage_optimizer.verify.certificate.pods import Claim, Group, Pods


@dataclass(slots=True)
class Weights:
    """The claim's phase and its requirements as one weighted sum.

    Parameters
    ----------
    terms
        Phase, priority and weight: what is maximised first, then the requirements.
    """

    pods: Pods
    terms: list[tuple[pb.Phase, int, int]] = field(init=False)
    _tiers: list[tuple[int, int, int, int]] = field(init=False)
    _fixed: Counter[int] = field(init=False)
    _fixed_worth: Counter[int] = field(init=False)

    def __post_init__(self) -> None:
        claim, case = self.pods.claim, self.pods.case
        self._tiers = count_tiers(case)
        self._fixed, self._fixed_worth = Counter[int](), Counter[int]()
        for uid in self.pods.fixed:
            self._fixed[case.priority(uid)] += 1
            self._fixed_worth[case.priority(uid)] += case.worth(uid)
        self.terms = [(claim.phase, claim.priority, claim.dual.scale)]
        self.terms += [(one.phase, one.priority, one.price) for one in claim.dual.requirements]

    def problems(self, policy: pb.Policy) -> Iterator[str]:
        """Yield requirements that may not be asked for."""
        claim = self.pods.claim
        if claim.dual.scale <= 0:
            yield "the scale is not positive"
        known = {priority for priority, *_ in self._tiers}
        for one in claim.dual.requirements:
            name = f"{one.priority}/{pb.Phase.Name(one.phase)}"
            if one.price < 0:
                yield f"the price of {name} is negative"
            if one.priority not in known:
                yield f"there is no tier {one.priority}"
            if not _before(one, claim):
                yield f"{name} is not settled before {claim.name}"
            if one.phase == pb.PHASE_KEEP and policy != pb.POLICY_STRICT:
                yield f"{name} is asked for by the strict policy only"

    def placed(self, group: Group) -> int:
        """Return the weight of a pod that has a node."""
        return group.worth * self._sum(pb.PHASE_PLACE, group.priority)

    def stays(self, group: Group) -> int:
        """Return the weight of a running pod that stays at home."""
        return MOVE_WEIGHT * self._sum(pb.PHASE_DISRUPT, group.priority)

    def running(self, group: Group) -> int:
        """Return the weight of a running pod that has a node."""
        kept = sum(
            weight for phase, priority, weight in self.terms if phase == pb.PHASE_KEEP and priority == group.priority
        )
        lost = EVICTION_WEIGHT - MOVE_WEIGHT
        return kept + lost * self._sum(pb.PHASE_DISRUPT, group.priority)

    def required(self) -> int:
        """Return what the requirements amount to, of the pods in groups."""
        return sum(
            price * (self._reached(phase, priority) - self.constant(phase, priority))
            for phase, priority, price in self.terms[1:]
        )

    def constant(self, phase: pb.Phase, priority: int) -> int:
        """Return what staying pods add to a phase's number."""
        case = self.pods.case
        if phase == pb.PHASE_KEEP:
            return self._fixed[priority]
        if phase == pb.PHASE_PLACE:
            return sum(worth for one, worth in self._fixed_worth.items() if one >= priority)
        return -EVICTION_WEIGHT * sum(
            bool(case.before(uid)) for group in self.pods.groups if group.priority >= priority for uid in group.uids
        )

    def _sum(self, wanted: pb.Phase, priority: int) -> int:
        return sum(weight for phase, at, weight in self.terms if phase == wanted and priority >= at)

    def _reached(self, phase: pb.Phase, priority: int) -> int:
        case = self.pods.case
        if phase == pb.PHASE_KEEP:
            evicted = [one.uid for one in case.evictions if one.home]
            lost = sum(case.priority(uid) == priority for uid in evicted)
            return case.index.placed[priority] - lost
        for at, _before_it, after, disruption in self._tiers:
            if at == priority:
                return after if phase == pb.PHASE_PLACE else -disruption
        return 0


def _before(one: pb.RequirementPrice, claim: Claim) -> bool:
    """Return whether a requirement is settled before what is claimed."""
    if one.priority == claim.priority:
        return one.phase < claim.phase
    return one.priority > claim.priority


Signature = tuple[tuple[int, ...], tuple[Choice, ...]]
"""All that the most valuable content of a node depends on."""


def proved_bound(pods: Pods, weights: Weights, slack: int, cells: int) -> int:
    """Return the bound that the claim's prices prove.

    Parameters
    ----------
    slack
        Part of the scale by which all nodes together may be overvalued.
    cells
        As in `most_valuable`.
    """
    claim = pods.claim
    total = -weights.required()
    for group in pods.groups:
        run = weights.running(group) - group.run
        running = sum(bool(pods.case.before(uid)) for uid in group.uids)
        total += group.pod * len(group.uids) + max(0, run) * running
    nodes = _Nodes(pods, weights).signatures()
    for (room, choices), number in nodes.items():
        each = most_valuable(choices, room, slack // len(pods.case.nodes), cells=cells)
        total += number * each
    value = total // claim.dual.scale + weights.constant(claim.phase, claim.priority)
    if claim.phase == pb.PHASE_PLACE:
        return value
    return _least_disruption(pods, max(0, -value))


def _least_disruption(pods: Pods, least: int) -> int:
    """Round up to what moves of 2 and evictions of 3 can sum up to."""
    members = [uid for group in pods.groups for uid in group.uids]
    nobody_goes = all(pods.case.after(uid) for uid in members)
    return least + 1 if least == 1 or (nobody_goes and least % 2) else least


@dataclass(slots=True)
class _Nodes:
    """What each node may hold, and what it is worth."""

    pods: Pods
    weights: Weights
    names: list[str] = field(init=False)
    needs: list[tuple[int, ...]] = field(init=False)
    _classes: list[Counter[str]] = field(init=False)
    _at_home: defaultdict[str, Counter[int]] = field(init=False)
    _values: list[int] = field(init=False)
    _stays: list[int] = field(init=False)
    _of_class_here: Counter[tuple[int, str, str]] = field(init=False)

    def __post_init__(self) -> None:
        case, groups = self.pods.case, self.pods.groups
        self._classes = [Counter(map(case.class_id, one.uids)) for one in groups]
        self._at_home = defaultdict(Counter[int])
        for at, one in enumerate(groups):
            for uid in one.uids:
                self._at_home[case.before(uid)][at] += 1
        self._values = [self.weights.placed(one) + one.run - one.pod for one in groups]
        self._stays = [self.weights.stays(one) for one in groups]
        self._of_class_here = Counter(
            (at, case.class_id(uid), case.before(uid)) for at, one in enumerate(groups) for uid in one.uids
        )
        wanted = [self._need(group) for group in groups]
        self.names = sorted({name for one in wanted for name in +one})
        self.needs = [tuple(one[name] for name in self.names) for one in wanted]

    def _need(self, group: Group) -> Counter[str]:
        """Return what each pod of the group takes at the least."""
        classes = {self.pods.case.class_id(uid): uid for uid in group.uids}
        each = [self.pods.amounts.taken(uid) + self.pods.devices.taken(name) for name, uid in classes.items()]
        return reduce(and_, each)

    def signatures(self) -> Counter[Signature]:
        """Return the different nodes, and how many there are of each."""
        load = self.pods.load()
        return Counter(self._signature(name, load[name]) for name in load)

    def _signature(self, node: str, load: Counter[str]) -> Signature:
        offered = self.pods.amounts.offered(node) + self.pods.devices.offered(node)
        free = [offered[name] - load[name] for name in self.names]
        home = [0] * len(free)
        for at, here in self._at_home[node].items():
            home = [h + here * n for h, n in zip(home, self.needs[at], strict=True)]
        # Those at home may stay also where there are too many of them.
        room = tuple(max(pair) for pair in zip(free, home, strict=True))
        choices = []
        for at, (need, value, stays) in enumerate(zip(self.needs, self._values, self._stays, strict=True)):
            if value + stays <= 0:
                continue
            here = self._at_home[node][at]
            come = 0
            if all(n <= left for n, left in zip(need, free, strict=True) if n):
                come = self._coming(at, node)
            # Nodes with the same room are equal wherever it makes no difference who is at home.
            most = min([here + come, *(left // n for n, left in zip(need, room, strict=True) if n)])
            if not stays:
                choices.append(Choice(value, need, most))
                continue
            choices.append(Choice(value + stays, need, min(here, most)))
            choices.append(Choice(value, need, min(come, most)))
        return room, tuple(one for one in choices if one.most > 0 and one.value > 0)

    def _coming(self, at: int, node: str) -> int:
        """Return how many pods of a group may come to ``node``."""
        problems = self.pods.case.index.eligibility.problems
        return sum(
            pods - self._of_class_here[at, name, node]
            for name, pods in self._classes[at].items()
            if not problems(name, node) and self.pods.devices.served(name, node)
        )
