"""Would the pods' own scheduler find a place for each replacement? It is tried.

Nodes to be emptied are tainted, and idle ones, which the scheduler would take into use. Pods are evicted in the plan's
order, and the scheduler places each replacement by its own filters and scores.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stowage_testbed.simulate import Instance, Simulator
from stowage_testbed.whatif.inventory import Manifest, part_of, uid_of

TAINT = "stowage.dev/emptying"
AGAIN = "-again"  # Added to a pod's name, for its replacement
PATIENCE = 4  # There must be time for so many rehearsals, for those that fail to be told apart


@dataclass(frozen=True, slots=True)
class Leaving:
    """A node that is to be emptied, and the pods that leave it, told by UID."""

    node: str
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The node of each replacement, by the UID of the pod that it replaces, and which nodes failed, and why."""

    leaving: tuple[Leaving, ...]
    targets: Mapping[str, str]
    failed: Mapping[str, str]


def rehearse(
    simulator: Simulator, instance: Instance, closed: frozenset[str], used: frozenset[str], leaving: Sequence[Leaving]
) -> Rehearsed:
    """Return what comes of emptying nodes in that order.

    Replacements may not go to the closed nodes, nor to others that are not in use.
    """
    by_uid = {uid_of(pod): pod for pod in instance.pods}
    pods, changes = list(instance.pods), list[dict[str, Any]]()
    emptied = {one.node for one in leaving}
    nodes = {str(one["metadata"]["name"]): one for one in instance.nodes}
    waiting = [pod for pod in pods if not part_of(pod, "spec").get("nodeName")]
    for name, node in nodes.items():
        if name not in closed | emptied:
            continue
        if waiting:
            # They get first what they would get as things are.
            changes.append({"after": len(pods), "node": tainted(node)})
        else:
            nodes[name] = tainted(node)
    for uid in (uid for node in leaving for uid in node.pods):
        changes.append({"after": len(pods), "podGone": key_of(by_uid[uid])})
        pods.append(replacement(by_uid[uid]))
    found = simulator.place(
        replace(instance, nodes=tuple(nodes.values()), pods=tuple(pods), changes=tuple(changes), once=True)
    )

    targets, failed = dict[str, str](), dict[str, str]()
    for pod in waiting:
        if (goes := found.nodes.get(key_of(pod))) in emptied and goes:
            failed[goes] = f"{key_of(pod)}, which waits, goes there"
    for left, uid in ((one.node, uid) for one in leaving for uid in one.pods):
        key = key_of(replacement(by_uid[uid]))
        goes = found.nodes.get(key)
        if goes is None:
            failed[left] = found.reasons.get(key, "no place was found")
            continue
        targets[uid] = goes
        if goes in emptied:
            failed[goes] = f"{key_of(by_uid[uid])} tolerates every taint"
        elif goes not in used:
            failed[left] = f"a replacement takes {goes} into use"
    return Rehearsed(tuple(leaving), targets, failed)


def tainted(node: Manifest) -> Manifest:
    """Return a node that takes no further pods."""
    spec = part_of(node, "spec")
    taint = {"key": TAINT, "effect": "NoSchedule"}
    return {**node, "spec": {**spec, "taints": [*(spec.get("taints") or ()), taint]}}


def replacement(pod: Manifest) -> Manifest:
    """Return the pod that its controller makes when this one is evicted."""
    meta, spec = pod["metadata"], dict(part_of(pod, "spec"))
    spec.pop("nodeName", None)
    kept = {name: meta[name] for name in ("namespace", "labels", "annotations", "ownerReferences") if name in meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, "name": f"{meta['name']}{AGAIN}"}, "spec": spec}


def key_of(pod: Manifest, default: str = "default") -> str:
    """Return ``namespace/name``."""
    meta = pod["metadata"]
    return f"{meta.get('namespace', default)}/{meta['name']}"


def most_that_holds(
    rehearse: Callable[[Sequence[Leaving]], Rehearsed],
    wanted: Sequence[Leaving],
    left_s: Callable[[], float],
    clock: Callable[[], float] = time.monotonic,
) -> Rehearsed:
    """Return nodes that can be emptied together, and why the others cannot.

    While some of the wanted nodes, the best of which come first, fail, the last half of these is left out, or all where
    there is little time; then those are tried again one by one.
    """
    why, chosen = dict[str, str](), list(wanted)
    while True:
        began = clock()
        found = rehearse(chosen) if chosen else Rehearsed((), {}, {})
        takes_s = clock() - began
        failed = [one for one in chosen if one.node in found.failed]
        if not failed:
            break
        some = failed[len(failed) // 2 :] if left_s() > PATIENCE * takes_s else failed
        why |= {one.node: found.failed[one.node] for one in some}
        chosen = [one for one in chosen if one not in some]
    for one in [one for one in wanted if one.node in why]:
        if left_s() < takes_s:
            break
        more = [other for other in wanted if other in (*chosen, one)]
        again = rehearse(more)
        if not again.failed:
            chosen, found = more, again
            del why[one.node]
    return Rehearsed(tuple(chosen), found.targets, why)
