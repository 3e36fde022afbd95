"""From the terms of a snapshot to tallies and rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.constraints.anti_affinity import AntiAffinityRule
from stowage_optimizer.constraints.matching import selects
from stowage_optimizer.constraints.node_affinity import NodeAffinity
from stowage_optimizer.constraints.node_selector import NodeSelector
from stowage_optimizer.constraints.pod_selection import PodIndex, spread_selector
from stowage_optimizer.constraints.taints import Taints
from stowage_optimizer.constraints.topology import numbered
from stowage_optimizer.model.pod_class import PodClass, TopologySpread
from stowage_optimizer.model.relations import (
    Affinity,
    Rules,
    Spread,
    Tally,
)
from stowage_optimizer.model.snapshot import Snapshot

TallyKey = tuple[str, frozenset[str], frozenset[int] | None, bool]


@dataclass(slots=True)
class RelationCompiler:
    """Collects the tallies of one snapshot.

    Parameters
    ----------
    snapshot
        The snapshot.
    present
        Its pods by class id.
    """

    snapshot: Snapshot
    present: Counter[str]
    tallies: list[Tally] = field(default_factory=list)
    counting: defaultdict[str, list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _index: PodIndex = field(init=False)
    _known: dict[TallyKey, int] = field(default_factory=dict)
    _domains: dict[str, tuple[int, ...]] = field(default_factory=dict)

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

    def _anti_affinity(
        self, terms: Sequence[AntiAffinityRule]
    ) -> Mapping[str, tuple[int, ...]]:
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
        wanted = frozenset.intersection(
            *(self._index.picked(term, pod_class) for term in terms)
        )
        tallies = tuple(self._tally(term.topology_key, wanted) for term in terms)
        return Affinity(tallies, matches_itself=pod_class.id in wanted)

    def _spread(self, pod_class: PodClass) -> tuple[Spread, ...]:
        hard = [spread for spread in pod_class.topology_spread if spread.hard]
        keys = {spread.topology_key for spread in hard}
        return tuple(self._one_spread(pod_class, spread, keys) for spread in hard)

    def _one_spread(
        self, pod_class: PodClass, spread: TopologySpread, keys: Iterable[str]
    ) -> Spread:
        counted = self._counted(pod_class, spread, keys)
        # An empty selector counts no pod, though the pod that comes counts itself.
        tally = self._tally(
            spread.topology_key,
            self._index.spread_over(spread, pod_class),
            counted=counted,
            living=True,
        )
        domain_of = self.tallies[tally].domain_of
        return Spread(
            tally=tally,
            domains=tuple(sorted({domain_of[node] for node in counted})),
            max_skew=spread.max_skew,
            min_domains=spread.min_domains,
            self_match=int(
                selects(spread_selector(spread, pod_class), pod_class.labels)
            ),
        )

    def _counted(
        self, pod_class: PodClass, spread: TopologySpread, keys: Iterable[str]
    ) -> frozenset[int]:
        """Return the nodes whose pods count: they have every key of the class."""
        tests = []
        if spread.honor_node_affinity:
            tests += [NodeSelector().allows, NodeAffinity().allows]
        if spread.honor_node_taints:
            tests.append(Taints().allows)
        return frozenset(
            index
            for index, node in enumerate(self.snapshot.nodes)
            if all(key in node.labels for key in keys)
            and all(test(pod_class, node) for test in tests)
        )

    def _tally(
        self,
        key: str,
        classes: frozenset[str],
        *,
        counted: frozenset[int] | None = None,
        living: bool = False,
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
