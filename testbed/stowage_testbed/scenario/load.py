"""From files to scenarios; every issue of a file is found before any is reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from stowage_testbed.base.errors import StowageError
from stowage_testbed.scenario.document import Document, compose, read_node
from stowage_testbed.scenario.draft import Draft, make_draft
from stowage_testbed.scenario.errors import Issue, ScenarioIssuesError
from stowage_testbed.scenario.file_rules import RULES
from stowage_testbed.scenario.implied_steps import add_ends, imply_steps
from stowage_testbed.scenario.issues import DocumentIssue, translate_errors
from stowage_testbed.scenario.model import Scenario, Workload
from stowage_testbed.scenario.parameters import Substitution, check_parameters, read_variant_values, substitute
from stowage_testbed.scenario.scenario_file import Variant
from stowage_testbed.scenario.schema import make_validator
from stowage_testbed.scenario.steps.action import Step

MANIFESTS = "manifests"
"""Name of folders that hold no scenarios."""


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
        raise _make_error(folder, "it is no folder with *.yaml files")
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


def _read_file(path: Path) -> tuple[tuple[Scenario, ...], list[Issue]]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise _make_error(path, str(error.strerror)) from error
    except UnicodeDecodeError as error:
        raise _make_error(path, "it is not UTF-8 text") from error
    root, issues = compose(path, text)
    if root is None:
        return (), issues
    drafts: list[tuple[str | None, Draft]] = []
    used: set[str] = set()
    for variant, values in read_variant_values(root).items():
        substitution = Substitution(path, values)
        document = read_node(substitute(root, substitution))
        made, found = _judge(document, path.parent)
        drafts.append((variant, made))
        used |= substitution.used
        issues += [issue for one in made.traces.values() for issue in one.issues]
        issues += [*substitution.issues, *_make_issues(path, document, found)]
    issues += check_parameters(path, root, used)
    issues += _check_name(path, drafts[0][1])
    if issues:
        return (), issues
    return tuple(_make_scenario(path, variant, made) for variant, made in drafts), []


def _make_error(path: Path, cause: str) -> StowageError:
    return StowageError(
        f"cannot read {path}: {cause}; name a scenario file, a folder of them, or a "
        "scenario as `stowage scenario list` prints it"
    )


def _judge(document: Document, folder: Path) -> tuple[Draft, list[DocumentIssue]]:
    found = list(translate_errors(make_validator().iter_errors(document.data)))
    made = make_draft(document, found, folder)
    found += made.step_issues
    found.extend(issue for rule in RULES for issue in rule(made))
    return made, found


def _make_issues(path: Path, document: Document, found: Iterable[DocumentIssue]) -> Iterator[Issue]:
    for issue in found:
        if issue.reported:
            continue
        at = document.mark(issue.place, of_key=issue.of_key)
        yield Issue(path, at.line, at.column, issue.message)


def _check_name(path: Path, made: Draft) -> Iterator[Issue]:
    name = made.valid.get("name")
    expected = "/".join(path.with_suffix("").parts[-2:])
    if name is not None and name != expected and "name" in made.valid:
        at = made.document.mark(("name",))
        message = f"name {name!r} does not match the file's path; call it {expected!r}"
        yield Issue(path, at.line, at.column, message)


def _make_scenario(path: Path, variant: str | None, made: Draft) -> Scenario:
    file = made.file
    by_name = {workload.name: workload for workload in made.workload.values()}
    workload = tuple(by_name[name] for name in file.order or by_name)
    changed = file.variants[variant] if variant else Variant({})
    defaults = {name: one.default for name, one in file.parameters.items()}
    return Scenario(
        name=file.name,
        description=file.description,
        nodes=tuple(made.nodes.values()),
        workload=workload,
        variant=variant,
        source=file.source,
        labels=file.labels if changed.labels is None else changed.labels,
        optimizer=file.optimizer,
        expect=file.expect,
        instance=file.instance,
        objects=made.objects,
        steps=_make_steps(made, workload),
        timeouts=file.timeouts,
        catch=file.catch,
        headlines=file.headlines,
        parameters={**defaults, **changed.set},
        path=path,
    )


def _make_steps(made: Draft, workload: Sequence[Workload]) -> tuple[Step, ...]:
    """Return the steps of a file, with those that it has without writing them."""
    file = made.file
    if made.stepped:
        return add_ends(made.steps, file.scheduler, file.expect)
    return imply_steps(workload, file.arrival, file.expect)
