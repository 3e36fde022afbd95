"""Relations and allowances as pins, so that strategies need not know of them.

Of an allowance, only as many pods may move as it allows: those that a proposal moves.
Relations become eligibility: each pod keeps to the domains that a proposal gave it.

Strategies know which nodes a pod may go to. If a proposal keeps every relation, so does
every assignment that leaves all pods in the proposal's domains. The proposal need not
fit: the strategy finds the room.
"""

from collections import defaultdict
from dataclasses import replace
from random import Random

import numpy as np

from stowage_optimizer.assignments.repair import make_whole, repair_relations
from stowage_optimizer.assignments.restricting import restricted
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.relations import Relations, Rules

PERTURBED_SHARE = 0.5
"""Of the pods with demands that have a node, when others are tried."""


def domains_for(packing: Packing, wanted: Assignment, policy: Policy) -> Assignment:
    """Return ``wanted`` with every relation kept, given room for all pods.

    If that is impossible, the present state.
    """
    counts = np.bincount(packing.kind, minlength=len(packing.kinds)).tolist()
    everything = [
        sum(count * amount for count, amount in zip(counts, amounts, strict=True))
        for amounts in zip(*(kind.demand for kind in packing.kinds), strict=True)
    ]
    room = tuple(
        tuple(max(0, one) + more for one, more in zip(amounts, everything, strict=True)) for amounts in packing.room
    )
    roomy = replace(packing, room=room)
    whole = make_whole(roomy, wanted, policy)
    return repair_relations(roomy, whole) or whole


def perturbed(packing: Packing, wanted: Assignment, best: Assignment, rng: Random) -> Assignment:
    """Return ``wanted`` with other nodes for pods with demands.

    Those that wait in ``best`` all get one; half of the others do. Running pods that
    move needlessly return home when the proposal is made whole.
    """
    relations = packing.relations
    if relations is None:
        return wanted
    changed = list(wanted)
    for index, item in enumerate(packing.kind_of):
        if relations.class_of[index] not in relations.rules or not item.eligible:
            continue
        if best[index] is None or rng.random() < PERTURBED_SHARE:
            changed[index] = rng.choice(item.eligible)
        elif packing.current[index] is None:
            changed[index] = best[index]
    return tuple(changed)


def pinned(packing: Packing, proposal: Assignment) -> Packing:
    """Return ``packing`` without relations, with pods kept to domains instead.

    Parameters
    ----------
    proposal
        Where pods with demands would like to be; they may go to any node of the same
        domains.
    """
    relations = packing.relations
    if relations is None:
        return packing
    signatures = _Signatures(relations, len(packing.node_names))
    kinds = {one: number for number, one in enumerate(packing.kinds)}
    kind = packing.kind.copy()
    parts: dict[tuple[int, frozenset[int], int | None], int] = {}
    for index, node in enumerate(proposal):
        class_id, home = relations.class_of[index], packing.current[index]
        if node is None or class_id not in relations.rules:
            continue
        allowed, number = signatures.like(class_id, node), int(packing.kind[index])
        # What replicas may come to is looked up once.
        part = number, allowed, None if home in allowed else home
        if part not in parts:
            whole = packing.kinds[number]
            eligible = tuple(one for one in whole.eligible if one in allowed or one == home)
            own = replace(whole, eligible=eligible)
            parts[part] = kinds.setdefault(own, len(kinds))
        kind[index] = parts[part]
    return without_relations(replace(packing, kinds=tuple(kinds), kind=kind))


def held_back(packing: Packing, proposal: Assignment, rng: Random | None = None, *, exceeded: bool = False) -> Packing:
    """Return ``packing`` without pods that stay, so that no allowance can be exceeded.

    Those stay movable that ``proposal`` moves, then those that are cheapest to disrupt.

    Parameters
    ----------
    rng
        Draws others instead.
    exceeded
        Only of allowances that the proposal exceeds.
    """
    current = packing.current
    stay: set[int] = set()

    def rank(index: int) -> tuple[bool, float, int, int]:
        stays = proposal[index] == current[index]
        if rng is None:
            pods, pod = packing.snapshot.pods, packing.pod_numbers[index]
            return stays, 0.0, pods.deletion_cost[pod], pods.age_s[pod]
        other = rng.random() < PERTURBED_SHARE
        return stays and not other, rng.random(), 0, 0

    for one in packing.allowances:
        gone = sum(proposal[index] != current[index] for index in one.members)
        if gone > one.most or not exceeded:
            ranked = sorted(one.members, key=rank)
            stay.update(ranked[one.most :])
    return restricted(packing, {*range(len(current))} - stay, current)


def undemanding(packing: Packing) -> Packing:
    """Return ``packing`` as if pods with demands could not move at all."""
    relations = packing.relations
    if relations is None:
        return packing
    members = [index for index, class_id in enumerate(relations.class_of) if class_id not in relations.rules]
    return without_relations(restricted(packing, members, packing.current))


def without_relations(packing: Packing) -> Packing:
    """Return ``packing`` as if no pod demanded anything of others."""
    if packing.relations is None:
        return packing
    return replace(packing, relations=None)


class _Signatures:
    """Groups of nodes that the relations of a class do not distinguish."""

    def __init__(self, relations: Relations, nodes: int) -> None:
        self._relations = relations
        self._nodes = nodes
        self._alike: dict[str, list[frozenset[int]]] = {}

    def like(self, class_id: str, node: int) -> frozenset[int]:
        """Return the nodes in the same domains as ``node``."""
        if class_id not in self._alike:
            self._alike[class_id] = self._grouped(class_id)
        return self._alike[class_id][node]

    def _grouped(self, class_id: str) -> list[frozenset[int]]:
        """Return the equivalent nodes of each node."""
        relations = self._relations
        concerned = {*_tallies(relations.rules[class_id]), *relations.counting.get(class_id, ())}
        tallies = [relations.tallies[index] for index in sorted(concerned)]
        signatures = [
            tuple((one.domain_of[node], one.counted is None or node in one.counted) for one in tallies)
            for node in range(self._nodes)
        ]
        groups: defaultdict[tuple[tuple[int, bool], ...], list[int]]
        groups = defaultdict(list)
        for node, signature in enumerate(signatures):
            groups[signature].append(node)
        groups_of = {signature: frozenset(nodes) for signature, nodes in groups.items()}
        return [groups_of[signature] for signature in signatures]


def _tallies(rules: Rules) -> tuple[int, ...]:
    near = () if rules.affinity is None else rules.affinity.tallies
    return (*rules.anti_affinity, *near, *(spread.tally for spread in rules.spread))
