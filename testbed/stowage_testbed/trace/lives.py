"""The pods of a trace, each from its coming to its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.pod_templates import spell_lifetime
from stowage_testbed.trace.format import Line, PodBound, PodCame, PodEnded, PodTemplate

GONE = frozenset({"deleted", "evicted"})
"""Ends that somebody other than the scheduler brought about, and does again."""

_DONE = frozenset({"succeeded", "failed"})
_MADE_BY_ADMISSION = ("priority", "preemptionPolicy", "schedulerName")


@dataclass(slots=True)
class Life:
    """A pod from its coming to its end, as far as it was recorded."""

    came: PodCame
    node: str = ""
    bound: float | None = None
    end: PodEnded | None = None

    @property
    def is_done(self) -> bool:
        """Whether it ended by itself."""
        return self.end is not None and self.end.how in _DONE

    @property
    def stays(self) -> bool:
        """Whether it is there at the end, be it done."""
        return self.end is None or self.is_done

    @property
    def runs_s(self) -> float | None:
        """How long it runs in the replay; ``None`` if it does not end by itself."""
        if not self.is_done or self.end is None:
            return None
        if self.came.t == 0 and self.bound == 0:
            # It ran before recording began.
            return self.end.t
        return self.end.ran_s or 0.0


def pair_lives(lines: Iterable[Line]) -> dict[int, Life]:
    """Return the life of each pod, by the identity of the line with which it came."""
    lives: dict[int, Life] = {}
    now: dict[tuple[str, str], Life] = {}
    for line in lines:
        if isinstance(line, PodCame):
            lives[id(line)] = now[line.namespace, line.name] = Life(line)
        elif isinstance(line, PodBound | PodEnded):
            life = now.get((line.namespace, line.name))
            if life is not None and isinstance(line, PodBound):
                life.node, life.bound = line.node, line.t
            elif life is not None and isinstance(line, PodEnded):
                life.end = line
    return lives


def make_pod(name: str, template: PodTemplate, life: Life, speed: float) -> Manifest:
    """Return a pod to create: it ends after as long as it ran, divided by ``speed``."""
    spec = {key: value for key, value in template.spec.items() if key not in _MADE_BY_ADMISSION}
    if life.node:
        # Who opened the gates is not recorded.
        spec.pop("schedulingGates", None)
    metadata = {"name": name, "labels": dict(template.labels), "annotations": dict(template.annotations)}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    runs_s = life.runs_s
    return pod if runs_s is None else spell_lifetime(pod, runs_s / speed)
