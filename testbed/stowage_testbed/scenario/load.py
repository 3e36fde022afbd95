"""From files to scenarios; every issue of a file is found before any is reported."""

import difflib
import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from stowage_testbed.base import layout
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cluster.feature_gates import make_gates
from stowage_testbed.scenario.arrivals.recorded import make_recorded_replay
from stowage_testbed.scenario.instances import generate
from stowage_testbed.scenario.lint import Content, lint
from stowage_testbed.scenario.manifest_rules import check_manifest
from stowage_testbed.scenario.model import Scenario, make_gang_features
from stowage_testbed.scenario.objects import ObjectSpec, is_file, read_objects
from stowage_testbed.scenario.reading import describe, read, spell
from stowage_testbed.scenario.scenario_file import ScenarioFile
from stowage_testbed.scenario.steps.action import Action, Step, Where
from stowage_testbed.scenario.steps.applying import ALL, Apply
from stowage_testbed.scenario.steps.arriving import Burst
from stowage_testbed.scenario.steps.checking import END, Checkpoint
from stowage_testbed.scenario.steps.releasing import Release
from stowage_testbed.scenario.steps.replaying import Replay
from stowage_testbed.scenario.yaml_file import (
    Document,
    Issue,
    Parameters,
    ScenarioIssuesError,
    check_parameters,
    compose,
    read_node,
    read_variant_values,
)
from stowage_testbed.trace.format import SUFFIXES
from stowage_testbed.trace.reading import Trace, scan_trace

MANIFESTS = "manifests"  # Name of folders that hold no scenarios
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

    Raises a ScenarioIssuesError with every issue of the file, and a StowageError if it cannot be read.
    """
    return load_files([path])


def load_folder(folder: Path) -> tuple[Scenario, ...]:
    """Return every scenario below a folder, sorted by file.

    Raises a ScenarioIssuesError with every issue of every file, and a StowageError if there is none.
    """
    paths = find_files(folder)
    if not paths:
        raise StowageError(f"cannot read {folder}: it is no folder with *.yaml files{WAY_OUT}")
    return load_files(paths)


def find_files(folder: Path) -> list[Path]:
    """Return the files of scenarios below a folder, without folders called `MANIFESTS`."""
    return sorted(path for path in folder.rglob("*.yaml") if MANIFESTS not in path.relative_to(folder).parts)


def load_files(paths: Iterable[Path]) -> tuple[Scenario, ...]:
    """Return the scenarios of some files; issues of all of them are raised at once, as a ScenarioIssuesError."""
    scenarios: list[Scenario] = []
    issues: list[Issue] = []
    for path in paths:
        try:
            scenarios += _read_file(path)
        except ScenarioIssuesError as error:
            issues += error.issues
    if issues:
        raise ScenarioIssuesError(issues)
    return tuple(scenarios)


def read_filled(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as its file has it, with parameters filled in."""
    path = scenario.path or Path()
    root = compose(path, WAY_OUT)
    parameters = Parameters(read_variant_values(root)[scenario.variant])
    return dict(read_node(path, root, [], parameters).data)


def _read_file(path: Path) -> list[Scenario]:
    root = compose(path, WAY_OUT)
    issues, made, used = list[Issue](), list[Scenario | None](), set[str]()
    try:
        whole = read_node(path, root, issues)
        if _is_scenario(whole):
            for variant, values in read_variant_values(root).items():
                run = read_node(path, root, issues, Parameters(values, used))
                made.append(_ScenarioReader(run).make(variant))
            check_parameters(whole, used)
            name, expected = whole.data.get("name"), "/".join(path.with_suffix("").parts[-2:])
            if isinstance(name, str) and name != expected:
                whole.report(("name",), f"name {name!r} does not match the file's path; call it {expected!r}")
    except RecursionError:
        issues = [Issue(path, 1, 1, "this is nested too deeply, or an alias contains itself; write it flatter")]
    if issues:
        raise ScenarioIssuesError(issues)
    return [one for one in made if one]


def _is_scenario(document: Document) -> bool:
    """Return whether it is a scenario of this version of the language, and report it if not."""
    data = document.data
    if not isinstance(data, dict):
        message = f"the scenario must be a mapping, not {describe(data)}; start it with `name:` and `description:`"
        document.report((), message)
        return False
    expect = data.get("expect")
    old = [key for key in ("deterministic", "optimizer") if isinstance(expect, dict) and key in expect]
    if "steps" in data or not old:
        return True
    document.report(("expect", old[0]), _OLD_FORM, of_key=True)
    return False


class _ScenarioReader:
    """One run of a file, with the files that its steps name."""

    file: ScenarioFile

    def __init__(self, document: Document) -> None:
        self._document = document
        self._report = document.report
        self._folder = document.path.parent
        self._objects: dict[str, ObjectSpec] = {}
        self._traces: dict[str, Trace | None] = {}

    def make(self, variant: str | None) -> Scenario | None:
        """Return the scenario; None where the file cannot be read."""
        before = len(self._document.issues)
        file = read(ScenarioFile, self._document, "the scenario")
        if file is None:
            return None
        self.file = file
        for name, plain in file.objects.items():
            manifest = {**plain, "metadata": {"name": name, **plain.get("metadata", {})}}
            self._objects[name] = ObjectSpec(name, manifest, f"line {self._document.line(('objects', name))}")
        nodes, drawn = file.nodes, None
        if file.instance:
            pool, drawn = generate(file.instance)
            nodes = (pool,)
        bursts = {one.workload for one in file.steps if isinstance(one, Burst)}
        names = [one.name for one in (drawn or file.workload) if one.name not in bursts]
        steps = tuple(self._make_step(number, action, names) for number, action in enumerate(file.steps, 1))
        # Nodes of files are known only now.
        count = sum(pool.count for pool in nodes) + sum(one.is_node for one in self._objects.values())
        first = () if isinstance(file.steps[0], Release) else (Step(0, 0, file.scheduler),)
        end = Step(len(steps) + 1, 0, Checkpoint(END, file.expect.end))
        changed = file.variants.get(variant or "")
        needed = make_gang_features([one.gang for one in file.workload if one.gang])
        same = {one.name: getattr(file, one.name) for one in fields(Scenario) if hasattr(file, one.name)}
        own = {
            "nodes": nodes,
            "workload": drawn or tuple(one.expect_on(count) for one in file.workload),
            "variant": variant,
            "labels": file.labels if changed is None or changed.labels is None else changed.labels,
            "objects": self._objects,
            "steps": (*first, *steps, end),
            "parameters": {name: one.default for name, one in file.parameters.items()}
            | dict(changed.set if changed else {}),
            "features": needed | make_gates(file.featureGates, file.apiGroups),
            "path": self._document.path,
        }
        scenario = Scenario(**same | own)
        # What a broken file of another kind has cannot be known.
        whole = len(self._document.issues) == before
        lint(Content(scenario, file, self._document.data, steps, whole, self._report))
        return scenario

    def _make_step(self, number: int, action: Action, controllers: list[str]) -> Step:
        """Return a step with what the files that it names have."""
        place = ("steps", number - 1, action.kind)
        if isinstance(action, Apply):
            changes: dict[str, ObjectSpec] = {}
            names = controllers if action.names == (ALL,) else self._expand(action.names, place, changes)
            action = replace(action, names=tuple(names), changes=changes)
        elif isinstance(action, Replay):
            action = self._replay(action, place)
        return Step(number, self._document.line(place[:2]), action)

    def _expand(self, names: tuple[str, ...], place: Where, changes: dict[str, ObjectSpec]) -> Iterator[str]:
        """Yield names with those of the objects in files, which are taken along; earlier ones go into ``changes``."""
        workloads = {one.name for one in self.file.workload}
        for name in names:
            if not is_file(name):
                yield name
                continue
            taken = workloads | self._objects.keys()
            try:
                found = read_objects(name, self._folder, taken, self._objects)
            except StowageError as error:
                self._report(place, str(error))
                continue
            for one in found:
                for at, message in check_manifest(one.manifest, ()):
                    self._report(place, f"{one.place}: {spell(at, '')}: {message}")
            changes.update({one.name: one for one in found if one.name in self._objects})
            self._objects |= {one.name: one for one in found if one.name not in self._objects}
            yield from (one.name for one in found)

    def _replay(self, action: Replay, place: Where) -> Replay:
        if action.file not in self._traces:
            self._traces[action.file] = self._read_trace(action.file, (*place, "file"))
        if (trace := self._traces[action.file]) is None:
            return action
        recorded = make_recorded_replay(trace, speed=action.speed, limit=action.limit)
        if self.file.nodes or self.file.instance or any(one.is_node for one in self._objects.values()):
            recorded = recorded.without_nodes()
            if action.placed == "as-recorded":
                message = "pods can be placed as recorded where the nodes are the trace's; leave out `placed`, or the "
                self._report(place, f"{message}scenario's own `nodes`")
        return replace(action, recorded=recorded)

    def _read_trace(self, file: str, place: Where) -> Trace | None:
        if not file.endswith(SUFFIXES):
            message = f"{file} is not one of {', '.join(SUFFIXES)}; `stowage record` writes such a file, or write a"
            self._report(place, f"{message} `burst`")
            return None
        try:
            trace, issues = scan_trace(self._folder / file)
        except InputError as error:
            self._report(place, f"cannot read {file}: {error}; name the file of a trace, relative to this one")
            return None
        self._document.issues += [Issue(self._folder / file, line, 1, message) for line, message in issues]
        return None if issues else trace


def select(asked: Sequence[str], *, folder: Path, labels: Iterable[str] = ()) -> tuple[Scenario, ...]:
    """Return the scenarios that are meant, each once, in the order they are asked for.

    They are files, folders, names, or patterns of names, as in ``paper/*``; nothing means the whole folder, or the
    shipped one where there is none. With labels, only scenarios that have one of these. Raises a StowageError if
    nothing has a name, and as `load_folder` does.
    """
    found: dict[str, Scenario] = {}
    for word in asked or (str(folder if folder.is_dir() else find_shipped_folder()),):
        for scenario in _find(word, folder):
            found.setdefault(scenario.scenario_id, scenario)
    wanted = set(labels)
    return tuple(scenario for scenario in found.values() if not wanted or wanted & set(scenario.labels))


def _find(word: str, folder: Path) -> tuple[Scenario, ...]:
    path = Path(word)
    if path.is_dir():
        return load_folder(path)
    if path.suffix in {".yaml", ".yml"}:
        return load_file(path)
    names: list[str] = []
    shipped = find_shipped_folder()
    own = [folder] if any(folder.rglob("*.yaml")) else []
    for place in [*own, *([] if folder.is_dir() and folder.samefile(shipped) else [shipped])]:
        catalogue = load_folder(place)
        if meant := tuple(one for one in catalogue if fnmatch.fnmatchcase(one.scenario_id, word) or one.name == word):
            return meant
        names += [one.scenario_id for one in catalogue]
    close = difflib.get_close_matches(word, names)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise StowageError(
        f"no scenario is called {word!r}; {hint}`stowage scenario list` prints those "
        "of the folder, with --shipped those that come with Stowage"
    )


def find_shipped_folder() -> Path:
    """Return the folder of the scenarios that come with Stowage."""
    return layout.shipped("scenarios")
