"""Would the pods' own scheduler find a place for each replacement? It is tried.

Nodes to be emptied are tainted, and idle ones, which the scheduler would take into use. Pods are evicted in the plan's
order, and the scheduler places each replacement by its own filters and scores.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stowage_testbed.simulate import Instance, Simulator
from stowage_testbed.whatif.inventory import Manifest, part_of, uid_of

TAINT = "stowage.dev/emptying"
AGAIN = "-again"  # Added to a pod's name, for its replacement
PATIENCE = 4  # There must be time for so many rehearsals, for those that fail to be told apart


Leaving = Mapping[str, Sequence[str]]
"""Nodes that are to be emptied, in their order, and the pods that leave each, told by UID."""

Rehearsal = tuple[Mapping[str, str], Mapping[str, str]]
"""The node of each replacement, by the UID of the pod that it replaces, and why nodes failed."""


def rehearse(
    simulator: Simulator, instance: Instance, closed: frozenset[str], used: frozenset[str], leaving: Leaving
) -> Rehearsal:
    """Return what comes of emptying nodes in that order.

    Replacements may not go to the closed nodes, nor to others that are not in use.
    """
    pods, changes = list(instance.pods), list[dict[str, Any]]()
    nodes = {str(one["metadata"]["name"]): one for one in instance.nodes}
    waiting = [pod for pod in pods if not part_of(pod, "spec").get("nodeName")]
    tainted = {name: _tainted(node) for name, node in nodes.items() if name in closed or name in leaving}
    if waiting:
        # They get first what they would get as things are.
        changes += ({"after": len(pods), "node": node} for node in tainted.values())
    else:
        nodes |= tainted
    by_uid = {uid_of(pod): pod for pod in pods}
    evicted = [(node, uid, by_uid[uid], _replacement(by_uid[uid])) for node, uids in leaving.items() for uid in uids]
    for _, _, pod, anew in evicted:
        changes.append({"after": len(pods), "podGone": key_of(pod)})
        pods.append(anew)
    found = simulator.place(
        replace(instance, nodes=tuple(nodes.values()), pods=tuple(pods), changes=tuple(changes), once=True)
    )

    targets, failed = dict[str, str](), dict[str, str]()
    for pod in waiting:
        if (goes := found.nodes.get(key_of(pod))) in leaving and goes:
            failed[goes] = f"{key_of(pod)}, which waits, goes there"
    for left, uid, pod, anew in evicted:
        goes = found.nodes.get(key_of(anew))
        if goes is None:
            failed[left] = found.reasons.get(key_of(anew), "no place was found")
            continue
        targets[uid] = goes
        if goes in leaving:
            failed[goes] = f"{key_of(pod)} tolerates every taint"
        elif goes not in used:
            failed[left] = f"a replacement takes {goes} into use"
    return targets, failed


def _tainted(node: Manifest) -> Manifest:
    spec = part_of(node, "spec")
    taint = {"key": TAINT, "effect": "NoSchedule"}
    return {**node, "spec": {**spec, "taints": [*(spec.get("taints") or ()), taint]}}


def _replacement(pod: Manifest) -> Manifest:
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
    rehearse: Callable[[Leaving], Rehearsal],
    wanted: Leaving,
    left_s: Callable[[], float],
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Leaving, Mapping[str, str], Mapping[str, str]]:
    """Return the nodes that can be emptied together, where their pods go, and why the other nodes cannot.

    While some of the wanted nodes, the best of which come first, fail, the last half of these is left out, or all where
    there is little time; then those are tried again one by one.
    """
    why, chosen = dict[str, str](), dict(wanted)
    while True:
        began = clock()
        targets, failures = rehearse(chosen) if chosen else ({}, {})
        takes_s = clock() - began
        failed = [node for node in chosen if node in failures]
        if not failed:
            break
        for node in failed[len(failed) // 2 :] if left_s() > PATIENCE * takes_s else failed:
            why[node] = failures[node]
            del chosen[node]
    for one in [node for node in wanted if node in why]:
        if left_s() < takes_s:
            break
        more = {node: pods for node, pods in wanted.items() if node in chosen or node == one}
        again, failures = rehearse(more)
        if not failures:
            chosen, targets = more, again
            del why[one]
    return chosen, targets, why
