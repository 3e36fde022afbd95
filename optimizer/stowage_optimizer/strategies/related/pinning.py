"""Relations and allowances as pins, so that strategies need not know of them.

Of an allowance, only as many pods may move as it allows: those that a proposal moves.
Relations become eligibility: each pod keeps to the domains that a proposal gave it.

Strategies know which nodes a pod may go to. If a proposal keeps every relation, so does
every assignment that leaves all pods in the proposal's domains. The proposal need not
fit: the strategy finds the room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from stowage_optimizer.constraints.relaxing import relaxed
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.relations import Relations, Rules
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.repair import make_whole, repair_relations

PERTURBED_SHARE = 0.5
"""Of the pods with demands that have a node, when others are tried."""

OUT_OF_PLAY = "stays"
"""Why a pod may not be moved that the whole problem leaves where it is."""


def domains_for(packing: Packing, wanted: Assignment, policy: Policy) -> Assignment:
    """Return ``wanted`` with every relation kept, given room for all pods.

    If that is impossible, the present state.
    """
    everything = [sum(amounts) for amounts in _columns(packing)]
    room = tuple(
        tuple(max(0, one) + more for one, more in zip(amounts, everything, strict=True))
        for amounts in packing.room
    )
    roomy = replace(packing, room=room)
    whole = make_whole(roomy, wanted, policy)
    return repair_relations(roomy, whole) or whole


def perturbed(
    packing: Packing, wanted: Assignment, best: Assignment, rng: Random
) -> Assignment:
    """Return ``wanted`` with other nodes for pods with demands.

    Those that wait in ``best`` all get one; half of the others do. Running pods that
    move needlessly return home when the proposal is made whole.
    """
    relations = packing.relations
    if relations is None:
        return wanted
    changed = list(wanted)
    for index, item in enumerate(packing.items):
        if relations.class_of[index] not in relations.rules or not item.eligible:
            continue
        if best[index] is None or rng.random() < PERTURBED_SHARE:
            changed[index] = rng.choice(item.eligible)
        elif item.home is None:
            changed[index] = best[index]
    return tuple(changed)


def pinned(packing: Packing, proposal: Assignment) -> Snapshot:
    """Return the snapshot of ``packing`` with relations put as forbidden pairs.

    Parameters
    ----------
    proposal
        Where pods with demands would like to be; they may go to any node of the same
        domains.
    """
    snapshot, relations = packing.snapshot, packing.relations
    if relations is None:
        return snapshot
    allowed: dict[str, frozenset[int]] = {}
    signatures = _Signatures(relations, len(packing.node_names))
    for index, item in enumerate(packing.items):
        node, class_id = proposal[index], relations.class_of[index]
        if node is not None and class_id in relations.rules:
            allowed[item.pod_uid] = signatures.like(class_id, node)
    return _split(relaxed(snapshot), packing, allowed)


def held_back(
    snapshot: Snapshot,
    packing: Packing,
    proposal: Assignment,
    rng: Random | None = None,
    *,
    exceeded: bool = False,
) -> Snapshot:
    """Return ``snapshot`` with pods pinned, so that no allowance can be exceeded.

    Those stay movable that ``proposal`` moves, then those that are cheapest to disrupt.

    Parameters
    ----------
    rng
        Draws others instead.
    exceeded
        Only of allowances that the proposal exceeds.
    """
    pods, current = packing.pods, packing.current
    stay: set[str] = set()

    def rank(index: int) -> tuple[bool, float, int, int]:
        pod, stays = pods[index], proposal[index] == current[index]
        if rng is None:
            return stays, 0.0, pod.deletion_cost, pod.age_s
        other = rng.random() < PERTURBED_SHARE
        return stays and not other, rng.random(), 0, 0

    for one in packing.allowances:
        gone = sum(proposal[index] != current[index] for index in one.members)
        if gone > one.most or not exceeded:
            ranked = sorted(one.members, key=rank)
            stay.update(pods[index].uid for index in ranked[one.most :])
    pinned_pods = tuple(
        replace(pod, movable=False, immovable_reason=OUT_OF_PLAY)
        if pod.uid in stay
        else pod
        for pod in snapshot.pods
    )
    return replace(snapshot, pods=pinned_pods)


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
        concerned = {
            *_tallies(relations.rules[class_id]),
            *relations.counting.get(class_id, ()),
        }
        tallies = [relations.tallies[index] for index in sorted(concerned)]
        signatures = [
            tuple(
                (one.domain_of[node], one.counted is None or node in one.counted)
                for one in tallies
            )
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


def _split(
    snapshot: Snapshot, packing: Packing, allowed: Mapping[str, frozenset[int]]
) -> Snapshot:
    """Return ``snapshot`` with classes split by the nodes that their pods may go to."""
    in_play = {item.pod_uid for item in packing.items}
    classes = dict(snapshot.classes)
    forbidden = set(snapshot.forbidden)
    known_pairs: defaultdict[str, list[str]] = defaultdict(list)
    for class_id, node in snapshot.forbidden:
        known_pairs[class_id].append(node)
    parts: dict[tuple[str, frozenset[int]], str] = {}
    pods = []
    for pod in snapshot.pods:
        if pod.uid not in in_play:
            stays = replace(pod, movable=False)
            if not pod.immovable_reason:
                stays = replace(stays, immovable_reason=OUT_OF_PLAY)
            pods.append(stays)
            continue
        nodes = allowed.get(pod.uid)
        if nodes is None:
            pods.append(pod)
            continue
        key = (pod.class_id, nodes)
        if key not in parts:
            name = parts[key] = f"{pod.class_id}\n{len(parts)}"
            classes[name] = replace(snapshot.classes[pod.class_id], id=name)
            forbidden.update((name, node) for node in known_pairs[pod.class_id])
            forbidden.update(
                (name, node)
                for index, node in enumerate(packing.node_names)
                if index not in nodes
            )
        pods.append(replace(pod, class_id=parts[key]))
    return replace(
        snapshot, classes=classes, pods=tuple(pods), forbidden=frozenset(forbidden)
    )


def _columns(packing: Packing) -> Sequence[Sequence[int]]:
    """Return all demands by dimension."""
    if not packing.items:
        return [() for _ in range(len(packing.room[0]))] if packing.room else []
    return list(zip(*(item.demand for item in packing.items), strict=True))
