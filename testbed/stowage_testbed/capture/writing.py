"""The scenario's file, and the manifests beside it."""

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.amounts.resources import CPU, MEMORY, PODS, spell
from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.capture.capture import Capture
from stowage_testbed.capture.workloads import CapturedWorkload, notes_in_words
from stowage_testbed.cluster.claims import PlacedPod
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.manifests import SCALED
from stowage_testbed.scenario.steps.action import write_plain
from stowage_testbed.scenario.types import LABEL
from stowage_testbed.text.tables import count
from stowage_testbed.trace.reducing import only_filled

FILE = "cluster.yaml"
OBJECTS = "objects.yaml"
QUOTAS = "quotas.yaml"  # Applied last: a quota that was lowered refuses pods that run, if they come after it
LARGEST_PRIORITY = 1_000_000_000  # Of a class that users may make; Kubernetes' own are above it
_HEAD = "A cluster as it was found by `stowage scenario from-cluster`."
_FOLDED = frozenset({"Deployment", "ReplicaSet"})
_BUSY_S = 86400
_TEXT = "tag:yaml.org,2002:str"
_WIDTH = 116


def write_scenario(captured: Capture, folder: Path) -> Path:
    """Write a scenario into a folder, which is its topic, and return its path.

    Raises an InputError if the folder's name is no topic, or it holds such a scenario.
    """
    path, beside = folder / FILE, {folder / OBJECTS: captured.objects, folder / QUOTAS: captured.quotas}
    if not LABEL.fullmatch(folder.resolve().name):
        raise InputError(
            f"{folder.name} cannot be a topic of scenarios; name a folder of lower-case letters, digits and '-'"
        )
    for one in (path, *beside):
        if one.exists():
            raise InputError(f"there is already a file {one}; choose another folder, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    document = _make_document(captured, folder.resolve().name)
    notes = (f"{said[0].upper()}{said[1:]}." for said in notes_in_words(captured.notes))
    text = "".join(f"# {line}\n" for line in (_HEAD, *notes))
    for other, manifests in beside.items():
        if manifests:
            write_whole(other, "---\n".join(map(_dump_plain, manifests)))
    write_whole(path, text + _dump(document))
    return path


def _make_document(captured: Capture, topic: str) -> dict[str, Any]:
    alike = defaultdict[object, list[CapturedWorkload]](list)
    for one in captured.workloads:
        alike[(one.kind, one.namespace, len(one.pods), one.pod_key) if one.kind in _FOLDED else one.name].append(one)
    # Equal workloads are one with several controllers.
    workloads = [
        replace(
            ones[0],
            pods=tuple(pod for one in ones for pod in one.pods),
            nodes=tuple(node for one in ones for node in one.nodes),
            messages=tuple(said for one in ones for said in one.messages),
            devices=tuple(devices for one in ones for devices in one.devices),
            controllers=len(ones),
        )
        for ones in alike.values()
    ]
    pending = {one.name: one.pending for one in workloads if one.pending}
    expect: dict[str, Any] = {"placed": captured.pods - captured.pending, "pending": pending}
    if reasons := [*_write_reasons(workloads)]:
        expect["that"] = [_Prose(one) for one in reasons]
    found = f"{count(captured.pods, 'pod')} on {count(len(captured.nodes), 'node')} as they were found"
    return {
        "version": 1,
        "name": f"{topic}/{FILE.partition('.')[0]}",
        "description": f"{found}, {captured.pending} of them without a node.",
        "nodes": [_write_pool(pool) for pool in captured.pools],
        "workload": [_write_workload(one) for one in workloads],
        "steps": list(_list_steps(captured, workloads)),
        "expect": {"allow_unplaceable": True, "end": expect},
        "catch": ["events"],
    }


def _list_steps(captured: Capture, workloads: Sequence[CapturedWorkload]) -> Iterator[Any]:
    """Yield the steps: what is bound is where it was before the scheduler begins."""
    if captured.cordoned:
        yield {"cordon": list(captured.cordoned)}
    if captured.objects:
        yield {"apply": OBJECTS}
    placed = {
        one.name: _write_places(one)
        for one in workloads
        # A daemon's pod has but one node that it can go to.
        if any(one.nodes) and one.kind != "DaemonSet" and None not in one.devices
    }
    if placed:
        yield {"place": placed}
    rest = [one.name for one in workloads if one.name not in placed]
    if rest:
        yield {"apply": rest if len(rest) > 1 else rest[0]}
    if captured.quotas:
        yield {"apply": QUOTAS}
    if all(_list_reasons(one) for one in workloads if one.pending):
        yield {"wait": {"for": "settled"}}


def _write_places(one: CapturedWorkload) -> Any:
    """Return the nodes of pods as `place` has them: in the pods' order, or how many are on each."""
    if any(one.devices):
        places = zip(one.nodes, one.devices, strict=True)
        return [write_plain(PlacedPod(node=node, devices=owned)) if owned else node for node, owned in places]
    return list(one.nodes) if one.kind == "StatefulSet" else dict(sorted(Counter(filter(None, one.nodes)).items()))


_KNOWN = (
    "node affinity/selector",
    "untolerated taint",
    "topology spread constraints",
    "anti-affinity",
    "pod affinity",
    "free ports",
    "Too many pods",
    "volume node affinity conflict",
    "max volume count",
    "unbound immediate PersistentVolumeClaims",
    "cannot allocate all claims",
    "were unschedulable",
)
"""Parts of the scheduler's words that stay from one minor to the next."""

_AVAILABLE = re.compile(r"nodes are available: (.*?)(?:\. |\.$|$)", re.DOTALL)
_REASON = re.compile(r"(?:^|, )\d+ (?=\D)")


def _write_reasons(workloads: Iterable[CapturedWorkload]) -> Iterator[str]:
    """Yield an expression for each workload of which pods wait for known reasons."""
    for one in workloads:
        said = " && ".join(f'c.message.contains("{reason}")' for reason in _list_reasons(one))
        if said:
            yield (
                f'pods.filter(p, p.metadata.labels["{WORKLOAD_LABEL}"] == "{one.name}" '
                "&& !has(p.spec.nodeName)).all(p, p.status.conditions.exists(c, "
                f'c.type == "PodScheduled" && {said}))'
            )


def _list_reasons(workload: CapturedWorkload) -> list[str]:
    """Return what keeps all pending pods of a workload, in the scheduler's words."""
    each = list[set[str]]()
    for message in workload.messages:
        each.append(set())
        found = _AVAILABLE.search(message)
        # What nodes were left out for what they are need not be told twice.
        for reason in _REASON.split(found[1]) if found else [message]:
            if known := next((one for one in _KNOWN if one in reason), ""):
                each[-1].add(known)
            elif match := re.match(r"Insufficient [\w./-]+", reason):
                each[-1].add(match[0].rstrip("."))
    return sorted(set.intersection(*each)) if each else []


def _write_pool(pool: NodePool) -> dict[str, Any]:
    amounts = {name: spell(name, amount) for name, amount in pool.resources.items()}
    taints = [only_filled(key=one.key, value=one.value, effect=one.effect) for one in pool.taints]
    devices = [write_plain(one) for one in pool.devices]
    return {
        "prefix": pool.name_prefix,
        "count": pool.count,
        CPU: amounts.pop(CPU),
        MEMORY: amounts.pop(MEMORY),
        PODS: int(amounts.pop(PODS)),
        **only_filled(resources=amounts, labels=dict(pool.labels), taints=taints, zones=list(pool.zones)),
        **only_filled(devices=devices[0] if len(devices) == 1 else devices),
    }


def _write_workload(one: CapturedWorkload) -> dict[str, Any]:
    spec, controller = dict(one.spec), dict[str, Any]()
    priority = int(spec.pop("priority", 0))
    if abs(priority) > LARGEST_PRIORITY:
        priority = 0  # its class is Kubernetes' own, by whose name the pods have it
    else:
        spec.pop("priorityClassName", None)
    requests = _take_requests(spec)
    if one.kind == "StatefulSet":
        # One that waits must not hold back those that had their node.
        controller = {"podManagementPolicy": "Parallel", **only_filled(volumeClaimTemplates=list(one.claims))}
    if one.kind in SCALED or one.kind == "DaemonSet":
        spec.pop("restartPolicy", None)
    written = {"name": one.name, "kind": one.kind, "replicas": len(one.pods) // one.controllers}
    if one.controllers > 1:
        written["controllers"] = one.controllers
    written |= only_filled(priority=priority) | requests | only_filled(labels=dict(one.labels))
    if one.kind == "Job":
        written["runs_s"] = _BUSY_S
    return written | only_filled(spec=controller, pod=spec)


def _take_requests(spec: dict[str, Any]) -> dict[str, Any]:
    """Take the container out of a spec that has but one, which only asks for room."""
    (first, *others) = spec["containers"]
    asked = first.get("resources") or {}
    if others or spec.get("initContainers") or first.get("ports") or set(asked) - {"requests", "limits"}:
        return {}
    del spec["containers"]
    amounts = dict(asked.get("requests") or {})
    taken = {name: amounts.pop(name) for name in (CPU, MEMORY) if name in amounts}
    return taken | ({"requests": amounts} if amounts else {})


class _Dumper(yaml.SafeDumper):
    """Writes short things in one line, and nothing as an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Prose(str):
    """A text of several lines."""

    __slots__ = ()


_Dumper.add_representer(_Prose, lambda dumper, text: dumper.represent_scalar(_TEXT, str(text), style=">"))


def _dump(document: Mapping[str, Any]) -> str:
    """Return YAML with a line for each node kind and workload that fits in one."""
    parts = []
    for key, value in document.items():
        if key in {"nodes", "workload", "steps"}:
            parts.append(f"\n{key}:\n")
            for one in value:
                item = _dump_plain(one, flow=True, width=float("inf")).strip()
                if len(item) > _WIDTH:
                    item = textwrap.indent(_dump_plain(one), "    ", lambda _: True).strip()
                parts.append(f"  - {item}\n")
        elif isinstance(value, dict):
            parts.append(f"\n{key}:\n{textwrap.indent(_dump_plain(value), '  ')}")
        else:
            parts.append(_dump_plain({key: value}, flow=False))
    return "".join(parts)


def _dump_plain(value: Any, *, flow: bool | None = None, width: float = _WIDTH) -> str:
    return yaml.dump(value, Dumper=_Dumper, default_flow_style=flow, sort_keys=False, width=width, allow_unicode=True)
