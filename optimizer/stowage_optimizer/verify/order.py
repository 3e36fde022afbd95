"""There is an order in which every coming pod is allowed when it comes.

Affinity and spread look at the pods that are there at that moment. Pods that stay are
there from the start; then the plan's moves and placements are tried in turns, in the
plan's order, and allowed pods come. No pod may be left over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.places import affinity_holds, untolerated
from stowage_optimizer.verify.terms import pod_labels_match, term_speaks_of
from stowage_optimizer.verify.violation import RuleName, Violation

TERMINATING = "terminating"

_Counted = tuple[str | bytes, ...]
"""All that decides on which nodes a spread constraint counts pods, and by what."""


def check_order(case: Case) -> Iterator[Violation]:
    """Yield arrivals that affinity or spread refuse whatever came before them."""
    coming = [(one.pod_uid, one.to_node) for one in case.moves]
    coming += [(one.pod_uid, one.node) for one in case.placements]
    if not any(demanding(case.class_of(uid)) for uid, _ in coming):
        return
    state = ExecutionState(case)
    left = coming
    while left:
        late = []
        for uid, node in left:
            if any(state.refusals(uid, node)):
                late.append((uid, node))
            else:
                state.arrive(uid, node)
        if len(late) == len(left):
            break
        left = late
    for uid, node in left:
        for rule, detail in state.refusals(uid, node):
            yield Violation(rule, uid, f"on {node}: {detail}")


def demanding(wanted: pb.PodClass) -> bool:
    """Return whether the class has required affinity or hard spread."""
    return bool(wanted.required_pod_affinity) or any(_hard(wanted))


def _hard(wanted: pb.PodClass) -> Iterator[pb.TopologySpreadConstraint]:
    for spread in wanted.topology_spread:
        if spread.when_unsatisfiable != "ScheduleAnyway":
            yield spread


@dataclass(slots=True)
class AffinityCounts:
    """Where the pods are that a class requires."""

    required_classes: set[str]
    places: Counter[tuple[str, str]]


@dataclass(slots=True)
class SpreadCounts:
    """How many pods a spread constraint counts in each domain."""

    members: set[str]
    domain_of: dict[str, str]
    counts: dict[str, int]


@dataclass(slots=True)
class ExecutionState:
    """The pods that are there while a plan is carried out.

    Parameters
    ----------
    case
        The case; its pods that stay are there from the start.

    They are counted by class and node: a constraint reads those of its own classes.
    """

    case: Case
    _there: dict[str, Counter[str]] = field(init=False)
    _leaving: dict[str, Counter[str]] = field(init=False)
    _affinity_counts: dict[str, AffinityCounts] = field(
        init=False, default_factory=dict
    )
    _spread_counts: dict[tuple[str, int], SpreadCounts] = field(
        init=False, default_factory=dict
    )
    _domains: dict[_Counted, dict[str, str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        case = self.case
        self._there = {name: Counter() for name in case.classes}
        self._leaving = {name: Counter() for name in case.classes}
        leaving = {
            pod.uid for pod in case.snapshot.pods if pod.immovable_reason == TERMINATING
        }
        for uid, node in case.after.items():
            if node and node == case.before[uid]:
                there = self._leaving if uid in leaving else self._there
                there[case.class_of(uid).id][node] += 1

    def arrive(self, uid: str, node: str) -> None:
        """Let the pod ``uid`` come to ``node``."""
        arrived = self.case.class_of(uid).id
        self._there[arrived][node] += 1
        for name, counts in self._affinity_counts.items():
            if arrived in counts.required_classes:
                self._join(counts, self.case.classes[name], node, 1)
        for spread_counts in self._spread_counts.values():
            if arrived in spread_counts.members:
                _count(spread_counts, node, 1)

    def refusals(self, uid: str, node: str) -> Iterator[tuple[RuleName, str]]:
        """Yield the rule and the reason of each refusal of ``uid`` by ``node``."""
        wanted = self.case.class_of(uid)
        if wanted.required_pod_affinity and not self._affinity_holds(wanted, node):
            yield "pod-affinity", "no pod that it requires is in its domain"
        spreads = list(_hard(wanted))
        for index, spread in enumerate(spreads):
            problem = self._skew(wanted, index, spreads, node)
            if problem:
                yield "topology-spread", f"over {spread.topology_key}: {problem}"

    def _affinity_holds(self, wanted: pb.PodClass, node: str) -> bool:
        counts = self._affinity_counts_of(wanted)
        labels = self.case.nodes[node].labels
        keys = [term.topology_key for term in wanted.required_pod_affinity]
        if any(key not in labels for key in keys):
            return False
        if all(counts.places[key, labels[key]] for key in keys):
            return True
        return not counts.places.total() and wanted.id in counts.required_classes

    def _affinity_counts_of(self, wanted: pb.PodClass) -> AffinityCounts:
        if wanted.id not in self._affinity_counts:
            required_classes = {
                name
                for name, other in self.case.classes.items()
                if all(
                    term_speaks_of(term, wanted, other)
                    for term in wanted.required_pod_affinity
                )
            }
            counts = self._affinity_counts[wanted.id] = AffinityCounts(
                required_classes, Counter()
            )
            for name in required_classes:
                for there in (self._there[name], self._leaving[name]):
                    for node, pods in there.items():
                        self._join(counts, wanted, node, pods)
        return self._affinity_counts[wanted.id]

    def _join(
        self, counts: AffinityCounts, wanted: pb.PodClass, node: str, pods: int
    ) -> None:
        labels = self.case.nodes[node].labels
        for key in {term.topology_key for term in wanted.required_pod_affinity}:
            if key in labels:
                counts.places[key, labels[key]] += pods

    def _skew(
        self,
        wanted: pb.PodClass,
        index: int,
        spreads: Sequence[pb.TopologySpreadConstraint],
        node: str,
    ) -> str:
        spread, labels = spreads[index], self.case.nodes[node].labels
        if spread.topology_key not in labels:
            return "the node has no such label"
        counts = self._spread_counts_of(wanted, index, spreads).counts
        fewest = min(counts.values(), default=0)
        if len(counts) < max(1, spread.min_domains):
            fewest = 0
        itself = int(_selected(wanted, spread, wanted))
        skew = counts.get(labels[spread.topology_key], 0) + itself - fewest
        return f"skew {skew} > {spread.max_skew}" if skew > spread.max_skew else ""

    def _spread_counts_of(
        self,
        wanted: pb.PodClass,
        index: int,
        spreads: Sequence[pb.TopologySpreadConstraint],
    ) -> SpreadCounts:
        known = wanted.id, index
        if known not in self._spread_counts:
            spread = spreads[index]
            keys = [one.topology_key for one in spreads]
            domain_of = self._domains_of(wanted, spread, keys)
            members = {
                name
                for name, other in self.case.classes.items()
                if other.namespace == wanted.namespace
                and not _counts_nobody(wanted, spread)
                and _selected(wanted, spread, other)
            }
            spread_counts = SpreadCounts(
                members, domain_of, dict.fromkeys(domain_of.values(), 0)
            )
            for name in members:
                for node, pods in self._there[name].items():
                    _count(spread_counts, node, pods)
            self._spread_counts[known] = spread_counts
        return self._spread_counts[known]

    def _domains_of(
        self, wanted: pb.PodClass, spread: pb.TopologySpreadConstraint, keys: list[str]
    ) -> dict[str, str]:
        """Return the domain of each node on which pods count.

        Most workloads of a cluster spread over the same keys and select no nodes.
        """
        selecting = pb.PodClass(
            node_selector=wanted.node_selector,
            required_node_affinity=wanted.required_node_affinity,
            tolerations=wanted.tolerations,
        ).SerializeToString(deterministic=True)
        policies = spread.node_affinity_policy, spread.node_taints_policy
        known: _Counted = (spread.topology_key, *policies, *keys, selecting)
        if known not in self._domains:
            self._domains[known] = {
                name: node.labels[spread.topology_key]
                for name, node in self.case.nodes.items()
                if all(key in node.labels for key in keys)
                and _counts(wanted, spread, node)
            }
        return self._domains[known]


def _count(spread_counts: SpreadCounts, node: str, pods: int) -> None:
    if node in spread_counts.domain_of:
        spread_counts.counts[spread_counts.domain_of[node]] += pods


def _counts_nobody(wanted: pb.PodClass, spread: pb.TopologySpreadConstraint) -> bool:
    """Return whether the selector is empty: the scheduler counts no pod for it."""
    selector = spread.label_selector
    if selector.match_labels or selector.match_expressions:
        return False
    return not any(key in wanted.labels for key in spread.match_label_keys)


def _counts(
    wanted: pb.PodClass, spread: pb.TopologySpreadConstraint, node: pb.Node
) -> bool:
    """Return whether pods on ``node`` count, by the constraint's policies."""
    if spread.node_affinity_policy != "Ignore" and not affinity_holds(wanted, node):
        return False
    return spread.node_taints_policy != "Honor" or not any(
        untolerated(wanted, node.taints)
    )


def _selected(
    wanted: pb.PodClass, spread: pb.TopologySpreadConstraint, other: pb.PodClass
) -> bool:
    if not spread.HasField("label_selector"):
        return False
    written = {
        one.key
        for one in spread.label_selector.match_expressions
        if one.operator == "In"
    }
    return pod_labels_match(spread.label_selector, other.labels) and all(
        key in other.labels and other.labels[key] == wanted.labels[key]
        for key in spread.match_label_keys
        if key in wanted.labels and key not in written
    )
