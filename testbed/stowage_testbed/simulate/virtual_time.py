"""The scheduler in virtual time: a trace's events in, and what became of each pod out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.simulate.instance import Remark, UnknownField
from stowage_testbed.simulate.process import LineProcess
from stowage_testbed.toolchain import choose_minor, tool_path
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.reading import Life as RecordedLife
from stowage_testbed.trace.reading import Trace, pair_lives

Event = Mapping[str, Any]
"""A line as ``stowage-simulate --virtual-time`` reads it: its time ``at`` and what happens then."""

_ANSWERS = (b'{"eviction":', b'{"state":')
"""How the lines begin that somebody waits for."""

_REMARKS = (b'{"plan":', b'{"window":', b'{"policy":', b'{"nodeGone":')
"""How the lines of policies begin. All other lines but the last are lives."""


class Life(Struct, frozen=True):
    """What became of a pod, ``namespace/name`` of template ``of``; times are seconds from the beginning.

    ``how`` it ended is as the events say, ``preempted``, or ``node gone``; ``reason`` is what kept it without a node;
    ``replaces`` is the recorded pod that it replaces.
    """

    pod: str
    of: str
    arrived_s: float = msgspec.field(name="arrived")
    bound_s: float | None = msgspec.field(name="bound", default=None)
    node: str = ""
    ended_s: float | None = msgspec.field(name="ended", default=None)
    how: str = ""
    reason: str = ""
    replaces: str = ""


class Evictions(Struct, frozen=True, rename="camel"):
    """Evictions that anybody asked for; ``within_cool_down`` are of replacements, again within the cool-down."""

    evicted: int = 0
    refused: int = 0
    within_cool_down: int = 0
    budgets_broken: int = 0


class PassedTime(Struct, frozen=True, rename="camel"):
    """What became of all pods, as they ended, then by name; ``attempts`` is how often a pod was tried."""

    lives: tuple[Life, ...] = ()
    until_s: float = msgspec.field(name="until", default=0.0)
    events: int = 0
    attempts: int = 0
    cpu_s: float = msgspec.field(name="cpuSeconds", default=0.0)
    peak_memory_bytes: int = 0
    left_out: tuple[Remark, ...] = ()
    unknown_fields: tuple[UnknownField, ...] = ()
    evictions: Evictions = Evictions()
    error: str = ""


class _LastLine(Struct):
    passed: PassedTime | None = None


class World(LineProcess):
    """A cluster in virtual time that somebody acts on, for as long as the ``with`` block lasts."""

    def __init__(self, config: Path, *, minor: str | None = None) -> None:
        binary = tool_path("stowage-simulate", choose_minor(minor))
        super().__init__((binary, "--virtual-time", "--config", config))
        self._encoder = msgspec.json.Encoder()
        self._told: list[bytes] = []

    def happen(self, event: Event) -> None:
        """Have an event happen; times never go back. What is wrong with it, the next answer reports."""
        self.write(self._encoder.encode(event))

    def tell_state(self, at_s: float) -> dict[str, Any]:
        """Return ``nodes``, ``pods`` and ``disruptionBudgets``; a `StowageError` if an event was broken."""
        state: dict[str, Any] = self._find({"at": at_s, "state": True})["state"]
        return state

    def evict(self, at_s: float, pod: str) -> str:
        """Evict a pod, ``namespace/name``, or return why that is refused; raises as `tell_state` does."""
        return str(self._find({"at": at_s, "evict": pod})["eviction"].get("refused", ""))

    def end(self) -> PassedTime:
        """Return what became of all pods; nothing can happen any more. Raises as `tell_state` does."""
        self.close_input()
        self._told.extend(iter(self.read, b""))
        *told, last = self._told or [b"{}"]
        passed = msgspec.json.decode(last, type=_LastLine).passed
        if passed is None or passed.error:
            raise StowageError(f"{self.name} did not come to the end: {passed.error if passed else self.last_words()}")
        decoder = msgspec.json.Decoder(Life)
        lives = (decoder.decode(line) for line in told if not line.startswith(_REMARKS))
        return msgspec.structs.replace(passed, lives=tuple(lives))

    def remarks(self, of: str) -> list[dict[str, Any]]:
        """Return what was said of each ``plan``, ``window`` or ``policy`` until now."""
        said = (msgspec.json.decode(line) for line in self._told if line.startswith(_REMARKS))
        return [one[of] for one in said if of in one]

    def _find(self, event: Event) -> dict[str, Any]:
        self.happen(event)
        for line in iter(self.read, b""):
            if line.startswith(_ANSWERS):
                answer: dict[str, Any] = msgspec.json.decode(line)
                return answer
            self._told.append(line)
        self.end()
        raise StowageError(f"{self.name} ended before its events: {self.last_words()}")


def pass_time(events: Iterable[Event], config: Path, *, minor: str | None = None) -> PassedTime:
    """Have events happen to one cluster, in the order of their times; parameters and errors as of `World`."""
    with World(config, minor=minor) as world:
        for event in events:
            world.happen(event)
        return world.end()


_READ = frozenset({
    "CSIDriver", "CSINode", "CSIStorageCapacity", "DeviceClass", "DeviceTaintRule", "PersistentVolume",
    "PersistentVolumeClaim", "PodDisruptionBudget", "ReplicaSet", "ReplicationController", "ResourceClaim",
    "ResourceClaimTemplate", "ResourceSlice", "Service", "StatefulSet", "StorageClass", "VolumeAttachment",
})  # fmt: skip
"""Kinds that placing a pod depends on, by the scheduler's own reading."""

_BATCH = frozenset({"Job", "CronJob"})
_BOUND_CLAIM = "pv.kubernetes.io/bind-completed"


def make_events(recorded: Trace) -> Iterator[Event]:
    """Yield the events of a trace, in the order of its lines."""
    for name, labels in recorded.header.namespaces.items():
        yield {"at": 0.0, "namespace": {"metadata": {"name": name, "labels": labels}}}
    lives = pair_lives(recorded.lines)
    # These go when they went; a bare pod that another scheduler preempted stays.
    taken = {
        id(one.end)
        for one in lives.values()
        if one.end and not _runs_to_its_end(one, one.end) and (one.came.owner or one.end.how != "preempted")
    }
    classes = list_priorities(recorded.lines)
    for line in recorded.lines:
        event: Event = {}
        match line:
            case trace.Template(id=name, template=made):
                metadata = {"labels": made.labels, "annotations": made.annotations}
                pod = {"metadata": metadata, "spec": resolve_priority(made.spec, classes)}
                event = {"template": {"id": name, "pod": pod}}
            case trace.NodeSeen():
                event = {"node": make_node(line)}
            case trace.NodeGone():
                event = {"nodeGone": line.name}
            case trace.ObjectSeen() if _stand_in(line.object["kind"]) in _READ:
                event = {"object": _make_object(line.object)}
            case trace.ObjectGone() if (kind := _stand_in(line.kind)) in _READ:
                event = {"objectGone": {"kind": kind, "namespace": line.namespace, "name": line.name}}
            case trace.PodCame():
                event = {"pod": _make_arrival(lives[id(line)])}
            case trace.PodEnded() if id(line) in taken:
                event = {"podGone": f"{line.namespace}/{line.name}"}
        if event:
            yield {"at": line.t, **event}
    if recorded.lines:
        yield {"at": recorded.lines[-1].t}


def make_node(seen: trace.NodeSeen) -> JsonObject:
    """Return a node as the API server has it."""
    return {
        "metadata": {"name": seen.name, "labels": seen.node.labels},
        "spec": {"taints": seen.node.taints, "unschedulable": seen.node.unschedulable},
        "status": {"capacity": seen.node.capacity, "allocatable": seen.node.allocatable},
    }


def list_priorities(lines: Sequence[trace.Line]) -> dict[str, int]:
    """Return the values of the recorded priority classes by name."""
    return {
        line.object["metadata"]["name"]: line.object.get("value", 0)
        for line in lines
        if isinstance(line, trace.ObjectSeen) and line.object["kind"] == "PriorityClass"
    }


def resolve_priority(spec: dict[str, Any], classes: Mapping[str, int]) -> dict[str, Any]:
    """Return the spec with what admission makes of the name of a class."""
    return {**spec, "priority": spec.get("priority", classes.get(spec.get("priorityClassName", ""), 0))}


def _stand_in(kind: str) -> str:
    """Return the kind whose selector the scheduler reads for a controller's pods."""
    return "ReplicaSet" if kind == "Deployment" else kind


def _make_object(recorded: JsonObject) -> JsonObject:
    """Return an object as the scheduler reads it."""
    kind, metadata = recorded["kind"], recorded["metadata"]
    made = {**recorded, "kind": _stand_in(kind)}
    if kind == "Deployment":
        made["spec"] = {"selector": recorded["spec"]["selector"]}
    if kind == "PersistentVolumeClaim" and recorded["spec"].get("volumeName"):
        # What the volume controller notes, and traces leave out.
        notes = {**metadata.get("annotations", {}), _BOUND_CLAIM: "yes"}
        made["metadata"] = {**metadata, "annotations": notes}
    return made


def _make_arrival(life: RecordedLife) -> dict[str, Any]:
    came, end = life.came, life.end
    node = life.node if life.bound == 0 else ""
    arrival: dict[str, Any] = {
        "name": f"{came.namespace}/{came.name}",
        "of": came.of,
        "node": node,
        # What another scheduler preempted, this one did not.
        "how": end.how.replace("preempted", "deleted") if end else "",
    }
    if came.owner:
        arrival["owner"] = {
            "apiVersion": "batch/v1" if came.owner.kind in _BATCH else "apps/v1",
            "kind": _stand_in(came.owner.kind),
            "name": came.owner.name,
        }
    if end and _runs_to_its_end(life, end):
        # It takes up its node from its binding on, also while it starts; one bound before the recording began has the
        # rest of its time left.
        arrival["lives"] = end.ran_s if life.bound is None else end.t - life.bound
    return arrival


def _runs_to_its_end(life: RecordedLife, end: trace.PodEnded) -> bool:
    return life.is_done and end.ran_s is not None
