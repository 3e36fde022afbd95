"""A captured cluster in words that say nothing of whose it is."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.capture.capture import Capture, rename_nodes
from stowage_testbed.capture.reading import FURTHER
from stowage_testbed.cluster.node_pool import ZONE_LABEL, NodePool, Taint
from stowage_testbed.whatif.inventory import kind_of

_OWN_DOMAINS = re.compile(r"(^|\.)(kubernetes\.io|k8s\.io|stowage\.dev)$")
_OPEN_VALUES = frozenset({"kubernetes.io/os", "kubernetes.io/arch"})  # Labels whose values say nothing of anybody

_NAMES = frozenset({
    "claimName", "driver", "image", "name", "nodeID", "podGroupName", "provisioner", "resourceClaimName",
    "resourceClaimTemplateName", "runtimeClassName", "serviceName", "storageClassName", "volumeHandle", "volumeName",
})  # fmt: skip
"""Fields that name something."""

_LABELS = frozenset({"labels", "matchLabels", "nodeSelector"})
_KEYS = frozenset({"matchLabelKeys", "mismatchLabelKeys", "topologyKeys"})
_NUMBERS = frozenset({"Gt", "Lt"})
_HARMLESS = re.compile(r"[\d.]+[A-Za-z]*|([A-Z][a-z]+)+")
_HARMLESS_NAME = re.compile(r"(system-.*|kubernetes\.io/no-provisioner|)")


class _Words:
    """Gives each word another one, the same for the same word."""

    def __init__(self) -> None:
        self._left_alone = frozenset[str]()
        self._new: dict[str, dict[str, str]] = defaultdict(dict)

    def name(self, old: str, sort: str = "name") -> str:
        """Return the new name of a thing."""
        if old in self._left_alone or _HARMLESS_NAME.fullmatch(old):
            return old
        known = self._new[sort]
        return known.setdefault(old, f"{sort}-{len(known) + 1}")

    def keep(self, words: Iterable[str]) -> None:
        """Leave these alone from now on."""
        self._left_alone |= frozenset(words)

    def key(self, old: str) -> str:
        """Return the new key of a label or taint; Kubernetes' own are nobody's."""
        domain = old.rpartition("/")[0]
        return old if _OWN_DOMAINS.search(domain) else self.name(old, "key")

    def value(self, key: str, old: str) -> str:
        """Return the new value of a label or taint."""
        return old if key in _OPEN_VALUES or not old else self.name(old, "value")

    def scrub(self, value: Any) -> Any:
        """Return unknown values without their words; amounts, and words in capitals as of a choice, stay."""
        if isinstance(value, list):
            return [self.scrub(one) for one in value]
        if isinstance(value, dict):
            return {key: self.scrub(one) for key, one in value.items()}
        if not isinstance(value, str) or _HARMLESS.fullmatch(value):
            return value
        return self.name(value)

    def labels(self, old: Mapping[str, str]) -> dict[str, str]:
        return {self.key(key): self.value(key, value) for key, value in old.items()}

    def replace_all(self, value: Any) -> Any:
        """Return plain values with other words wherever Kubernetes has names in them."""
        if isinstance(value, list):
            return [self.replace_all(one) for one in value]
        if not isinstance(value, dict):
            return value
        changed = {name: part for name, part in value.items() if name != "annotations"}
        if "operator" in value and "key" in value:
            key = value["key"]
            if key != "metadata.name":
                changed["key"] = self.key(key)
            if value["operator"] not in _NUMBERS and "values" in value:
                changed["values"] = [self.value(key, one) for one in value["values"]]
            if isinstance(value.get("value"), str):
                changed["value"] = self.value(key, value["value"])
            return changed
        for name, part in changed.items():
            if name in _LABELS and isinstance(part, dict):
                changed[name] = self.labels(part)
            elif name in _NAMES and isinstance(part, str):
                changed[name] = self.name(part)
            elif name in _KEYS:
                changed[name] = [self.key(one) for one in part]
            else:
                changed[name] = self.key(part) if name == "topologyKey" else self.replace_all(part)
        return changed


def make_neutral(captured: Capture) -> Capture:
    """Return the same cluster in words that say nothing of whose it is."""
    plain = _Words()
    pools, names = list[NodePool](), dict[str, str]()
    for pool in captured.pools:
        new = replace(
            pool,
            name_prefix=plain.name(pool.name_prefix, "kind"),
            labels=plain.labels(pool.labels),
            taints=tuple(Taint(plain.key(t.key), t.effect, plain.value(t.key, t.value)) for t in pool.taints),
            zones=tuple(plain.value(ZONE_LABEL, zone) for zone in pool.zones),
        )
        pools.append(new)
        names |= dict(zip(pool.node_names(), new.node_names(), strict=True))
    plain.keep(names.values())
    own = dict(names)
    for one in captured.workloads:
        for claim in one.claims:
            # The name of each claim that a StatefulSet looks for.
            before = f"{claim['metadata']['name']}-{one.name}"
            after = f"{plain.name(claim['metadata']['name'])}-{plain.name(one.name, 'workload')}"
            own |= {f"{before}-{number}": f"{after}-{number}" for number in range(len(one.pods))}
    workloads = [
        replace(
            one,
            spec=plain.replace_all(rename_nodes(one.spec, names)),
            name=plain.name(one.name, "workload"),
            labels=plain.labels(one.labels),
            pods=("",) * len(one.pods),
            nodes=tuple(names.get(node, "") for node in one.nodes),
            claims=tuple(plain.replace_all(claim) for claim in one.claims),
        )
        for one in captured.workloads
    ]
    return Capture(
        tuple(pools),
        {old: names[one] for old, one in captured.nodes.items()},
        tuple(names[one] for one in captured.cordoned),
        tuple(workloads),
        tuple(_rename_object(rename_nodes(one, names), own, plain) for one in captured.objects),
        tuple(_rename_object(one, own, plain) for one in captured.quotas),
        dict.fromkeys(captured.notes, ()),
    )


def _rename_object(one: Manifest, names: dict[str, str], plain: _Words) -> Manifest:
    metadata = one["metadata"]
    if one["kind"] == DEFINITION:
        return one
    if kind_of(one) not in FURTHER:
        head = {key: one[key] for key in ("apiVersion", "kind", "metadata")}
        changed = head | plain.scrub({key: value for key, value in one.items() if key not in head})
    else:
        changed = plain.replace_all(one)
    name = names.get(metadata["name"]) or plain.name(metadata["name"])
    labels = plain.labels(metadata.get("labels") or {})
    return {**changed, "metadata": {"name": name, **({"labels": labels} if labels else {})}}
