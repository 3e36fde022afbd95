"""There is an order in which every coming pod is allowed when it comes.

Affinity and spread look at the pods that are there at that moment. Pods that stay are
there from the start; then the plan's moves and placements are tried in turns, in the
plan's order, and allowed pods come. No pod may be left over.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.eligibility import affinity_holds, untolerated
from stowage_optimizer.verify.terms import pod_labels_match
from stowage_optimizer.verify.violation import RuleName, Violation

TERMINATING = "terminating"

_Counted = tuple[str | bytes, ...]
"""All that decides on which nodes a spread constraint counts pods, and by what."""


def check_order(case: Case) -> Iterator[Violation]:
    """Yield arrivals that affinity or spread refuse whatever came before them."""
    steps = [*case.moves, *case.placements]
    classes = {one.class_id for one in steps}
    if not any(demanding(case.classes[name]) for name in classes):
        return
    state = ExecutionState(case)
    left = [(one.uid, one.target) for one in steps]
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
    """Where the pods are that a class requires.

    Parameters
    ----------
    domains
        The domain of each node, by the key of each term.
    """

    required_classes: frozenset[str]
    domains: Mapping[str, Mapping[str, str]]
    places: Counter[tuple[str, str]] = field(default_factory=Counter)

    def join(self, node: str, pods: int = 1) -> None:
        """Let so many required pods come to ``node``."""
        for key, domains in self.domains.items():
            if node in domains:
                self.places[key, domains[node]] += pods


@dataclass(slots=True)
class SpreadCounts:
    """How many pods a spread constraint counts in each domain.

    Parameters
    ----------
    domain_of
        Of each node on which pods count.
    """

    domain_of: Mapping[str, str]
    counts: dict[str, int] = field(init=False)
    fewest: int = field(init=False, default=0)
    _domains_with: Counter[int] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = dict.fromkeys(self.domain_of.values(), 0)
        self._domains_with = Counter({0: len(self.counts)})

    def join(self, node: str, pods: int = 1) -> None:
        """Let so many pods come to ``node``."""
        if node not in self.domain_of:
            return
        domain = self.domain_of[node]
        self._domains_with[self.counts[domain]] -= 1
        self.counts[domain] += pods
        self._domains_with[self.counts[domain]] += 1
        while not self._domains_with[self.fewest]:
            self.fewest += 1


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
    _there: dict[str, Counter[str]] = field(init=False, default_factory=dict)
    _affinity_counts: dict[str, AffinityCounts] = field(init=False, default_factory=dict)
    _spread_counts: dict[tuple[str, int], SpreadCounts] = field(init=False, default_factory=dict)
    _counting: defaultdict[str, list[AffinityCounts | SpreadCounts]] = field(
        init=False, default_factory=lambda: defaultdict(list)
    )
    _domains: dict[_Counted, dict[str, str]] = field(init=False, default_factory=dict)

    def arrive(self, uid: str, node: str) -> None:
        """Let the pod ``uid`` come to ``node``."""
        arrived = self.case.class_id(uid)
        self._there_of(arrived)[node] += 1
        for counts in self._counting[arrived]:
            counts.join(node)

    def _there_of(self, name: str) -> Counter[str]:
        """Return how many pods of the class are on each node."""
        if name not in self._there:
            self._there[name] = Counter(self._staying(name, terminating=False))
        return self._there[name]

    def _staying(self, name: str, *, terminating: bool) -> Iterator[str]:
        """Yield the node of each pod of the class that stays, and terminates or not."""
        case = self.case
        for uid in case.index.members.get(name, ()):
            node = case.before(uid)
            if node and node == case.after(uid):
                reason = case.pods[uid].immovable_reason
                if terminating == (reason == TERMINATING):
                    yield node

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
        if any(node not in domains for domains in counts.domains.values()):
            return False
        if all(counts.places[key, at[node]] for key, at in counts.domains.items()):
            return True
        return not counts.places.total() and wanted.id in counts.required_classes

    def _affinity_counts_of(self, wanted: pb.PodClass) -> AffinityCounts:
        if wanted.id not in self._affinity_counts:
            terms, index = wanted.required_pod_affinity, self.case.index
            required_classes = frozenset.intersection(*(index.spoken_of(term, wanted) for term in terms))
            domains = {term.topology_key: index.domains(term.topology_key) for term in terms}
            counts = AffinityCounts(required_classes, domains)
            self._count(counts, required_classes)
            for name in required_classes:
                for node in self._staying(name, terminating=True):
                    counts.join(node)
            self._affinity_counts[wanted.id] = counts
        return self._affinity_counts[wanted.id]

    def _count(self, counts: AffinityCounts | SpreadCounts, classes: Iterable[str]) -> None:
        """Count pods of ``classes`` from now on, and those that are there."""
        for name in classes:
            self._counting[name].append(counts)
            for node, pods in self._there_of(name).items():
                counts.join(node, pods)

    def _skew(self, wanted: pb.PodClass, index: int, spreads: Sequence[pb.TopologySpreadConstraint], node: str) -> str:
        spread, labels = spreads[index], self.case.nodes[node].labels
        if spread.topology_key not in labels:
            return "the node has no such label"
        found = self._spread_counts_of(wanted, index, spreads)
        fewest = found.fewest
        if len(found.counts) < max(1, spread.min_domains):
            fewest = 0
        itself = int(_selected(wanted, spread, wanted))
        skew = found.counts.get(labels[spread.topology_key], 0) + itself - fewest
        return f"skew {skew} > {spread.max_skew}" if skew > spread.max_skew else ""

    def _spread_counts_of(
        self, wanted: pb.PodClass, index: int, spreads: Sequence[pb.TopologySpreadConstraint]
    ) -> SpreadCounts:
        known = wanted.id, index
        if known not in self._spread_counts:
            spread = spreads[index]
            keys = [one.topology_key for one in spreads]
            domain_of = self._domains_of(wanted, spread, keys)
            members = [
                name
                for name in self.case.index.selected(spread.label_selector)
                if self.case.classes[name].namespace == wanted.namespace
                and not _counts_nobody(wanted, spread)
                and _selected(wanted, spread, self.case.classes[name])
            ]
            counts = SpreadCounts(domain_of)
            self._count(counts, members)
            self._spread_counts[known] = counts
        return self._spread_counts[known]

    def _domains_of(self, wanted: pb.PodClass, spread: pb.TopologySpreadConstraint, keys: list[str]) -> dict[str, str]:
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
            index = self.case.index
            alike = index.eligibility.alike_to(wanted.id)
            counted = {one for one in {*alike.values()} if _counts(wanted, spread, self.case.nodes[one])}
            labelled = [index.domains(key) for key in keys]
            self._domains[known] = {
                name: domain
                for name, domain in index.domains(spread.topology_key).items()
                if alike[name] in counted and all(name in one for one in labelled)
            }
        return self._domains[known]


def _counts_nobody(wanted: pb.PodClass, spread: pb.TopologySpreadConstraint) -> bool:
    """Return whether the selector is empty: the scheduler counts no pod for it."""
    selector = spread.label_selector
    if selector.match_labels or selector.match_expressions:
        return False
    return not any(key in wanted.labels for key in spread.match_label_keys)


def _counts(wanted: pb.PodClass, spread: pb.TopologySpreadConstraint, node: pb.Node) -> bool:
    """Return whether pods on ``node`` count, by the constraint's policies."""
    if spread.node_affinity_policy != "Ignore" and not affinity_holds(wanted, node):
        return False
    return spread.node_taints_policy != "Honor" or not any(untolerated(wanted, node.taints))


def _selected(wanted: pb.PodClass, spread: pb.TopologySpreadConstraint, other: pb.PodClass) -> bool:
    if not spread.HasField("label_selector"):
        return False
    written = {one.key for one in spread.label_selector.match_expressions if one.operator == "In"}
    return pod_labels_match(spread.label_selector, other.labels) and all(
        key in other.labels and other.labels[key] == wanted.labels[key]
        for key in spread.match_label_keys
        if key in wanted.labels and key not in written
    )
