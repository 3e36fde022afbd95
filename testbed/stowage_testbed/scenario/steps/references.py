"""The names that steps use, each with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.draft import Draft
from stowage_testbed.scenario.steps.build import ALL
from stowage_testbed.scenario.steps.model import Step

Sort = Literal["applied", "controller", "template", "pods", "phased", "node"]
"""What a name must be of.

applied: a workload or object. controller: a workload that is applied. template: one
that pods are made like. pods: whatever has pods. phased: what has a phase.
"""

_WHERE: Mapping[str, Mapping[str, Sort]] = {
    "scale": {"workload": "controller"},
    "evict": {"workload": "controller", "node": "node"},
    "burst": {"workload": "template"},
    "usage": {"workload": "pods"},
    "wait": {"of": "pods"},
    "taint": {"nodes": "node"},
    "untaint": {"nodes": "node"},
}
_WHOLE: Mapping[str, Sort] = {
    "apply": "applied",
    "delete": "applied",
    "cordon": "node",
    "uncordon": "node",
    "remove-nodes": "node",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that a step uses."""

    step: Step
    place: Place
    name: str
    sort: Sort


def place_of(step: Step, *inner: str | int) -> Place:
    """Return where a step stands, or something in it."""
    return ("steps", step.number - 1, step.kind, *inner)


def references(draft: Draft) -> Iterator[Reference]:
    """Yield every name that the steps use, in order."""
    for step in draft.steps:
        plain = draft.valid["steps"][step.number - 1][step.kind]
        if step.kind in _WHOLE:
            for place, name in _named(plain, place_of(step)):
                if (step.kind, plain) != ("apply", ALL):
                    yield Reference(step, place, name, _WHOLE[step.kind])
        for key, sort in _WHERE.get(step.kind, {}).items():
            of_phase = step.kind == "wait" and plain["for"] == "phase"
            for place, name in _named(plain.get(key, ()), place_of(step, key)):
                yield Reference(step, place, name, "phased" if of_phase else sort)


def _named(plain: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(plain, str):
        yield place, plain
        return
    for number, name in enumerate(plain):
        yield (*place, number), name
