"""Objects of several namespaces in one: names get the namespace as a prefix, and a label keeps the pods apart."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.label_selector import selects
from stowage_testbed.api.pod_templates import add_metadata, change_pods

NAMESPACE_LABEL = "stowage.dev/namespace"  # Label of pods: the namespace that they were in
LONGEST_NAME = 52  # Controllers add to their names, and labels have 63 characters
_LONGEST_POD_NAME = 253
_DIGEST = 4
_OWN_NAME = "kubernetes.io/metadata.name"
_SELECTING = frozenset({"PodDisruptionBudget", "Service"})
_CLAIMS = ("volumes", "persistentVolumeClaim", "claimName")
_NAMES = (
    ("resourceClaims", "resourceClaimName"),
    ("resourceClaims", "resourceClaimTemplateName"),
    ("schedulingGroup", "podGroupName"),
    ("workloadRef", "name"),
)
"""Where the spec of a pod names other objects of its namespace."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = ("preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm")
_TERMS = (
    ("topologySpreadConstraints",),
    *(("affinity", kind, *path) for kind in ("podAffinity", "podAntiAffinity") for path in ((_REQUIRED,), _PREFERRED)),
)
"""Where it selects other pods."""


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name that is not too long; a longer one ends in a hash of it."""
    if len(name) <= longest:
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=_DIGEST).hexdigest()
    return f"{name[: longest - len(digest) - 1].rstrip('-.')}-{digest}"


class OneNamespace:
    """Rewrites objects of a trace, or of a cluster; StatefulSets among ``objects`` say what their claims are called."""

    def __init__(
        self, labels: Mapping[str, Mapping[str, str]], used: Collection[str], objects: Iterable[Manifest] = ()
    ) -> None:
        self._labels = labels
        self.apart = len(used) > 1
        self._claim_templates: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for one in objects:
            metadata, spec = one["metadata"], one.get("spec") or {}
            for claim in (spec.get("volumeClaimTemplates") or ()) if one["kind"] == "StatefulSet" else ():
                self._claim_templates[metadata["namespace"]].append((claim["metadata"]["name"], metadata["name"]))

    def name(self, namespace: str, name: str, longest: int = LONGEST_NAME) -> str:
        """Return what an object of a namespace is called."""
        prefixed = self.apart and namespace
        return shorten(f"{namespace}-{name}", longest) if prefixed else name

    def name_pod(self, namespace: str, name: str) -> str:
        """Return what a pod without a controller is called."""
        return self.name(namespace, name, _LONGEST_POD_NAME)

    def has_maker(self, claim: Manifest) -> bool:
        """Return whether a StatefulSet makes a claim."""
        metadata = claim["metadata"]
        return self._find_maker(metadata["namespace"], metadata["name"]) is not None

    def rewrite(self, manifest: Manifest) -> Manifest:
        """Return an object as it is in the one namespace."""
        metadata = dict(manifest["metadata"])
        namespace = metadata.pop("namespace", "")
        kind, name = manifest["kind"], metadata["name"]
        if kind == "PersistentVolumeClaim":
            metadata["name"] = self._name_claim(namespace, name)
        elif namespace:
            metadata["name"] = self.name(namespace, name)
        changed = change_pods({**manifest, "metadata": metadata}, partial(self.rewrite_pod, namespace))
        spec = changed.get("spec")
        if isinstance(spec, Mapping):
            changed["spec"] = self._rewrite_spec(kind, dict(spec), namespace)
        return changed

    def rewrite_pod(self, namespace: str, pod: Manifest) -> Manifest:
        """Return what describes a pod, with the label and with selectors that ask."""
        spec = pod["spec"]
        for path in _TERMS:
            spec = _change_at(spec, path, lambda term: self._rewrite_term(term, namespace))
        if self.apart:
            spec = _change_at(spec, _CLAIMS, partial(self._name_claim, namespace))
            for path in _NAMES:
                spec = _change_at(spec, path, partial(self.name, namespace))
            pod = add_metadata(pod, labels={NAMESPACE_LABEL: namespace})
        return {**pod, "spec": spec}

    def _rewrite_spec(self, kind: str, spec: Manifest, namespace: str) -> Manifest:
        if claim := spec.get("claimRef"):
            own = self._name_claim(claim["namespace"], claim["name"])
            # The replay, which knows its namespace, puts that in.
            kept = {key: value for key, value in claim.items() if key != "namespace"}
            spec["claimRef"] = {**kept, "name": own}
        if not self.apart:
            return spec
        if "template" in spec or kind in _SELECTING:
            if kind == "Service":
                spec["selector"] = {**spec["selector"], NAMESPACE_LABEL: namespace}
            elif "selector" in spec:
                spec["selector"] = _ask_for(spec["selector"], [namespace])
        if service := spec.get("serviceName"):
            spec["serviceName"] = self.name(namespace, service)
        return spec

    def _name_claim(self, namespace: str, name: str) -> str:
        """Return what a claim is called; a StatefulSet's by the StatefulSet's name."""
        maker = self._find_maker(namespace, name)
        if maker is None:
            return self.name(namespace, name)
        template, controller, number = maker
        return f"{template}-{self.name(namespace, controller)}-{number}"

    def _find_maker(self, namespace: str, name: str) -> tuple[str, str, str] | None:
        for template, controller in self._claim_templates.get(namespace, ()):
            pattern = f"{re.escape(f'{template}-{controller}')}-([0-9]+)"
            if found := re.fullmatch(pattern, name):
                return template, controller, found[1]
        return None

    def _rewrite_term(self, term: Manifest, namespace: str) -> Manifest:
        """Return a term that asks for the namespaces which it named, by their label."""
        kept = dict(term)
        named = kept.pop("namespaces", None)
        selector = kept.pop("namespaceSelector", None)
        meant = set(named or ())
        if selector is not None:
            meant |= {one for one, labels in self._labels.items() if selects(selector, {**labels, _OWN_NAME: one})}
        elif not named:
            meant = {namespace}
        asks = self.apart or namespace not in meant
        if asks and kept.get("labelSelector") is not None:
            kept["labelSelector"] = _ask_for(kept["labelSelector"], sorted(meant))
        return kept


def _change_at(value: Any, path: Sequence[str], change: Callable[[Any], Any]) -> Any:
    """Return a value in which what stands at a path is changed, in each entry of a list."""
    if isinstance(value, list):
        return [_change_at(one, path, change) for one in value]
    if not path:
        return value if value is None else change(value)
    if not isinstance(value, Mapping) or path[0] not in value:
        return value
    return {**value, path[0]: _change_at(value[path[0]], path[1:], change)}


def _ask_for(selector: Mapping[str, Any], namespaces: list[str]) -> Manifest:
    if len(namespaces) == 1:
        labels = selector.get("matchLabels") or {}
        own = {**labels, NAMESPACE_LABEL: namespaces[0]}
        return {**selector, "matchLabels": own}
    one = {"key": NAMESPACE_LABEL, "operator": "In", "values": namespaces or [""]}
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), one]}
