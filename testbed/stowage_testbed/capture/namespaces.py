"""Several namespaces in one: a run has a single one of its own.

What kept pods of different namespaces apart is a label then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.capture.workloads import CapturedWorkload
from stowage_testbed.trace.format import PodTemplate

NAMESPACE_LABEL = "stowage.dev/namespace"
"""The namespace that a pod had, where there were several."""

_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def label_pods(
    workload: CapturedWorkload, namespaces: Mapping[str, Mapping[str, str]]
) -> CapturedWorkload:
    """Return a workload whose pods say which namespace they had, and ask for it.

    Parameters
    ----------
    namespaces
        The labels of each namespace.
    """
    own, spec = workload.namespace, dict(workload.template.spec)
    affinity = dict(spec.get("affinity") or {})
    for kind in ("podAffinity", "podAntiAffinity"):
        if kind in affinity:
            affinity[kind] = _change_terms(
                affinity[kind], lambda term: _narrow_term(term, own, namespaces)
            )
    if affinity:
        spec["affinity"] = affinity
    if spreads := spec.get("topologySpreadConstraints"):
        spec["topologySpreadConstraints"] = [
            {**one, "labelSelector": narrow(one["labelSelector"], [own])}
            if one.get("labelSelector") is not None
            else one
            for one in spreads
        ]
    template = workload.template
    labels = {**template.labels, NAMESPACE_LABEL: own}
    return replace(workload, template=PodTemplate(labels, template.annotations, spec))


def narrow(selector: Mapping[str, Any], namespaces: Sequence[str]) -> Manifest:
    """Return a selector of pods that is of some namespaces only."""
    if len(namespaces) == 1:
        labels = {**(selector.get("matchLabels") or {}), NAMESPACE_LABEL: namespaces[0]}
        return {**selector, "matchLabels": labels}
    one_of = {"key": NAMESPACE_LABEL, "operator": "In", "values": list(namespaces)}
    expressions = [*(selector.get("matchExpressions") or ()), one_of]
    return {**selector, "matchExpressions": expressions}


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches; one that is missing matches nothing."""
    if selector is None:
        return False
    asked = (selector.get("matchLabels") or {}).items()
    if any(labels.get(key) != value for key, value in asked):
        return False
    return all(_holds(one, labels) for one in selector.get("matchExpressions") or ())


def _holds(asked: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(asked["key"]), asked.get("values") or ()
    match asked["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def _change_terms(
    affinity: Manifest, change: Callable[[Manifest], Manifest]
) -> Manifest:
    changed = dict(affinity)
    if terms := affinity.get(_REQUIRED):
        changed[_REQUIRED] = [change(one) for one in terms]
    if weighted := affinity.get(_PREFERRED):
        changed[_PREFERRED] = [
            {**one, "podAffinityTerm": change(one["podAffinityTerm"])}
            for one in weighted
        ]
    return changed


def _narrow_term(
    term: Manifest, own: str, namespaces: Mapping[str, Mapping[str, str]]
) -> Manifest:
    named, by_label = term.get("namespaces") or (), term.get("namespaceSelector")
    meant = set(named) | set(_list_selected(by_label, namespaces))
    if not meant and by_label is None:
        meant = {own}
    kept = {
        key: value
        for key, value in term.items()
        if key not in {"namespaces", "namespaceSelector"}
    }
    if kept.get("labelSelector") is not None:
        # A list of none is refused; no pod has an empty namespace.
        kept["labelSelector"] = narrow(kept["labelSelector"], sorted(meant) or [""])
    return kept


def _list_selected(
    selector: Mapping[str, Any] | None, namespaces: Mapping[str, Mapping[str, str]]
) -> Iterable[str]:
    return (
        name
        for name, labels in namespaces.items()
        if selects(selector, {_NAMESPACE_NAME: name, **labels})
    )
