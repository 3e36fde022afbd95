"""What a strategy cannot take in, named and refused.

Anti-affinity works both ways: a pod that runs keeps away the pods its terms select, so
their classes are refused too.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from enum import Enum

from stowage_optimizer.constraints.shared_dimensions import AntiAffinityRule
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.pods import TERMINATING
from stowage_optimizer.model.snapshot import Refusal, Snapshot


def class_refusal(pod_class: PodClass, reason: str, detail: str) -> tuple[str, Refusal]:
    """Return the id of ``pod_class`` and the refusal that names it."""
    return pod_class.id, Refusal(f"class {pod_class.name}", reason, detail)


NO_CAPACITY = "is no capacity: no pod moves for its pods, and they do not move"


def refused_classes(
    snapshot: Snapshot, others: Sequence[AntiAffinityRule], *, relational: bool
) -> Iterator[tuple[str, Refusal]]:
    """Yield each class that is left alone, and why.

    Parameters
    ----------
    others
        The anti-affinity that is no capacity.
    relational
        Whether a packing describes relations; then none is refused for them.
    """
    classes = snapshot.classes.values()
    for one in classes:
        if one.unsupported:
            needs = ", ".join(one.unsupported)
            detail = f"needs what a plan cannot give: {needs}"
            yield class_refusal(one, "unsupported", detail)
    if relational:
        return
    for one in classes:
        if one.required_pod_affinity:
            detail = f"required pod affinity {NO_CAPACITY}"
            yield class_refusal(one, "pod-affinity", detail)
    yield from _with_anti_affinity(snapshot, others)
    for one in classes:
        keys = ", ".join(each.topology_key for each in one.topology_spread if each.hard)
        if any(each.hard for each in one.topology_spread):
            yield class_refusal(one, "topology-spread", f"spread over {keys} {NO_CAPACITY}")


def _with_anti_affinity(snapshot: Snapshot, others: Sequence[AntiAffinityRule]) -> Iterator[tuple[str, Refusal]]:
    """Yield the carriers of ``others``, and classes that running ones keep off."""
    running = snapshot.pods.running_classes
    for rule in others:
        carrier = snapshot.classes[rule.carrier]
        yield class_refusal(carrier, "pod-anti-affinity", f"anti-affinity over {rule.term.topology_key} {NO_CAPACITY}")
        if rule.carrier in running:
            for selected in sorted(rule.selected):
                yield class_refusal(
                    snapshot.classes[selected],
                    "existing-pods-anti-affinity",
                    f"running pods of class {carrier.name} have anti-affinity to it",
                )


class Gangs(Enum):
    """What plans of a kind do with gangs.

    `MOVED` is for plans in which each pod that has a node keeps one, and no other gets one: pods of a gang may move if
    they need not do so together.
    """

    LEFT_ALONE = 0
    MOVED = 1
    WHOLE = 2


def _left_alone(snapshot: Snapshot, planned: Gangs) -> Container[str]:
    """Return the gangs that plans of the kind do not touch."""
    if planned is Gangs.WHOLE:
        return ()
    if planned is Gangs.LEFT_ALONE:
        return snapshot.gangs
    pods, classes = snapshot.pods, snapshot.classes
    running = Counter(
        classes[class_id].gang
        for class_id, node, reason in zip(pods.class_id, pods.node, pods.immovable_reason, strict=True)
        if node and reason != TERMINATING
    )
    # A plan that changes a gang of which too few pods run has to complete it.
    return {
        name
        for name, gang in snapshot.gangs.items()
        if gang.leaves_whole or gang.topology_key or running[name] < gang.min_count
    }


def refused_gangs(
    snapshot: Snapshot, refused: Mapping[str, Sequence[Refusal]], present: Container[str], planned: Gangs
) -> Iterator[tuple[str, Refusal]]:
    """Yield each class that is left alone because of its gang, and why.

    Parameters
    ----------
    refused
        What is left alone for any other reason, by class.
    present
        The classes that have pods.
    """
    alone = _left_alone(snapshot, planned)
    gangs: defaultdict[str, list[PodClass]] = defaultdict(list)
    for one in snapshot.classes.values() if snapshot.gangs else ():
        if one.gang and one.id in present:
            gangs[one.gang].append(one)
    for gang, members in gangs.items():
        first = next((one for one in members if one.id in refused), None)
        priorities = sorted({one.priority for one in members})
        if gang in alone:
            reason, detail = "gang", f"is of gang {gang}, and a plan of this kind may leave half a gang"
        elif first is not None:
            why = refused[first.id][0].reason
            reason, detail = "gang-with-others", f"is of gang {gang}, of which class {first.name} is refused: {why}"
        elif len(priorities) > 1:
            reason, detail = "gang-priorities", f"is of gang {gang}, whose pods have priorities {priorities}"
        else:
            continue
        for one in members:
            if one.id not in refused:
                yield class_refusal(one, reason, detail)
