"""Label selectors, and which of them select a pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from stowage_testbed.observe.change import JsonObject, namespace_of

Anchor = tuple[str, str, str | None] | str
"""A label in a namespace that everything a selector selects has, with its value or
with any; or the namespace alone, where there is no such label."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one label must be."""

    name: str
    operator: str
    values: tuple[str, ...]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet it."""
        match self.operator:
            case "In":
                return labels.get(self.name) in self.values
            case "NotIn":
                return labels.get(self.name) not in self.values
            case "Exists":
                return self.name in labels
            case _:
                return self.name not in labels


def requirements_of(selector: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """Return what a label selector demands; an empty one demands nothing."""
    return (
        *(Requirement(name, "In", (value,)) for name, value in (selector.get("matchLabels") or {}).items()),
        *(
            Requirement(one["key"], one["operator"], tuple(one.get("values") or ()))
            for one in selector.get("matchExpressions") or ()
        ),
    )


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a label selector holds for labels."""
    return all(one.holds(labels) for one in requirements_of(selector))


@dataclass(frozen=True, slots=True)
class Selector:
    """The pods of a namespace that meet every requirement; without any, all of it."""

    namespace: str
    requirements: tuple[Requirement, ...]

    @classmethod
    def of(cls, budget: JsonObject) -> Self | None:
        """Return a budget's selector; ``None`` if it selects no pod."""
        found: Mapping[str, Any] | None = (budget.get("spec") or {}).get("selector")
        if found is None:
            return None
        return cls(namespace_of(budget), requirements_of(found))

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether a pod of its namespace with these labels is selected."""
        return all(one.holds(labels) for one in self.requirements)

    def anchors(self) -> list[Anchor]:
        """Return labels of which a pod has one at least, if it is selected."""
        for operator in ("In", "Exists"):
            for one in self.requirements:
                if one.operator == operator:
                    values = one.values if operator == "In" else (None,)
                    # A value that stands twice must not be found twice.
                    return [(self.namespace, one.name, value) for value in dict.fromkeys(values)]
        return [self.namespace]


class SelectorIndex:
    """Finds the selectors of a pod by its labels, without asking every selector."""

    def __init__(self, selectors: Iterable[Selector]) -> None:
        self._by_anchor: dict[Anchor, list[Selector]] = {}
        for selector in dict.fromkeys(selectors):
            for anchor in selector.anchors():
                self._by_anchor.setdefault(anchor, []).append(selector)

    def of(self, namespace: str, labels: Mapping[str, str]) -> Iterator[Selector]:
        """Yield the selectors that select a pod."""
        anchors: list[Anchor] = [namespace]
        for name, value in labels.items():
            anchors += [(namespace, name, value), (namespace, name, None)]
        for anchor in anchors:
            for selector in self._by_anchor.get(anchor, ()):
                if selector.selects(labels):
                    yield selector
