"""Pods as workloads: those of a controller, and equal ones that have none."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.capture.reading import Found
from stowage_testbed.observe.pod_body import is_live, node_of
from stowage_testbed.scenario.words import LONGEST_LABEL
from stowage_testbed.trace.format import PodTemplate
from stowage_testbed.trace.reducing import JOB_LABELS, find_owner
from stowage_testbed.trace.reducing_pods import TOPOLOGY_LABELS, identify, reduce_pod_spec

HASH_LABEL = "pod-template-hash"
_MADE_LABELS = (
    JOB_LABELS
    | TOPOLOGY_LABELS
    | {
        HASH_LABEL,
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "controller-revision-hash",
        "pod-template-generation",
        "statefulset.kubernetes.io/pod-name",
    }
)
"""Labels that controllers give to their pods, and the server to those with a node."""

_NAMED = frozenset({"StatefulSet", "DaemonSet"})
"""Controllers whose pods differ by what is their own: a name, a claim, a node."""

BARE = "Pod"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
"""Of an affinity the part that nodes have to meet."""


@dataclass(frozen=True, slots=True)
class CapturedPod:
    """One pod: its node, or what keeps it without one, in the scheduler's words."""

    name: str
    node: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class CapturedWorkload:
    """Equal pods of one controller, or without any.

    Attributes
    ----------
    claims
        Templates of the claims that each pod of a StatefulSet has.
    pods
        In the order of their names.
    """

    kind: str
    namespace: str
    name: str
    template: PodTemplate
    pods: tuple[CapturedPod, ...]
    claims: tuple[Manifest, ...] = ()

    def with_spec(self, spec: Manifest) -> CapturedWorkload:
        """Return the workload with pods of another spec."""
        template = self.template
        return replace(self, template=PodTemplate(template.labels, template.annotations, spec))

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of its pods; of those without one empty."""
        return tuple(pod.node for pod in self.pods)

    @property
    def pending(self) -> tuple[CapturedPod, ...]:
        """Its pods without a node."""
        return tuple(pod for pod in self.pods if not pod.node)


@dataclass(slots=True)
class CapturedPods:
    """All workloads, and what is not among them, in words."""

    workloads: list[CapturedWorkload] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def capture_pods(found: Found) -> CapturedPods:
    """Return the live pods by their workloads."""
    captured = CapturedPods()
    deployments = _list_deployments(found)
    claims = {_key(one): one for one in found.of("PersistentVolumeClaim")}
    families = defaultdict[tuple[str, str, str], list[Manifest]](list)
    gone = Counter[str]()
    for pod in sorted(found.of("Pod"), key=_in_order):
        if not is_live(pod):
            gone["end" if pod["metadata"].get("deletionTimestamp") else "ended"] += 1
            continue
        families[_find_family(pod, deployments)].append(pod)
    for (kind, namespace, name), pods in families.items():
        captured.workloads += _split(kind, namespace, name, pods, claims)
    if gone["end"]:
        captured.remarks.append(f"{gone['end']} pods that were about to end")
    _number_names(captured)
    return captured


def _list_deployments(found: Found) -> dict[tuple[str, str], str]:
    """Return the Deployment of each ReplicaSet that has one."""
    return {
        _key(one): owner["name"]
        for one in found.of("ReplicaSet")
        for owner in one["metadata"].get("ownerReferences") or ()
        if owner.get("controller") and owner["kind"] == "Deployment"
    }


def _find_family(pod: Manifest, deployments: Mapping[tuple[str, str], str]) -> tuple[str, str, str]:
    """Return kind, namespace and name of the controller at the top."""
    metadata = pod["metadata"]
    namespace, labels = metadata.get("namespace", ""), metadata.get("labels") or {}
    owner = find_owner(pod)
    if owner is None:
        template = PodTemplate(_own_labels(metadata), {}, reduce_pod_spec(pod["spec"]))
        return BARE, namespace, f"{_stem(metadata)} {identify(template)}"
    if owner.kind != "ReplicaSet":
        return owner.kind, namespace, owner.name
    if (namespace, owner.name) in deployments:
        return "Deployment", namespace, deployments[namespace, owner.name]
    suffix = f"-{labels.get(HASH_LABEL)}"
    if HASH_LABEL in labels and owner.name.endswith(suffix):
        # A list of pods alone names the ReplicaSet, which is named after it.
        return "Deployment", namespace, owner.name.removesuffix(suffix)
    return "ReplicaSet", namespace, owner.name


def _stem(metadata: Mapping[str, Any]) -> str:
    """Return the name of a bare pod without what tells it from its like."""
    name = str(metadata.get("generateName") or metadata["name"])
    return re.sub(r"[-.]?\d*[-.]*$", "", name) or name


def _split(
    kind: str, namespace: str, name: str, pods: list[Manifest], claims: Mapping[tuple[str, str], Manifest]
) -> Iterator[CapturedWorkload]:
    """Yield the pods of a controller, apart where they are not equal."""
    alike = defaultdict[str, list[CapturedPod]](list)
    templates = dict[str, tuple[PodTemplate, tuple[Manifest, ...]]]()
    for pod in pods:
        spec, own = _take_own(kind, pod, claims)
        template = PodTemplate(_own_labels(pod["metadata"]), {}, spec)
        key = "" if kind in _NAMED else identify(template)
        templates.setdefault(key, (template, own))
        alike[key].append(_read_pod(pod))
    for number, (key, ones) in enumerate(alike.items(), 1):
        template, own = templates[key]
        word = name.partition(" ")[0]
        yield CapturedWorkload(kind, namespace, word if number == 1 else f"{word}-{number}", template, tuple(ones), own)


def _take_own(
    kind: str, pod: Manifest, claims: Mapping[tuple[str, str], Manifest]
) -> tuple[Manifest, tuple[Manifest, ...]]:
    """Return the spec that a controller's pods share, and templates of their claims."""
    spec = reduce_pod_spec(_undo_merging(pod["spec"]))
    if kind == "DaemonSet":
        spec = _drop_pin(spec)
    if kind != "StatefulSet":
        return spec, ()
    metadata, kept, own = pod["metadata"], [], []
    for volume in spec.get("volumes", ()):
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim != f"{volume['name']}-{metadata['name']}":
            kept.append(volume)
            continue
        found = claims.get((metadata.get("namespace", ""), claim), {})
        asked = {"resources": {"requests": {"storage": "1Gi"}}}
        claimed = {**asked, "accessModes": ["ReadWriteOnce"], **found.get("spec", {})}
        claimed.pop("volumeName", None)
        own.append({"metadata": {"name": volume["name"]}, "spec": claimed})
    return {**spec, "volumes": kept} if kept else _without(spec, "volumes"), tuple(own)


def _drop_pin(spec: Manifest) -> Manifest:
    """Return the spec of a DaemonSet's pod as that of any of its pods."""
    affinity = dict(spec.get("affinity") or {})
    on_nodes = dict(affinity.get("nodeAffinity") or {})
    terms = (on_nodes.pop(REQUIRED, None) or {}).get("nodeSelectorTerms", ())
    kept = [one for term in terms if (one := _without(term, "matchFields"))]
    if kept:
        on_nodes[REQUIRED] = {"nodeSelectorTerms": kept}
    affinity["nodeAffinity"] = on_nodes
    affinity = {key: value for key, value in affinity.items() if value}
    return {**spec, "affinity": affinity} if affinity else _without(spec, "affinity")


def _undo_merging(spec: Any) -> Any:
    """Return a spec without what the server took over from a pod's own labels.

    Of each key in ``matchLabelKeys`` it writes the pod's value into the selector.
    """
    if isinstance(spec, list):
        return [_undo_merging(one) for one in spec]
    if not isinstance(spec, dict):
        return spec
    inner = {key: _undo_merging(value) for key, value in spec.items()}
    merged = {*inner.get("matchLabelKeys", ()), *inner.get("mismatchLabelKeys", ())}
    selector = inner.get("labelSelector")
    if merged and selector and selector.get("matchExpressions"):
        kept = [one for one in selector["matchExpressions"] if one["key"] not in merged]
        inner["labelSelector"] = _without(selector, "matchExpressions") | ({"matchExpressions": kept} if kept else {})
    return inner


def _read_pod(pod: Manifest) -> CapturedPod:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    messages = [
        str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled" and one["status"] != "True"
    ]
    return CapturedPod(pod["metadata"]["name"], node_of(pod), "".join(messages[:1]))


def _number_names(captured: CapturedPods) -> None:
    """Give the workloads names of their own, in which a word of the language fits."""
    many = len({one.namespace for one in captured.workloads}) > 1
    taken = set[str]()
    for at, one in enumerate(captured.workloads):
        word = f"{one.namespace}-{one.name}" if many else one.name
        word = re.sub(r"[^a-z0-9]+", "-", word.lower())[: LONGEST_LABEL - 12].strip("-")
        name, number = word, 2
        while name in taken:
            name, number = f"{word}-{number}", number + 1
        taken.add(name)
        captured.workloads[at] = replace(one, name=name)


def _own_labels(metadata: Mapping[str, Any]) -> dict[str, str]:
    labels = metadata.get("labels") or {}
    return {key: value for key, value in labels.items() if key not in _MADE_LABELS}


def _key(one: Manifest) -> tuple[str, str]:
    return one["metadata"].get("namespace", ""), one["metadata"]["name"]


def _in_order(pod: Manifest) -> tuple[str, int, str]:
    """Return a pod's place: those with numbers in the numbers' order."""
    namespace, name = _key(pod)
    return namespace, len(name), name


def _without(value: Mapping[str, Any], *names: str) -> Manifest:
    return {key: one for key, one in value.items() if key not in names}
