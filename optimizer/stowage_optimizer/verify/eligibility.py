"""Which nodes refuse which pods.

That is looked at once for a class and all nodes that are alike to it: they have the
same taints, and the same values of the labels that the class reads.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import cached_property

from stowage_optimizer.contract import optimizer_pb2 as pb

NAME = "metadata.name"
"""The node's name, which a class may read like a label."""


class Eligibility:
    """What keeps pods away from nodes.

    Parameters
    ----------
    nodes, classes
        The snapshot's, by name and by id.
    forbidden
        Nodes that refused pods of a class before, by the class.
    """

    def __init__(
        self, nodes: Mapping[str, pb.Node], classes: Mapping[str, pb.PodClass], forbidden: Mapping[str, Set[str]]
    ) -> None:
        self._nodes = nodes
        self._classes = classes
        self._forbidden = forbidden
        self._columns: dict[str, list[object]] = {}
        self._alike: dict[str, dict[str, str]] = {}
        self._alike_by: dict[frozenset[str], dict[str, str]] = {}
        self._problems: dict[tuple[str, str], list[str]] = {}

    def problems(self, class_id: str, node: str) -> list[str]:
        """Return why no pod of the class may come to ``node``; nothing if it may."""
        found = self._look(class_id, self.alike_to(class_id)[node])
        if node in self._forbidden.get(class_id, ()):
            return [*found, f"class {class_id} was refused there"]
        return found

    def welcoming(self, class_id: str, nodes: Collection[str]) -> list[str]:
        """Return those of ``nodes`` to which pods of the class may come."""
        alike, forbidden = self.alike_to(class_id), self._forbidden.get(class_id, ())
        kinds = {alike[node] for node in nodes}
        welcome = {kind for kind in kinds if not self._look(class_id, kind)}
        return [node for node in nodes if alike[node] in welcome and node not in forbidden]

    def _look(self, class_id: str, node: str) -> list[str]:
        pair = class_id, node
        if pair not in self._problems:
            wanted = self._classes[class_id]
            self._problems[pair] = list(problems(wanted, self._nodes[node]))
        return self._problems[pair]

    def alike_to(self, class_id: str) -> dict[str, str]:
        """Return the first of all nodes that are alike to the class, for each node."""
        if class_id not in self._alike:
            keys = _keys_read(self._classes[class_id])
            if keys not in self._alike_by:
                columns = (self._guards, *map(self._column, keys))
                first: dict[object, str] = {}
                self._alike_by[keys] = {
                    name: first.setdefault(tuple(seen), name) for name, *seen in zip(self._nodes, *columns, strict=True)
                }
            self._alike[class_id] = self._alike_by[keys]
        return self._alike[class_id]

    @cached_property
    def _guards(self) -> list[object]:
        """What of each node concerns every class."""
        return [(node.unschedulable, *map(pb.Taint.SerializeToString, node.taints)) for node in self._nodes.values()]

    def _column(self, key: str) -> list[object]:
        """Return each node's label ``key``."""
        if key not in self._columns:
            nodes = self._nodes.values()
            self._columns[key] = [node.name if key == NAME else node.labels.get(key) for node in nodes]
        return self._columns[key]


def _keys_read(wanted: pb.PodClass) -> frozenset[str]:
    """Return the labels of nodes that the class reads."""
    terms = list(wanted.required_node_affinity)
    for volume in wanted.volume_node_affinity:
        terms += volume.terms
    keys = {one.key for term in terms for one in term.match_expressions}
    keys |= {one.key for term in terms for one in term.match_fields}
    return frozenset(keys.union(wanted.node_selector))


def problems(wanted: pb.PodClass, node: pb.Node) -> Iterator[str]:
    """Yield why ``node`` turns pods of the class away."""
    taints = list(node.taints)
    if node.unschedulable:
        taints.append(pb.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule"))
    for taint in untolerated(wanted, taints):
        yield f"taint {taint.key}={taint.value}:{taint.effect} not tolerated"
    if not affinity_holds(wanted, node):
        yield "its node selector or affinity does not hold"
    for volume in wanted.volume_node_affinity:
        if not any(_term_holds(term, node) for term in volume.terms):
            yield "a volume cannot be reached from it"


def untolerated(wanted: pb.PodClass, taints: Iterable[pb.Taint]) -> Iterator[pb.Taint]:
    """Yield those of ``taints`` that keep pods of the class away."""
    for taint in taints:
        if taint.effect == "PreferNoSchedule":
            continue
        if not any(_tolerated(one, taint) for one in wanted.tolerations):
            yield taint


def affinity_holds(wanted: pb.PodClass, node: pb.Node) -> bool:
    """Return whether ``node`` is one that the class selects."""
    terms = wanted.required_node_affinity
    return all(key in node.labels and node.labels[key] == value for key, value in wanted.node_selector.items()) and (
        not terms or any(_term_holds(term, node) for term in terms)
    )


def _tolerated(toleration: pb.Toleration, taint: pb.Taint) -> bool:
    same_effect = toleration.effect in ("", taint.effect)
    if toleration.operator == "Exists":
        return same_effect and toleration.key in ("", taint.key)
    equal = toleration.key == taint.key and toleration.value == taint.value
    return same_effect and toleration.operator in ("", "Equal") and equal


def _term_holds(term: pb.NodeSelectorTerm, node: pb.Node) -> bool:
    checks = [(one, dict(node.labels)) for one in term.match_expressions]
    checks += [(one, {NAME: node.name}) for one in term.match_fields]
    return bool(checks) and all(_holds(one, labels) for one, labels in checks)


def _holds(requirement: pb.Requirement, labels: Mapping[str, str]) -> bool:
    present = requirement.key in labels
    value = labels.get(requirement.key, "")
    match requirement.operator:
        case "In":
            return present and value in requirement.values
        case "NotIn":
            return not present or value not in requirement.values
        case "Exists":
            return present
        case "DoesNotExist":
            return not present
        case "Gt" | "Lt" as operator:
            return present and _numbers_hold(operator, value, requirement.values[0])
    return False


def _numbers_hold(operator: str, value: str, limit: str) -> bool:
    digits = value[1:] if value.startswith(("+", "-")) else value
    if not (digits.isascii() and digits.isdigit()):
        return False
    return int(value) > int(limit) if operator == "Gt" else int(value) < int(limit)
