"""What no type can say: whether the parts of one scenario fit each other. Each rule is a function of its own."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain
from typing import Any

from stowage_testbed.amounts.resources import CPU, DEVICES, MEMORY, PODS, QuantityError, Resources, add_up, names_of
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.cluster.devices import Devices, device_names, find_clash, make_classes
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.observe.device_claims import IMPLICIT_DOMAIN
from stowage_testbed.observe.pod_group import POD_GROUP
from stowage_testbed.scenario.expected import ExpectedMoment
from stowage_testbed.scenario.manifest_rules import check_fields, check_manifest
from stowage_testbed.scenario.manifests import SCALED, name_priority_class
from stowage_testbed.scenario.model import Scenario, Workload
from stowage_testbed.scenario.reading import spell
from stowage_testbed.scenario.scenario_file import ScenarioFile
from stowage_testbed.scenario.steps.action import Demand, Step, Where, actions_of, count_most_pods
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.scenario.steps.arriving import Burst
from stowage_testbed.scenario.steps.changing import Scale
from stowage_testbed.scenario.steps.checking import END, FAILED, Check, Checkpoint
from stowage_testbed.scenario.steps.devices import RemoveDevices, RestoreDevices, TaintDevices
from stowage_testbed.scenario.steps.nodes import AddNodes, RemoveNodes
from stowage_testbed.scenario.steps.overloading import Measure
from stowage_testbed.scenario.steps.placing import Place
from stowage_testbed.scenario.steps.releasing import RESERVING_PROFILES, AskForPlan, Pack, Release
from stowage_testbed.scenario.steps.replaying import Replay, list_replayed_nodes
from stowage_testbed.scenario.steps.waiting import Wait
from stowage_testbed.scenario.types import Sort
from stowage_testbed.scenario.yaml_file import suggest_known

_OPTIMISER = "add `scheduler: {profile: optimizer, optimizer: true}`"


@dataclass(frozen=True)
class Content:
    """One run of a file, with its plain values.

    ``whole`` if all files that it names could be read: else no name is unknown.
    """

    scenario: Scenario
    file: ScenarioFile
    data: Mapping[str, Any]
    steps: Sequence[Step]
    whole: bool
    report: Callable[..., None]
    """Takes an issue, as `Document.report` does."""

    def uses(self, step: Step) -> Iterator[tuple[Where, str, Sort]]:
        """Yield the names that a step uses as it is written: not those of files that it applies."""
        return self.file.steps[step.number - 1].uses()

    @cached_property
    def moments(self) -> list[tuple[Where, ExpectedMoment]]:
        """What is expected, and where that stands."""
        checks = [(step.place(), step.action) for step in self.steps if isinstance(step.action, Check)]
        return [*checks, (("expect", "end"), self.file.expect.end)]

    @cached_property
    def pools(self) -> list[tuple[Where, NodePool]]:
        """The kinds of nodes that are written down, and where."""
        own: list[tuple[Where, NodePool]] = [(("nodes", number), pool) for number, pool in enumerate(self.file.nodes)]
        return [*own, *((s.place(), s.action.pool) for s in self.steps if isinstance(s.action, AddNodes))]

    @cached_property
    def sizes(self) -> list[Resources]:
        """What a pod may request of each kind of node; nothing where `given` is unknown."""
        return [] if self.given is None else [*(pool.offers for _, pool in self.pools), *self.given]

    @cached_property
    def written_classes(self) -> dict[str, Mapping[str, Any]]:
        """The specs of the device classes among the objects, by their names in the cluster."""
        classes = (each for each in self.scenario.objects.values() if each.kind == "DeviceClass")
        specs = {each.object_name: each.manifest.get("spec") for each in classes}
        return {name: spec if isinstance(spec, Mapping) else {} for name, spec in specs.items()}

    @cached_property
    def given(self) -> list[Resources] | None:
        """What each node among the objects has; None where a node leaves that to KWOK, and where one cannot be read."""
        try:
            found = [each.allocatable for each in self.scenario.node_objects]
        except QuantityError:
            return None
        known = [size for size in found if size is not None]
        return known if len(known) == len(found) else None


def lint(one: Content) -> None:
    """Report all issues of a run."""
    rules = [
        _sources,
        _workloads,
        _nodes,
        _device_classes,
        _groups,
        _manifests,
        _releases,
        _expectations,
        _window,
        _checkpoints,
        _single_steps,
    ]
    if one.whole:
        rules += [_names, _devices, _claims, _order, _order_of_nodes, _counts]
    for rule in rules:
        rule(one)


def _sources(one: Content) -> None:
    """Nodes and workload are either written down, or generated, or a trace's; no two things have one name."""
    if one.file.instance:
        for key in ("nodes", "workload"):
            if key in one.data:
                one.report((key,), f"`instance` brings nodes and workload; remove {key!r} or it", of_key=True)
    elif one.whole and not (one.file.nodes or one.scenario.node_names):
        one.report((), "the scenario lacks 'nodes'; write it, or an `instance`")
    taken = {workload.name: "a workload" for workload in one.scenario.workload}
    named: list[tuple[str, str, Where]] = [(name, "an object", ("objects", name)) for name in one.file.objects]
    named += [(s.action.plan, "a plan", s.place("plan")) for s in one.steps if isinstance(s.action, AskForPlan)]
    for name, what, place in named:
        if name in taken:
            message = f"{name!r} is {taken[name]} already; choose another name"
            one.report(place, message, of_key=what == "an object")
        taken.setdefault(name, what)
    for step in one.steps:
        for name in step.action.owners if isinstance(step.action, Replay) else ():
            if name in taken:
                message = f"owner {name!r} of the trace is {taken[name]} already; rename one of them"
                one.report(step.place("file"), message)


def _workloads(one: Content) -> None:
    """Workloads have names of their own, one source of requests, and fit on some node."""
    seen: set[str] = set()
    for number, workload in enumerate(one.file.workload):
        place, name = ("workload", number), workload.name
        if name in seen:
            one.report((*place, "name"), f"workload {name!r} stands there already; choose another name")
        seen.add(name)
        if "containers" in workload.pod:
            for key in ("cpu", "memory", "requests", "image"):
                if key in one.data["workload"][number]:
                    message = f"workload {name!r} has its own `pod.containers`; move {key!r} into one of them"
                    one.report((*place, key), message, of_key=True)
        # What these classes serve, and how many devices of them there are, only the cluster knows.
        takes = workload.takes.without(
            *(f"{IMPLICIT_DOMAIN}/{each}" for each in one.written_classes),
            *(str(spec.get("extendedResourceName", "")) for spec in one.written_classes.values()),
        )
        if one.file.expect.allow_unplaceable or not one.sizes or any(takes.fits(size) for size in one.sizes):
            continue
        largest = max(one.sizes, key=lambda size: (size[MEMORY], size[CPU])).without(PODS)
        one.report(
            place,
            f"a pod of workload {name!r} ({takes.without(PODS)}) is larger than any node ({largest}); make it smaller, "
            "a node larger, or write `allow_unplaceable: true` under `expect`",
        )


def _nodes(one: Content) -> None:
    """No two kinds of nodes make a node of one name, or have devices of one class that are not alike."""
    taken: set[str] = set()
    devices: list[Devices] = []
    for place, pool in one.pools:
        if clash := next((name for name in pool.node_names() if name in taken), None):
            one.report(place, f"node {clash!r} comes twice; give one of them another prefix")
        taken |= set(pool.node_names())
        devices += pool.devices
        if clash := find_clash(devices):
            one.report((*place, "devices"), clash)
            break


def _groups(one: Content) -> None:
    """PodGroups have the priority of their pods: otherwise the scheduler refuses them in each of its cycles."""
    named: dict[str, list[Workload]] = {}
    for workload in one.scenario.workload:
        group = workload.pod.get("schedulingGroup")
        # A class that the file names itself may have any priority.
        if isinstance(group, Mapping) and "priorityClassName" not in workload.pod:
            named.setdefault(str(group.get("podGroupName")), []).append(workload)
    for name in one.file.objects:
        item = one.scenario.objects[name]
        spec = item.manifest.get("spec")
        if item.kind != POD_GROUP or not isinstance(spec, Mapping):
            continue
        has = str(spec.get("priorityClassName") or "")
        for workload in named.get(item.object_name, ()):
            wanted = name_priority_class(workload.priority) if workload.priority else ""
            if has != wanted:
                way_out = f"write `priorityClassName: {wanted}`" if wanted else "remove its `priorityClassName`"
                message = f"the PodGroup has another priority than the pods of workload {workload.name!r}; {way_out}"
                one.report(("objects", name, "spec"), message, of_key=True)


def _manifests(one: Content) -> None:
    """No part that is written as Kubernetes has it is one that the API server refuses."""
    found = [check_fields(one.data.get(key), (key,)) for key in ("nodes", "workload")]
    for step in one.steps:
        if isinstance(step.action, AddNodes):
            found.append(check_fields(one.data["steps"][step.number - 1][step.kind], step.place()))
    kinds = [each.defined_kind for each in one.scenario.objects.values() if each.kind == DEFINITION]
    found += [check_manifest(one.data["objects"][name], kinds, ("objects", name)) for name in one.file.objects]
    for place, message in chain.from_iterable(found):
        one.report(place, f"{spell(place, '')}: {message}")


def _releases(one: Content) -> None:
    """Nobody asks for plans or reservations of a scheduler that does not know them."""
    releases = list(actions_of(one.scenario.steps, Release))
    if "scheduler" in one.data and isinstance(one.steps[0].action, Release):
        one.report(("scheduler",), "the first step releases another; remove one of the two", of_key=True)
    for place, release in _written_releases(one):
        of_scheduler = release.values.get("scheduler")
        if isinstance(of_scheduler, Mapping) and "featureGates" in of_scheduler and one.scenario.features.gates:
            message = "the scenario's own `featureGates` apply to its scheduler too; move these there"
            one.report((*place, "values", "scheduler", "featureGates"), message, of_key=True)
    if not any(release.optimizer for release in releases):
        if "optimizer" in one.data:
            message = f"the scheduler runs without the optimiser; {_OPTIMISER}"
            one.report(("optimizer",), message, of_key=True)
        for step in one.steps:
            if isinstance(step.action, AskForPlan | Pack):
                one.report(step.place(), f"nobody makes plans; {_OPTIMISER}", of_key=True)
    if all(release.profile not in RESERVING_PROFILES for release in releases):
        known = " or ".join(RESERVING_PROFILES)
        message = f"the scheduler's profile {releases[0].profile} does not know reservations; choose {known}"
        for name in one.file.objects:
            if one.scenario.objects[name].kind == "Reservation":
                one.report(("objects", name, "kind"), message)


def _written_releases(one: Content) -> Iterator[tuple[Where, Release]]:
    """Yield the releases that are written down, and where: that of `scheduler` is no step of the file."""
    if "scheduler" in one.data:
        yield ("scheduler",), one.file.scheduler
    yield from ((step.place(), step.action) for step in one.steps if isinstance(step.action, Release))


def _expectations(one: Content) -> None:
    """Something is expected, of resources that there are, and of metrics that are measured."""
    known = names_of([*(one.given or ()), *(pool.resources for pool in one.scenario.pools)])
    classes = sorted({*one.written_classes, *(each.class_name for each in one.scenario.devices)})
    known = (*known, *(f"{DEVICES}{name}" for name in classes))
    for place, moment in one.moments:
        expected = [each.name for each in fields(ExpectedMoment) if getattr(moment, each.name) is not None]
        since = moment.since if isinstance(moment, Check) else ""
        if expected == ["objects", "that"] and not (moment.objects or moment.that or since):
            one.report(place, f"{spell(place, '')} is empty; fill it or remove it")
        for key, shares in (("utilisation", moment.utilisation), ("utilisation_delta", moment.utilisation_delta)):
            for name in shares or ():
                if name not in known and one.sizes:
                    message = f"no node has {name!r}; known are {', '.join(known)}"
                    one.report((*place, key, name), message, of_key=True)
    if one.file.expect.end.utilisation_delta is not None:
        message = "a change counts from a checkpoint; write a step `check` with `since`"
        one.report(("expect", "end", "utilisation_delta"), message, of_key=True)
    if one.file.expect.metrics and not one.scenario.is_measured:
        one.report(("expect", "metrics"), "no step measures; write `measure: start` and `measure: stop`", of_key=True)


def _window(one: Content) -> None:
    """There is one measured window at most, with a start and a stop."""
    edges = [(step.place(), step.action.edge) for step in one.steps if isinstance(step.action, Measure)]
    for (place, edge), wanted in zip(edges, ("start", "stop"), strict=False):
        if edge != wanted:
            one.report(place, f"here the window should {wanted}; exchange the steps")
    for place, _ in edges[2:]:
        one.report(place, "there is one measured window, and it is over; remove this step")
    if len(edges) == 1:
        one.report(edges[0][0], "the measured window never stops; add `measure: stop`")


def _checkpoints(one: Content) -> None:
    """No two checkpoints have one name, and a check names one before it."""
    every = {each.name for each in actions_of(one.steps, Checkpoint)}
    lines: dict[str, int] = {}
    for step in one.steps:
        match step.action:
            case Checkpoint(name=name) if name in lines:
                message = f"checkpoint {name!r} stands already in line {lines[name]}; choose another name"
                one.report(step.place(), message)
            case Checkpoint(name=name) if name in (END, FAILED):
                message = f"{name!r} is how a scenario itself calls what it ends with; choose another name"
                one.report(step.place(), message)
            case Checkpoint(name=name):
                lines[name] = step.line
            case Check(since=name) if name in every and name not in lines:
                one.report(step.place("since"), f"checkpoint {name!r} comes later; exchange the steps")


def _single_steps(one: Content) -> None:
    """Only one controller's number of pods is changed; a burst's workload is not applied."""
    workloads = {workload.name: workload for workload in one.scenario.workload}
    applied = {name for step in one.steps for _, name, sort in one.uses(step) if sort == "applied"}
    for step in one.steps:
        name = getattr(step.action, "workload", "")
        if isinstance(step.action, Burst) and name in applied:
            message = (
                f"workload {name!r} is applied too, and its controller would take the burst's pods for its own; write "
                "a second workload"
            )
            one.report(step.place("workload"), message)
        if isinstance(step.action, Scale) and name in workloads:
            kind = workloads[name].kind
            if kind not in SCALED:
                message = f"a {kind} has no number of pods to change; scale another workload"
                one.report(step.place("workload"), message)
            if workloads[name].controllers > 1:
                message = (
                    f"{name} has several controllers, and a number of pods is one controller's; scale a workload "
                    "without `controllers`"
                )
                one.report(step.place("workload"), message)


def _names(one: Content) -> None:
    """Nothing is named that the scenario lacks: in steps, expectations and `catch`."""
    scenario = one.scenario
    workloads = [workload.name for workload in scenario.workload]
    phased = [*scenario.objects, *(each.plan for each in actions_of(one.steps, AskForPlan))]
    owners = list(dict.fromkeys(name for each in actions_of(one.steps, Replay) for name in each.owners))
    pods = [*scenario.pods_by_name, *owners]
    checkpoints = [each.name for each in actions_of(one.steps, Checkpoint)]
    known: Mapping[Sort, tuple[str, Sequence[str]]] = {
        "applied": ("workload or object", [*workloads, *scenario.objects, *owners]),
        "controller": ("workload", workloads),
        "template": ("workload", workloads),
        "pods": ("workload", pods),
        "phased": ("object", phased),
        "described": ("workload or object", [*workloads, *phased]),
        "node": ("node", scenario.node_names),
        "checkpoint": ("checkpoint", checkpoints),
    }
    for place, name, sort in _list_uses(one):
        noun, names = known[sort]
        if name not in names:
            message = f"no {noun} is called {name!r}; {suggest_known(name, names, 12)}"
            exact = _refine(one.data, place, name)
            one.report(exact, message, of_key=exact[-1] == name)


def _refine(data: Any, place: Where, name: str) -> Where:
    """Return where exactly a name stands in a place: as a key, or in a list."""
    for key in place:
        if isinstance(data, list) and isinstance(key, int):
            data = data[key]
        else:
            data = data.get(key, {}) if isinstance(data, dict) else {}
    if isinstance(data, dict) and name in data:
        return (*place, name)
    for number, inner in enumerate(data if isinstance(data, list) else ()):
        if inner == name:
            return (*place, number)
        if isinstance(inner, list) and name in inner:
            return (*place, number, inner.index(name))
    return place


def _list_uses(one: Content) -> Iterator[tuple[Where, str, Sort]]:
    for step in one.steps:
        for place, name, sort in one.uses(step):
            yield step.place(*place), name, sort
    for number, item in enumerate(one.file.catch):
        if item.what == "describe":
            yield ("catch", number, "describe"), item.of, "described"
    for base, moment in one.moments:
        for name in moment.pending or ():
            yield (*base, "pending", name), name, "pods"
        for name, nodes in (moment.placements or {}).items():
            yield (*base, "placements", name), name, "pods"
            for node in nodes:
                yield (*base, "placements", name), node, "node"
        for name in chain.from_iterable(moment.groups or ()):
            yield (*base, "groups"), name, "pods"
        for name, expected in moment.objects.items():
            place = (*base, "objects", name)
            # Of a Kind/name the cluster alone knows whether it is there.
            if "/" not in name:
                yield place, name, "phased"
            if "nodeName" in expected:
                yield (*place, "nodeName"), expected["nodeName"], "node"
            for owner in expected.get("currentOwners", ()):
                yield (*place, "currentOwners", owner), owner, "pods"


def _device_classes(one: Content) -> None:
    """No object is a device class that nodes bring, or serves an extended resource that one of those serves."""
    made = {each["metadata"]["name"]: each["spec"] for each in make_classes(one.scenario.devices)}
    serving = {spec["extendedResourceName"]: name for name, spec in made.items() if "extendedResourceName" in spec}
    for name in one.file.objects:
        own = one.scenario.objects[name].object_name
        if own not in one.written_classes:
            continue
        resource = one.written_classes[own].get("extendedResourceName", "")
        if own in made:
            message = f"`devices` of nodes bring device class {own!r} already; choose another name"
            one.report(("objects", name), message, of_key=True)
        elif resource in serving:
            message = (
                f"device class {serving[resource]!r} of the nodes serves {resource!r} already, and Kubernetes takes "
                "the latest class; leave `resource` out of `devices`, or this class's `extendedResourceName`"
            )
            one.report(("objects", name, "spec", "extendedResourceName"), message)


def _devices(one: Content) -> None:
    """No step changes devices that the file does not give to the node."""
    described = one.scenario.devices_by_node
    known = {name: list(device_names(devices)) for name, devices in described.items()}
    for step in one.steps:
        if not isinstance(step.action, TaintDevices | RemoveDevices | RestoreDevices):
            continue
        for node in step.action.nodes:
            if node in one.scenario.node_names and node not in known:
                message = f"node {node!r} has no devices; write `devices` under `nodes`, or name another node"
                one.report(_refine(one.data, step.place() if step.action.bare else step.place("nodes"), node), message)
            for device in getattr(step.action, "devices", ()):
                if node in known and device not in known[node]:
                    message = f"node {node!r} has no device {device!r}; {suggest_known(device, known[node], 12)}"
                    one.report(_refine(one.data, step.place("devices"), device), message)


def _claims(one: Content) -> None:
    """No pod that claims devices is bound past the scheduler without them: they would look free."""
    claiming = {each.name for each in one.scenario.workload if (each.pod or {}).get("resourceClaims")}
    for step in one.steps:
        for name, places in step.action.nodes.items() if isinstance(step.action, Place) else ():
            if name in claiming and any(isinstance(place, str) and place for place in places):
                message = (
                    f"pods of {name!r} claim devices; write {{node: ..., devices: [...]}} for each, or `apply` them"
                )
                one.report(step.place(name), message, of_key=True)


def _order(one: Content) -> None:
    """Nothing is used before it is applied, applied twice, or used when deleted; all is used."""
    known = {*(workload.name for workload in one.scenario.workload), *one.scenario.objects}
    if not all(name in known for each in actions_of(one.steps, Apply) for name in each.names):
        # What an unknown one was meant to be would be called unused, and missing, too.
        return
    there, used, demand = dict[str, int](), set[str](), Demand(one.scenario.pods_by_name)
    for step in one.steps:
        for place, name, sort in one.uses(step):
            if sort in ("node", "template", "checkpoint"):
                continue
            message = ""
            if isinstance(step.action, Apply | Place):
                if name in there and name not in getattr(step.action, "changes", ()):
                    message = f"{name!r} was applied already in line {there[name]}; delete it before"
            elif name not in there:
                message = f"{name!r} is not there at this step; apply it before"
            if message:
                one.report(_refine(one.data, step.place(*place), name), message)
        step.action.ask(demand)
        _check_devices_asked_for(one, step, demand)
        there = {name: there.get(name, step.line) for name in demand}
        used |= there.keys()
        match step.action:
            case Wait(for_=what, count=None, of=of) if what not in ("gone", "phase"):
                if not sum(demand[name] for name in of or demand):
                    one.report(step.place(), "the steps before have asked for no pod; write `count`, or wait later")
    for number, workload in enumerate(one.file.workload):
        if workload.name not in used:
            message = f"workload {workload.name!r} is used by no step; apply it or remove it"
            one.report(("workload", number), message)
    for name in one.file.objects.keys() - used:
        one.report(("objects", name), f"object {name!r} is used by no step; apply it or remove it", of_key=True)


def _check_devices_asked_for(one: Content, step: Step, demand: Demand) -> None:
    """Report a wait for pods that ask for more devices, as extended resources, than all nodes have together."""
    match step.action:
        case Wait(for_="bound" | "ready", count=None, of=of) if not one.file.expect.allow_unplaceable:
            room = add_up(
                Resources({n: k * pool.count for n, k in pool.offered_devices.items()}) for _, pool in one.pools
            )
            asked: Counter[str] = Counter()
            for workload in one.scenario.workload:
                # Pods that are done leave their devices to the next.
                if (
                    workload.name in (of or demand)
                    and workload.kind not in ("Job", "CronJob")
                    and workload.runs_s is None
                ):
                    asked.update({n: k * demand[workload.name] for n, k in workload.takes.items() if n in room})
            for name in (each for each in asked if asked[each] > room[each]):
                message = f"the pods ask for {asked[name]} {name}, and all nodes have {room[name]}; write `count`"
                one.report(step.place(), message)


def _order_of_nodes(one: Content) -> None:
    """No step uses a node before it is added, or after it was removed."""
    known = set(one.scenario.node_names)
    there = known - {name for added in actions_of(one.steps, AddNodes) for name in added.pool.node_names()}
    for step in one.steps:
        for place, name, sort in one.uses(step):
            if sort == "node" and name in known - there:
                message = f"node {name!r} is not there at this step; add it before, or later remove"
                one.report(_refine(one.data, step.place(*place), name), message)
        if isinstance(step.action, AddNodes):
            there |= set(step.action.pool.node_names())
        if isinstance(step.action, RemoveNodes):
            there -= set(step.action.nodes)


def _counts(one: Content) -> None:
    """No expectation counts more pods than the scenario has."""
    kinds = {each.kind for each in one.scenario.objects.values()} | {each.kind for each in one.scenario.workload}
    # How many pods these make is known only when they run.
    scaled = not kinds.isdisjoint({"HorizontalPodAutoscaler", "CronJob"})
    if scaled or list_replayed_nodes(one.steps) or any(actions_of(one.steps, Replay)):
        return
    _, most = count_most_pods([step.action for step in one.steps], one.scenario.pods_by_name)
    by_priority: Counter[int] = Counter()
    for workload in one.scenario.workload:
        by_priority[workload.priority] += most.get(workload.name, 0)

    def check(place: Where, whose: str, wanted: int, have: int) -> None:
        if wanted > have:
            one.report(place, f"{whose} has only {have} pods; expect no more of them")

    for base, moment in one.moments:
        if moment.placed:
            check((*base, "placed"), "the scenario", moment.placed.min or 0, sum(most.values()))
        for priority, bounds in (moment.placed_by_priority or {}).items():
            place = (*base, "placed_by_priority", str(priority))
            check(place, f"priority {priority}", bounds.min or 0, by_priority[priority])
        placements = {name: len(nodes) for name, nodes in (moment.placements or {}).items()}
        for key, counts in (("pending", moment.pending or {}), ("placements", placements)):
            for name, count in counts.items():
                check((*base, key, name), f"workload {name!r}", count, most.get(name, count))
