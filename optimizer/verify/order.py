"""There is an order in which every pod that comes is welcome when it comes.

Affinity and spread look at the pods that are there at that moment. Whoever stays is
there from the start; then the plan's moves and placements are gone through in turns,
in the plan's order, and whoever is welcome comes. Nobody may be left over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from optimizer.contract import optimizer_pb2 as pb
from optimizer.verify.case import Case
from optimizer.verify.eligibility import affinity_holds, untolerated
from optimizer.verify.selection import pod_labels_match
from optimizer.verify.terms import term_speaks_of
from optimizer.verify.violation import Violation

TERMINATING = "terminating"


def check_order(case: Case) -> Iterator[Violation]:
    """Yield arrivals that affinity or spread refuse whatever came before them."""
    coming = [(one.pod_uid, one.to_node) for one in case.plan.moves]
    coming += [(one.pod_uid, one.node) for one in case.plan.placements]
    if not any(demanding(case.class_of(uid)) for uid, _ in coming):
        return
    scene = Scene(case)
    left = coming
    while left:
        late = []
        for uid, node in left:
            if any(scene.refusals(uid, node)):
                late.append((uid, node))
            else:
                scene.arrive(uid, node)
        if len(late) == len(left):
            break
        left = late
    for uid, node in left:
        for rule, detail in scene.refusals(uid, node):
            yield Violation(rule, uid, f"on {node}: {detail}")


def demanding(wanted: pb.PodClass) -> bool:
    """Tell whether the class has required affinity or hard spread."""
    return bool(wanted.required_pod_affinity) or any(_hard(wanted))


def _hard(wanted: pb.PodClass) -> Iterator[pb.TopologySpreadConstraint]:
    for spread in wanted.topology_spread:
        if spread.when_unsatisfiable != "ScheduleAnyway":
            yield spread


@dataclass(slots=True)
class Scene:
    """The pods that are there while a plan is carried out.

    Parameters
    ----------
    case
        The case; its pods that stay are there from the start.
    """

    case: Case
    _on: dict[str, list[pb.Pod]] = field(init=False)

    def __post_init__(self) -> None:
        self._on = {name: [] for name in self.case.nodes}
        for uid, node in self.case.after.items():
            if node and node == self.case.pods[uid].node:
                self._on[node].append(self.case.pods[uid])

    def arrive(self, uid: str, node: str) -> None:
        """Let the pod ``uid`` come to ``node``."""
        self._on[node].append(self.case.pods[uid])

    def refusals(self, uid: str, node: str) -> Iterator[tuple[str, str]]:
        """Yield the rule and the reason of each refusal of ``uid`` by ``node``."""
        wanted = self.case.class_of(uid)
        if wanted.required_pod_affinity and not self._has_company(wanted, node):
            yield "pod-affinity", "nobody that it needs is in its domain"
        spreads = list(_hard(wanted))
        for spread in spreads:
            problem = self._skew(wanted, spread, spreads, node)
            if problem:
                yield "topology-spread", problem

    def _has_company(self, wanted: pb.PodClass, node: str) -> bool:
        terms = wanted.required_pod_affinity
        labels = self.case.nodes[node].labels
        if any(term.topology_key not in labels for term in terms):
            return False
        friends = {
            name
            for name, other in self.case.classes.items()
            if all(term_speaks_of(self.case, term, wanted, other) for term in terms)
        }
        places = [
            self.case.nodes[name].labels
            for name, pods in self._on.items()
            if any(pod.class_id in friends for pod in pods)
        ]
        if all(
            any(_same(term.topology_key, labels, place) for place in places)
            for term in terms
        ):
            return True
        nobody = not any(
            term.topology_key in place for term in terms for place in places
        )
        return nobody and wanted.id in friends

    def _skew(
        self,
        wanted: pb.PodClass,
        spread: pb.TopologySpreadConstraint,
        spreads: Iterable[pb.TopologySpreadConstraint],
        node: str,
    ) -> str:
        key, labels = spread.topology_key, self.case.nodes[node].labels
        if key not in labels:
            return f"the node has no label {key}"
        keys = [one.topology_key for one in spreads]
        counts: dict[str, int] = {}
        for name, other in self.case.nodes.items():
            if all(one in other.labels for one in keys) and _counts(
                wanted, spread, other
            ):
                domain = other.labels[key]
                found = self._matching(wanted, spread, name)
                counts[domain] = counts.get(domain, 0) + found
        fewest = min(counts.values(), default=0)
        if len(counts) < max(1, spread.min_domains):
            fewest = 0
        itself = int(_selected(wanted, spread, wanted))
        skew = counts.get(labels[key], 0) + itself - fewest
        if skew > spread.max_skew:
            return f"skew {skew} over {key}, at most {spread.max_skew}"
        return ""

    def _matching(
        self, wanted: pb.PodClass, spread: pb.TopologySpreadConstraint, node: str
    ) -> int:
        selector = spread.label_selector
        if not selector.match_labels and not selector.match_expressions:
            merged = any(key in wanted.labels for key in spread.match_label_keys)
            if not merged:
                return 0  # The scheduler counts nobody for an empty selector.
        return sum(
            pod.namespace == wanted.namespace
            and pod.immovable_reason != TERMINATING
            and _selected(wanted, spread, self.case.classes[pod.class_id])
            for pod in self._on[node]
        )


def _counts(
    wanted: pb.PodClass, spread: pb.TopologySpreadConstraint, node: pb.Node
) -> bool:
    """Tell whether pods on ``node`` count, by the constraint's policies."""
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


def _same(key: str, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return key in one and key in other and one[key] == other[key]
