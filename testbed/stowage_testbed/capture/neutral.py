"""Other words in the place of all that say whose cluster it was."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

_OWN_DOMAINS = re.compile(r"(^|\.)(kubernetes\.io|k8s\.io|stowage\.dev)$")
_OPEN_VALUES = frozenset({"kubernetes.io/os", "kubernetes.io/arch"})
"""Labels whose values say nothing of anybody."""

_NAMES = frozenset(
    {
        "claimName",
        "driver",
        "image",
        "name",
        "nodeID",
        "podGroupName",
        "provisioner",
        "resourceClaimName",
        "resourceClaimTemplateName",
        "runtimeClassName",
        "serviceName",
        "storageClassName",
        "volumeHandle",
        "volumeName",
    }
)
_LABELS = frozenset({"labels", "matchLabels", "nodeSelector"})
_KEYS = frozenset({"matchLabelKeys", "mismatchLabelKeys"})
_NUMBERS = frozenset({"Gt", "Lt"})
_HARMLESS = re.compile(r"[\d.]+[A-Za-z]*|([A-Z][a-z]+)+")
_KEPT = re.compile(r"(system-.*|kubernetes\.io/no-provisioner|)")


class Words:
    """Gives each word another one, the same for the same word."""

    def __init__(self) -> None:
        self._kept = frozenset[str]()
        self._new: dict[str, dict[str, str]] = defaultdict(dict)

    def name(self, old: str, sort: str = "name") -> str:
        """Return the new name of a thing."""
        if old in self._kept or _KEPT.fullmatch(old):
            return old
        known = self._new[sort]
        return known.setdefault(old, f"{sort}-{len(known) + 1}")

    def keep(self, words: Iterable[str]) -> None:
        """Leave these alone from now on."""
        self._kept |= frozenset(words)

    def key(self, old: str) -> str:
        """Return the new key of a label or taint; Kubernetes' own are nobody's."""
        domain = old.rpartition("/")[0]
        return old if _OWN_DOMAINS.search(domain) else self.name(old, "key")

    def value(self, key: str, old: str) -> str:
        """Return the new value of a label or taint."""
        return old if key in _OPEN_VALUES or not old else self.name(old, "value")

    def scrub(self, value: Any) -> Any:
        """Return what nobody here knows the meaning of, without its words.

        Amounts, and words in capitals such as Kubernetes has for a choice, stay.
        """
        if isinstance(value, list):
            return [self.scrub(one) for one in value]
        if isinstance(value, dict):
            return {key: self.scrub(one) for key, one in value.items()}
        if not isinstance(value, str) or _HARMLESS.fullmatch(value):
            return value
        return self.name(value)

    def labels(self, old: Mapping[str, str]) -> dict[str, str]:
        """Return labels in other words."""
        return {self.key(key): self.value(key, value) for key, value in old.items()}

    def replace_all(self, value: Any) -> Any:
        """Return plain values with other words wherever Kubernetes has names in them.

        What is neither name nor label is Kubernetes' own word, or a number.
        """
        if isinstance(value, list):
            return [self.replace_all(one) for one in value]
        if not isinstance(value, dict):
            return value
        if "operator" in value and "key" in value:
            return self._requirement(value)
        return {name: self._part(name, part) for name, part in value.items() if name != "annotations"}

    def _part(self, name: str, part: Any) -> Any:
        if name in _LABELS and isinstance(part, dict):
            return self.labels(part)
        if name in _NAMES and isinstance(part, str):
            return self.name(part)
        if name in _KEYS:
            return [self.key(one) for one in part]
        if name == "topologyKey":
            return self.key(part)
        if name == "topologyKeys":
            return [self.key(one) for one in part]
        return self.replace_all(part)

    def _requirement(self, value: Mapping[str, Any]) -> dict[str, Any]:
        key, changed = value["key"], dict(value)
        if key != "metadata.name":
            changed["key"] = self.key(key)
        if value["operator"] not in _NUMBERS and "values" in value:
            changed["values"] = [self.value(key, one) for one in value["values"]]
        if isinstance(value.get("value"), str):
            changed["value"] = self.value(key, value["value"])
        return changed
