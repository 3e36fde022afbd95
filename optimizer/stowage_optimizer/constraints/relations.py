"""Constraints between pods that no capacity expresses: affinity and spread.

`relations_of` describes them by tallies: counts of pods by topology domain.
`DomainCounts` keeps the counts while pods come and go, and decides which pods may come.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.constraints.node_constraints import has_wanted_labels, is_tolerated, meets_affinity
from stowage_optimizer.constraints.pod_selection import PodIndex, numbered, selects, spread_selector
from stowage_optimizer.constraints.shared_dimensions import AntiAffinityRule, anti_affinity
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.pod_class import PodClass, TopologySpread
from stowage_optimizer.model.pods import TERMINATING
from stowage_optimizer.model.relations import NO_DOMAIN, Affinity, Relations, Rules, Spread, Tally
from stowage_optimizer.model.snapshot import Snapshot


def relations_of(packing: Packing) -> Relations | None:
    """Return what the items of ``packing`` demand of other pods, None if nothing."""
    snapshot = packing.snapshot
    if not any(one.demanding for one in snapshot.classes.values()):
        return None
    pods, present = snapshot.pods, Counter(snapshot.pods.class_id)
    compiler, items = RelationCompiler(snapshot, present), set(packing.class_ids)
    # Pods that wait, and are no items, keep nobody away.
    there = items.union(pods.running_classes)
    rules = compiler.rules([one for one in anti_affinity(snapshot, present).others if one.carrier in there])
    if items.isdisjoint(rules):
        return None
    index = {name: node for node, name in enumerate(packing.node_names)}
    return Relations(
        tallies=tuple(compiler.tallies),
        counting={one: tuple(found) for one, found in compiler.counting.items()},
        rules={one: found for one, found in rules.items() if one in items},
        class_of=packing.class_ids,
        staying=tuple(
            (pods.class_id[one], index[pods.node[one]], pods.immovable_reason[one] == TERMINATING)
            for one in packing.staying
        ),
    )


TallyKey = tuple[str, frozenset[str], frozenset[int] | None, bool]


@dataclass(slots=True)
class RelationCompiler:
    """Collects the tallies of one snapshot."""

    snapshot: Snapshot
    present: Counter[str]
    tallies: list[Tally] = field(default_factory=list)
    counting: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _index: PodIndex = field(init=False)
    _known: dict[TallyKey, int] = field(default_factory=dict)
    _domains: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _nodes: dict[Hashable, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._index = PodIndex(self.snapshot, self.present)

    def rules(self, terms: Sequence[AntiAffinityRule]) -> dict[str, Rules]:
        """Return the rules by class id.

        Parameters
        ----------
        terms
            The anti-affinity that capacities do not express.
        """
        anti_affinity = self._anti_affinity(terms)
        found = {}
        for class_id in self.present:
            pod_class = self.snapshot.classes[class_id]
            rules = Rules(
                anti_affinity=anti_affinity.get(class_id, ()),
                affinity=self._affinity(pod_class),
                spread=self._spread(pod_class),
            )
            if not rules.plain:
                found[class_id] = rules
        return found

    def _anti_affinity(self, terms: Sequence[AntiAffinityRule]) -> Mapping[str, tuple[int, ...]]:
        met: defaultdict[str, set[int]] = defaultdict(set)
        for one in terms:
            key = one.term.topology_key
            met[one.carrier].add(self._tally(key, one.selected))
            carriers = self._tally(key, frozenset({one.carrier}))
            for class_id in one.selected:
                met[class_id].add(carriers)
        return {class_id: tuple(sorted(found)) for class_id, found in met.items()}

    def _affinity(self, pod_class: PodClass) -> Affinity | None:
        terms = pod_class.required_pod_affinity
        if not terms:
            return None
        # As in the scheduler, only pods that every term selects count for any.
        wanted = frozenset.intersection(*(self._index.picked(term, pod_class) for term in terms))
        tallies = tuple(self._tally(term.topology_key, wanted) for term in terms)
        return Affinity(tallies, matches_itself=pod_class.id in wanted)

    def _spread(self, pod_class: PodClass) -> tuple[Spread, ...]:
        hard = [spread for spread in pod_class.topology_spread if spread.hard]
        keys = {spread.topology_key for spread in hard}
        return tuple(self._one_spread(pod_class, spread, keys) for spread in hard)

    def _one_spread(self, pod_class: PodClass, spread: TopologySpread, keys: Iterable[str]) -> Spread:
        counted = self._counted(pod_class, spread, keys)
        # An empty selector counts no pod, though the pod that comes counts itself.
        tally = self._tally(
            spread.topology_key, self._index.spread_over(spread, pod_class), counted=counted, living=True
        )
        domain_of = self.tallies[tally].domain_of
        return Spread(
            tally=tally,
            domains=tuple(sorted({domain_of[node] for node in counted})),
            max_skew=spread.max_skew,
            min_domains=spread.min_domains,
            self_match=int(selects(spread_selector(spread, pod_class), pod_class.labels)),
        )

    def _counted(self, pod_class: PodClass, spread: TopologySpread, keys: Iterable[str]) -> frozenset[int]:
        """Return the nodes whose pods count: they have every key of the class.

        Most classes of a cluster spread over the same keys and select no nodes.
        """
        tests = []
        asking: list[Hashable] = [frozenset(keys)]
        if spread.honor_node_affinity:
            tests += [has_wanted_labels, meets_affinity]
            asking += [frozenset(pod_class.node_selector.items()), pod_class.required_node_affinity]
        if spread.honor_node_taints:
            tests.append(is_tolerated)
            asking.append(pod_class.tolerations)
        alike = spread.honor_node_affinity, *asking
        if alike not in self._nodes:
            self._nodes[alike] = frozenset(
                index
                for index, node in enumerate(self.snapshot.nodes)
                if all(key in node.labels for key in keys) and all(test(pod_class, node) for test in tests)
            )
        return self._nodes[alike]

    def _tally(
        self, key: str, classes: frozenset[str], *, counted: frozenset[int] | None = None, living: bool = False
    ) -> int:
        known = (key, classes, counted, living)
        if known not in self._known:
            self._known[known] = len(self.tallies)
            for class_id in classes:
                self.counting[class_id].append(len(self.tallies))
            self.tallies.append(Tally(self._numbered(key), counted, living))
        return self._known[known]

    def _numbered(self, key: str) -> tuple[int, ...]:
        if key not in self._domains:
            self._domains[key] = numbered(self.snapshot.nodes, key)
        return self._domains[key]


NO_RULES = Rules()


class DomainCounts:
    """The pods that are there, as the filters of the scheduler count them.

    Parameters
    ----------
    relations
        What to count. Pods that stay anyway are counted from the start.
    current
        Where the items are before any of them moves.
    """

    def __init__(self, relations: Relations, current: Assignment) -> None:
        self._relations = relations
        self._current = current
        self._counts = [[0] * tally.domains for tally in relations.tallies]
        self._newcomers = [[0] * tally.domains for tally in relations.tallies]
        for class_id, node, terminating in relations.staying:
            self._count(self._counts, class_id, node, 1, terminating)

    def add(self, item: int, node: int, sign: int) -> None:
        """Count ``item`` on ``node``; with a ``sign`` of -1, no more."""
        class_id = self._relations.class_of[item]
        self._count(self._counts, class_id, node, sign, terminating=False)
        if self._current[item] != node:
            self._count(self._newcomers, class_id, node, sign, terminating=False)

    def fits(self, item: int, node: int) -> bool:
        """Return whether no pod is there that ``item`` must not meet.

        For one that stays these are pods that come: the rest is ignored during execution.
        """
        counts = self._newcomers if self._current[item] == node else self._counts
        return self._no_conflict(counts, self._relations.class_of[item], node)

    def allows(self, item: int, node: int) -> bool:
        """Return whether ``item`` may come to ``node`` now."""
        class_id = self._relations.class_of[item]
        rules = self._relations.rules.get(class_id, NO_RULES)
        return (
            self._no_conflict(self._counts, class_id, node)
            and (rules.affinity is None or self._affinity_allows(rules.affinity, node))
            and all(self._skew_allowed(spread, node) for spread in rules.spread)
        )

    def _no_conflict(self, counts: list[list[int]], class_id: str, node: int) -> bool:
        for tally in self._relations.rules.get(class_id, NO_RULES).anti_affinity:
            domain = self._domain(tally, node)
            if domain != NO_DOMAIN and counts[tally][domain]:
                return False
        return True

    def _affinity_allows(self, affinity: Affinity, node: int) -> bool:
        domains = [self._domain(tally, node) for tally in affinity.tallies]
        if NO_DOMAIN in domains:
            return False
        if all(self._counts[tally][domain] for tally, domain in zip(affinity.tallies, domains, strict=True)):
            return True
        return affinity.matches_itself and not any(any(self._counts[one]) for one in affinity.tallies)

    def _skew_allowed(self, spread: Spread, node: int) -> bool:
        domain = self._domain(spread.tally, node)
        if domain == NO_DOMAIN:
            return False
        counts = self._counts[spread.tally]
        fewest = 0
        if len(spread.domains) >= max(1, spread.min_domains):
            fewest = min(counts[one] for one in spread.domains)
        return counts[domain] + spread.self_match - fewest <= spread.max_skew

    def _domain(self, tally: int, node: int) -> int:
        return self._relations.tallies[tally].domain_of[node]

    def _count(self, counts: list[list[int]], class_id: str, node: int, sign: int, terminating: bool) -> None:
        for index in self._relations.counting.get(class_id, ()):
            tally = self._relations.tallies[index]
            domain = tally.domain_of[node]
            if domain == NO_DOMAIN or (tally.living and terminating):
                continue
            if tally.counted is None or node in tally.counted:
                counts[index][domain] += sign
