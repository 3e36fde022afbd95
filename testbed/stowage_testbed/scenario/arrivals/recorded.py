"""What replays a trace, made of its lines: requests at their times, in one namespace.

What controllers made is left to controllers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Literal

from msgspec.structs import asdict

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.pod_templates import add_metadata, change_pods, spell_lifetime
from stowage_testbed.cluster.claims import PlacedDevice, PlacedPod
from stowage_testbed.cluster.node_pool import annotate_fake
from stowage_testbed.observe.device_claims import EXTENDED
from stowage_testbed.observe.node import Node
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.arrivals.one_namespace import OneNamespace, shorten
from stowage_testbed.trace.format import (
    Line,
    NodeGone,
    NodeSeen,
    ObjectGone,
    ObjectSeen,
    PodCame,
    PodTemplate,
    Scaled,
    Template,
)
from stowage_testbed.trace.reading import GONE, Life, Trace, make_pod, pair_lives

Verb = Literal["create", "patch", "delete"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a replay, so many seconds after its start; the body is the manifest, or the change."""

    at_s: float
    verb: Verb
    kind: str
    name: str
    body: Manifest = field(default_factory=dict)
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class RecordedReplay:
    """All that a replay does: what was there first, and requests in order of time.

    ``placed`` are nodes of the first pods by workload, with the devices that they claim, "" for none, without daemons.
    ``pods`` came, and so many of each workload are ``left`` at the end, done ones too; ``wide`` is in no namespace, by
    kind and name.
    """

    requests: Sequence[Request] = ()
    first_nodes: Sequence[Manifest] = ()
    first_objects: Sequence[Manifest] = ()
    first_pods: Sequence[Manifest] = ()
    placed: Mapping[str, Sequence[str | PlacedPod]] = field(default_factory=dict)
    pods: int = 0
    left: Mapping[str, int] = field(default_factory=dict)
    wide: Sequence[tuple[str, str]] = ()
    remark: str = ""

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes that there are at some time, by name."""
        made = [one.name for one in self.requests if (one.verb, one.kind) == ("create", "Node")]
        first = [str(one["metadata"]["name"]) for one in self.first_nodes]
        return tuple(dict.fromkeys([*first, *made]))

    @property
    def made(self) -> tuple[Manifest, ...]:
        """All objects that there are at some time, but for the first nodes and pods."""
        return (*self.first_objects, *(one.body for one in self.requests if one.verb == "create"))

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of these objects."""
        return frozenset(str(one["kind"]) for one in self.made)

    @property
    def controllers(self) -> frozenset[str]:
        """The kinds of what brings pods, or keeps them from going."""
        return frozenset(str(one["kind"]) for one in self.made if "template" in (one.get("spec") or {}))

    def without_nodes(self) -> RecordedReplay:
        """Return the same on nodes that are somebody else's, with the devices that those have."""
        own = {("Node", name) for name in self.nodes} | {
            (name_kind(one), one["metadata"]["name"]) for one in self.made if _node_of_devices(one) in self.nodes
        }
        others = tuple(one for one in self.requests if (one.kind, one.name) not in own)
        objects = tuple(one for one in self.first_objects if (name_kind(one), one["metadata"]["name"]) not in own)
        wide = tuple(one for one in self.wide if one not in own)
        return replace(self, first_nodes=(), first_objects=objects, requests=others, wide=wide)


def _node_of_devices(manifest: Manifest) -> str:
    """Return the node that a ResourceSlice is of, empty without one."""
    return str((manifest.get("spec") or {}).get("nodeName") or "") if manifest["kind"] == "ResourceSlice" else ""


Key = tuple[str, str, str]  # Kind, namespace and name, as recorded
BINDINGS = {"PersistentVolume": "claimRef", "PersistentVolumeClaim": "volumeName"}
"""What binds a volume: who does that then does it once more, as it sees fit."""


def name_key(manifest: Manifest) -> Key:
    """Return what an object of a trace is told from others by."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def name_kind(manifest: Manifest) -> str:
    """Return the kind with its version, by which requests name it."""
    return f"{manifest['apiVersion']}/{manifest['kind']}"


def make_merge_patch(before: Mapping[str, Any], now: Mapping[str, Any]) -> Manifest:
    """Return the change from one object to the other (RFC 7396)."""
    change: Manifest = {key: None for key in before if key not in now}
    for key, value in now.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            if inner := make_merge_patch(old, value):
                change[key] = inner
        elif old != value:
            change[key] = value
    return change


def keep_binding(before: Manifest, now: Manifest) -> Manifest:
    """Return a volume or a claim as it is now, bound as it was before."""
    field = BINDINGS[now["kind"]]
    spec = {key: value for key, value in now["spec"].items() if key != field}
    if field in before["spec"]:
        spec[field] = before["spec"][field]
    return {**now, "spec": spec}


_NOT_READY = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Taints that the controller manager takes from a fake node, which is always ready."""


def make_node_manifest(name: str, node: Node) -> Manifest:
    """Return a node to create; one that was not ready takes no new pods."""
    ready = all(one["key"] not in _NOT_READY for one in node.taints)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(node.labels), "annotations": annotate_fake(name)},
        "spec": {
            "taints": [one for one in node.taints if one["key"] not in _NOT_READY],
            "unschedulable": node.unschedulable or not ready,
        },
        "status": {"capacity": node.capacity, "allocatable": node.allocatable},
    }


FIRST_KINDS = frozenset({"PriorityClass", "RuntimeClass"})
"""Without these the server refuses pods: they are made before anything else."""

_PER_NAMESPACE = frozenset({"ResourceQuota", "LimitRange"})
"""They would hold for the pods of all namespaces, where there are several."""

_SYSTEM = "system-"
_LONGEST_LABEL = 63
_NEVER_S = 1e6


def make_recorded_replay(trace: Trace, *, speed: float = 1.0, limit: int | None = None) -> RecordedReplay:
    """Return what replays a trace, times divided by ``speed``; with a ``limit``, up to the last of so many pods."""
    lines = list(trace.lines)
    coming = [at for at, line in enumerate(lines) if isinstance(line, PodCame)]
    if limit is not None and len(coming) > limit:
        lines = lines[: coming[limit]]
    builder = _ReplayBuilder(trace.header.namespaces, lines, speed)
    for line in lines:
        builder.take(line)
    return builder.finish(trace.remark)


class _ReplayBuilder:
    """Takes the lines in order, and collects what they come to."""

    def __init__(self, namespaces: Mapping[str, Mapping[str, str]], lines: Sequence[Line], speed: float) -> None:
        self._speed = speed
        objects = [line.object for line in lines if isinstance(line, ObjectSeen)]
        self._one = OneNamespace(namespaces, _list_namespaces(lines), objects)
        self._lives = pair_lives(lines)
        self._controllers = {name_key(one) for one in objects}
        # How long the pods of each controller ran until they were done.
        self._ran: dict[Key, list[float]] = defaultdict(list)
        for life in self._lives.values():
            owner = life.came.owner
            if owner and life.is_done and life.end and life.end.ran_s is not None:
                self._ran[owner.kind, life.came.namespace, owner.name].append(life.end.ran_s)
        self._templates: dict[str, PodTemplate] = {}
        self._objects: dict[Key, Manifest] = {}
        self._classes: dict[str, Manifest] = {}
        self._first_nodes: list[Manifest] = []
        self._first_objects: list[Manifest] = []
        self._first_pods: list[Manifest] = []
        self._placed: dict[str, list[str | PlacedPod]] = defaultdict(list)
        self._requests: list[Request] = []
        self._left: Counter[str] = Counter()
        self._wide: dict[tuple[str, str], None] = {}
        self._used: set[str] = set()

    def take(self, line: Line) -> None:
        match line:
            case Template():
                self._templates[line.id] = line.template
            case NodeSeen():
                node = make_node_manifest(line.name, line.node)
                self._bring(line.t, ("Node", "", line.name), "Node", node, self._first_nodes)
            case NodeGone():
                self._objects.pop(("Node", "", line.name), None)
                self._add(line.t, "delete", "Node", line.name)
            case ObjectSeen():
                self._take_object(line)
            case Scaled():
                key = (line.kind, line.namespace, line.name)
                if made := self._objects.get(key):
                    change = {"spec": {"replicas": line.replicas}}
                    self._objects[key] = {**made, "spec": {**made["spec"], **change["spec"]}}
                    self._add(line.t, "patch", name_kind(made), made["metadata"]["name"], body=change)
            case ObjectGone():
                made = self._objects.pop((line.kind, line.namespace, line.name), None)
                if made is not None:
                    self._add(line.t, "delete", name_kind(made), made["metadata"]["name"])
            case PodCame():
                self._take_pod(line)
            case _:
                # Of binding, placing is the scheduler's; ends are part of lives.
                pass

    def finish(self, remark: str) -> RecordedReplay:
        # Nobody could list the priority classes that pods name and no line has.
        for one in self._templates.values():
            name = one.spec.get("priorityClassName", "")
            key = f"PriorityClass/{name}"
            if name and not name.startswith(_SYSTEM) and key not in self._classes:
                self._classes[key] = {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": name},
                    "value": one.spec.get("priority", 0),
                }
                self._wide[name_kind(self._classes[key]), name] = None
        return RecordedReplay(
            requests=sorted(self._requests, key=lambda one: one.at_s),
            first_nodes=self._first_nodes,
            first_objects=[*self._classes.values(), *self._first_objects],
            first_pods=self._first_pods,
            placed={name: nodes for name, nodes in self._placed.items() if any(nodes)},
            pods=len(self._lives),
            left=+self._left,
            wide=tuple(self._wide),
            remark=remark,
        )

    def _add(self, t: float, verb: Verb, kind: str, name: str, **more: Any) -> None:
        self._requests.append(Request(t / self._speed, verb, kind, name, **more))

    def _bring(self, t: float, key: Key, kind: str, now: Manifest, first: list[Manifest]) -> None:
        """Create an object or change it to what it is now; what was there at the beginning is one of the first."""
        name, before = now["metadata"]["name"], self._objects.get(key)
        self._objects[key] = now
        if before is not None:
            change = make_merge_patch(before, now)
            status = change.pop("status", None)
            if change:
                self._add(t, "patch", kind, name, body=change)
            if status:
                self._add(t, "patch", kind, name, body={"status": status}, subresource="status")
        elif t:
            self._add(t, "create", kind, name, body=now)
        else:
            first.append(now)

    def _take_object(self, line: ObjectSeen) -> None:
        """Bring an object, unless the run itself, or a controller of it, makes it."""
        given, key = line.object, name_key(line.object)
        kind, namespace, _ = key
        if kind == "Namespace" or (self._one.apart and kind in _PER_NAMESPACE):
            return
        is_claimed = kind == "PersistentVolumeClaim" and self._one.has_maker(given)
        # One that was bound when recording began has its volume, whose binding is recorded.
        if is_claimed and (line.t or "volumeName" not in given["spec"]):
            return
        made = self._one.rewrite(given)
        name, before = made["metadata"]["name"], self._objects.get(key)
        workload = shorten(name, _LONGEST_LABEL)
        now = change_pods(made, lambda pod: _label(pod, workload))
        if kind == "Job":
            ran = self._ran[key]
            lifetime_s = median(ran) / self._speed if ran else _NEVER_S
            now = change_pods(now, lambda pod: spell_lifetime(pod, lifetime_s))
        if before is not None and kind in BINDINGS:
            now = keep_binding(before, now)
        if not namespace:
            self._wide[name_kind(now), name] = None
        if kind in FIRST_KINDS:
            self._classes.setdefault(f"{kind}/{name}", now)
        else:
            self._bring(line.t, key, name_kind(now), now, self._first_objects)

    def _take_pod(self, line: PodCame) -> None:
        life, owner = self._lives[id(line)], line.owner
        # The watch of its controller may have been a little later.
        if owner and (owner.kind, line.namespace, owner.name) in self._controllers:
            name = self._one.name(line.namespace, owner.name)
        else:
            name = self._one.name_pod(line.namespace, line.name)
            self._make_bare(line, life, name)
        workload = self._name_workload(line.of, name)
        self._left[workload] += life.stays
        # A daemon's pod has but one node that it can go to.
        if not line.t and not (owner and owner.kind == "DaemonSet"):
            claims = self._templates[line.of].spec.get("resourceClaims")
            self._placed[workload].append(_find_place(life, claims=bool(claims)))

    def _make_bare(self, line: PodCame, life: Life, name: str) -> None:
        """Create a pod, and delete it if somebody did."""
        pod = make_pod(name, self._templates[line.of], life, self._speed)
        pod = self._one.rewrite_pod(line.namespace, pod)
        pod = _label(pod, self._name_workload(line.of, name))
        if name in self._used:
            # One that is done stays there, and its name may come again.
            self._add(line.t, "delete", "Pod", name)
        self._used.add(name)
        if line.t:
            self._add(line.t, "create", "Pod", name, body=pod)
        else:
            self._first_pods.append(pod)
        if life.end is not None and life.end.how in GONE:
            self._add(life.end.t, "delete", "Pod", name)

    def _name_workload(self, template: str, name: str) -> str:
        """Return what the pods of a controller, or one without, count as."""
        labels = self._templates[template].labels
        return labels.get(WORKLOAD_LABEL) or shorten(name, _LONGEST_LABEL)


def _find_place(life: Life, *, claims: bool) -> str | PlacedPod:
    """Return where a pod was at the beginning; one whose devices are not known, or not claimed by name, nowhere.

    The scheduler gives it others then: those of a pod that is bound past it would look free.
    """
    known = {one.claim for one in life.devices}
    if life.bound != 0 or EXTENDED in known or (claims and not known):
        return ""
    if not known:
        return life.node
    return PlacedPod(node=life.node, devices=tuple(PlacedDevice(**asdict(one)) for one in life.devices))


def _label(pod: Manifest, name: str) -> Manifest:
    has = (pod.get("metadata") or {}).get("labels") or {}
    return pod if WORKLOAD_LABEL in has else add_metadata(pod, labels={WORKLOAD_LABEL: name})


def _list_namespaces(lines: Sequence[Line]) -> set[str]:
    pods = {line.namespace for line in lines if isinstance(line, PodCame)}
    objects = {
        str(line.object["metadata"].get("namespace", ""))
        for line in lines
        if isinstance(line, ObjectSeen) and "template" in (line.object.get("spec") or {})
    }
    return (pods | objects) - {""}
