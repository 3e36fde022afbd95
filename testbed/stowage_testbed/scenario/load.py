"""From files to scenarios; every issue of a file is found before any is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.scenario.arrivals.recorded_making import make_recorded_replay
from stowage_testbed.scenario.errors import Issue, ScenarioIssuesError
from stowage_testbed.scenario.instances import generate
from stowage_testbed.scenario.lint import Content, lint
from stowage_testbed.scenario.model import Scenario, Workload
from stowage_testbed.scenario.objects import ObjectSpec, is_file, make_object_spec, name_again, read_objects
from stowage_testbed.scenario.reading import describe, read
from stowage_testbed.scenario.scenario_file import ScenarioFile
from stowage_testbed.scenario.steps.action import Action, Step
from stowage_testbed.scenario.steps.applying import ALL, Apply, Release
from stowage_testbed.scenario.steps.arriving import Burst, Replay
from stowage_testbed.scenario.steps.waiting import END, Checkpoint
from stowage_testbed.scenario.yaml_file import (
    Document,
    Filling,
    check_parameters,
    compose,
    read_node,
    read_variant_values,
)
from stowage_testbed.trace.format import SUFFIXES
from stowage_testbed.trace.reading import Trace, TraceReader

MANIFESTS = "manifests"
"""Name of folders that hold no scenarios."""

Deadlines = Callable[[Scenario, str, int], float]
"""Gives the deadline in seconds of a kind of step that changes so many nodes."""

WAY_OUT = "; name a scenario file, a folder of them, or a scenario as `stowage scenario list` prints it"
_OLD_FORM = (
    "a scenario has steps; put `version: 1` and "
    "`steps: [{apply-in-turn: all}, {wait: {for: settled, stable_s: 0.3}}, {check: DETERMINISTIC}, "
    "{checkpoint: before}, {release: {profile: optimizer, optimizer: true}}, {pack: {}}, "
    "{check: {since: before, OPTIMIZER}}]` in the place of `order` and `arrival`, with what is "
    "expected of `deterministic` and `optimizer` in the two checks, and write `expect: {end: ...}`"
)


def load_file(path: Path) -> tuple[Scenario, ...]:
    """Return the default run of a scenario file, then its variants.

    Raises
    ------
    ScenarioIssuesError
        With every issue of the file: its line, its column and the way out.
    StowageError
        There is no such file, or it is not text.
    """
    return load_files([path])


def load_folder(folder: Path) -> tuple[Scenario, ...]:
    """Return every scenario below a folder, sorted by file, with its variants.

    Raises
    ------
    ScenarioIssuesError
        With every issue of every file.
    StowageError
        There is no such folder, or it holds no scenario.
    """
    paths = find_files(folder)
    if not paths:
        raise StowageError(f"cannot read {folder}: it is no folder with *.yaml files{WAY_OUT}")
    return load_files(paths)


def find_files(folder: Path) -> list[Path]:
    """Return the files of scenarios below a folder.

    Folders called `MANIFESTS` hold files that scenarios apply.
    """
    return sorted(path for path in folder.rglob("*.yaml") if MANIFESTS not in path.relative_to(folder).parts)


def load_files(paths: Iterable[Path]) -> tuple[Scenario, ...]:
    """Return the scenarios of some files; issues of all of them are reported at once.

    Raises
    ------
    ScenarioIssuesError
        With every issue of every file.
    """
    scenarios: list[Scenario] = []
    issues: list[Issue] = []
    for path in paths:
        found, wrong = _read_file(path)
        scenarios.extend(found)
        issues.extend(wrong)
    if issues:
        raise ScenarioIssuesError(issues)
    return tuple(scenarios)


def read_filled(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as its file has it, with parameters filled in."""
    path = scenario.path or Path()
    root, _ = compose(path, WAY_OUT)
    if root is None:
        raise StowageError(f"{path} has changed since it was read; try again")
    filled = Filling(path, read_variant_values(root)[scenario.variant]).fill(root)
    return dict(read_node(path, filled).data)


def add_ends(written: Iterable[Step], scheduler: Release | None, end: Checkpoint) -> tuple[Step, ...]:
    """Return the steps of a file with the release before them, and the check of the end."""
    steps = tuple(written)
    first = () if scheduler is None else (Step(0, 0, scheduler),)
    return (*first, *steps, Step(len(steps) + 1, 0, end))


def _read_file(path: Path) -> tuple[tuple[Scenario, ...], list[Issue]]:
    root, issues = compose(path, WAY_OUT)
    if root is None:
        return (), issues
    try:
        whole = read_node(path, root)
        if old := _find_old_form(whole):
            return (), [old]
        made: list[Scenario | None] = []
        used: set[str] = set()
        for variant, values in read_variant_values(root).items():
            filling = Filling(path, values)
            document = read_node(path, filling.fill(root))
            scenario, found = _read_document(document, variant)
            made.append(scenario)
            used |= filling.used
            issues += [*filling.issues, *found]
        issues += [*check_parameters(whole, used), *_check_name(whole)]
    except RecursionError:
        issues = [Issue(path, 1, 1, "this is nested too deeply, or an alias contains itself; write it flatter")]
    return (() if issues else tuple(one for one in made if one)), issues


def _find_old_form(document: Document) -> Issue | None:
    data = document.data
    if not isinstance(data, dict):
        message = f"the scenario must be a mapping, not {describe(data)}; start it with `name:` and `description:`"
        return document.issue((), message)
    expect = data.get("expect")
    old = [key for key in ("deterministic", "optimizer") if isinstance(expect, dict) and key in expect]
    if "steps" in data or not old:
        return None
    return document.issue(("expect", old[0]), _OLD_FORM, of_key=True)


def _check_name(document: Document) -> Iterator[Issue]:
    name = document.data.get("name")
    expected = "/".join(document.path.with_suffix("").parts[-2:])
    if isinstance(name, str) and name != expected:
        message = f"name {name!r} does not match the file's path; call it {expected!r}"
        yield document.issue(("name",), message)


@dataclass(slots=True)
class _Making:
    """What is made of a file that could be read, and what is wrong with it."""

    document: Document
    file: ScenarioFile
    objects: dict[str, ObjectSpec] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)
    traces: dict[str, Trace | None] = field(default_factory=dict)
    _files: dict[str, list[ObjectSpec]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.document.path.parent

    def add(self, place: tuple[str | int, ...], message: str, *, of_key: bool = False) -> None:
        self.issues.append(self.document.issue(place, message, of_key=of_key))

    def take_objects(self) -> None:
        for name, plain in self.file.objects.items():
            self.objects[name] = make_object_spec(name, plain, self.document.line(("objects", name)))

    def make_steps(self, controllers: list[str]) -> list[Step]:
        """Return the steps with what the files that they name have."""
        steps = []
        for number, action in enumerate(self.file.steps, start=1):
            place = ("steps", number - 1, action.kind)
            made: Action = action
            if isinstance(action, Apply):
                changes: dict[str, ObjectSpec] = {}
                names = tuple(self._expand(action.names, place, controllers, changes))
                made = replace(action, names=names, changes=changes)
            elif isinstance(action, Replay):
                made = self._replay(action, place)
            steps.append(Step(number, self.document.line(("steps", number - 1)), made))
        return steps

    def _expand(
        self,
        names: tuple[str, ...],
        place: tuple[str | int, ...],
        controllers: list[str],
        changes: dict[str, ObjectSpec],
    ) -> Iterator[str]:
        """Yield names with those of the objects in files, which are taken along; earlier ones go into ``changes``."""
        if names == (ALL,):
            yield from controllers
            return
        taken = {*(one.name for one in self.file.workload), *self.objects}
        for name in names:
            if not is_file(name):
                yield name
                continue
            try:
                if name in self._files:
                    found = name_again(self._files[name], taken)
                else:
                    found = self._files[name] = read_objects(name, self.folder, taken, self.objects)
            except StowageError as error:
                self.add(place, str(error))
                continue
            changes.update({one.name: one for one in found if one.name in self.objects})
            self.objects |= {one.name: one for one in found if one.name not in self.objects}
            yield from (one.name for one in found)

    def _replay(self, action: Replay, place: tuple[str | int, ...]) -> Replay:
        trace = self.traces[action.file] if action.file in self.traces else self._read_trace(action.file, place)
        self.traces[action.file] = trace
        if trace is None:
            return action
        recorded = make_recorded_replay(trace, speed=action.speed, limit=action.limit)
        if self.file.nodes or self.file.instance or any(one.is_node for one in self.objects.values()):
            recorded = recorded.without_nodes()
            if action.placed == "as-recorded":
                self.add(
                    place,
                    "pods can be placed as recorded where the nodes are the trace's; leave out `placed`, or the "
                    "scenario's own `nodes`",
                )
        return replace(action, recorded=recorded)

    def _read_trace(self, file: str, place: tuple[str | int, ...]) -> Trace | None:
        path, place = self.folder / file, (*place, "file")
        if not file.endswith(SUFFIXES):
            known = ", ".join(SUFFIXES)
            self.add(place, f"{file} is not one of {known}; `stowage record` writes such a file, or write a `burst`")
            return None
        try:
            reader = TraceReader(path)
            lines = tuple(reader)
        except InputError as error:
            self.add(place, f"cannot read {file}: {error}; name the file of a trace, relative to this one")
            return None
        self.issues += [Issue(path, one.line, 1, one.message) for one in reader.issues]
        return None if reader.issues else Trace(reader.header, lines, reader.remark)


def _read_document(document: Document, variant: str | None) -> tuple[Scenario | None, list[Issue]]:
    file, issues = read(ScenarioFile, document, "the scenario")
    if file is None:
        return None, issues
    making = _Making(document, file)
    making.take_objects()
    nodes, workload = _make_world(file)
    bursts = {one.workload for one in file.steps if isinstance(one, Burst)}
    written = making.make_steps([one.name for one in workload if one.name not in bursts])
    if file.instance is None:
        # Those of files are known only now.
        count = sum(pool.count for pool in nodes) + sum(one.is_node for one in making.objects.values())
        workload = tuple(one.make(count) for one in file.workload)
    chosen = isinstance(file.steps[0], Release)
    changed = file.variants.get(variant or "")
    defaults = {name: one.default for name, one in file.parameters.items()}
    scenario = Scenario(
        name=file.name,
        description=file.description,
        nodes=nodes,
        workload=workload,
        variant=variant,
        source=file.source,
        labels=file.labels if changed is None or changed.labels is None else changed.labels,
        optimizer=file.optimizer,
        expect=file.expect,
        instance=file.instance,
        objects=making.objects,
        steps=add_ends(written, None if chosen else file.scheduler, Checkpoint(END, file.expect.end)),
        timeouts=file.timeouts,
        catch=file.catch,
        headlines=file.headlines,
        parameters={**defaults, **(changed.set if changed else {})},
        path=document.path,
    )
    # What a broken file of another kind has cannot be known.
    content = Content(scenario, file, document.data, tuple(written), whole=not making.issues)
    for place, message, of_key in lint(content):
        making.add(place, message, of_key=of_key)
    return scenario, making.issues


def _make_world(file: ScenarioFile) -> tuple[tuple[NodePool, ...], tuple[Workload, ...]]:
    if file.instance is None:
        return file.nodes, tuple(one.make() for one in file.workload)
    spec = file.instance
    drawn = generate(spec.seed, spec.nodes, spec.pods_per_node, spec.priorities, spec.usage)
    return (drawn.node_pool(),), drawn.workload
