"""From a file to an arm; every issue of the file is found before any is reported."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stowage_testbed.compare.arm_file.rules import (
    configuration_text,
    rule_issues,
    validator,
)
from stowage_testbed.compare.arms.account import STOCK_SCHEDULER, Rights
from stowage_testbed.errors import InputError
from stowage_testbed.run.arm import ArmSettings, PodOverrides
from stowage_testbed.scenario.document import compose, read
from stowage_testbed.scenario.errors import Issue
from stowage_testbed.scenario.issues import schema_issues


@dataclass(frozen=True, slots=True)
class ArmFile:
    """A scheduler and how it is started.

    Attributes
    ----------
    binary
        An executable file.
    arguments, environment, configuration, ready
        With placeholders: see `stowage_testbed.compare.arm_file.rules`.
    configuration
        ``None`` for a scheduler without a configuration file.
    settings
        As the user declares them.
    """

    path: Path
    name: str
    binary: Path
    arguments: tuple[str, ...]
    ready: str
    pod_overrides: PodOverrides
    rights: Rights
    settings: ArmSettings
    configuration: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def load_arm_file(path: Path) -> ArmFile:
    """Return the scheduler that a file describes.

    Raises
    ------
    InputError
        With every issue of the file: its line, its column and the way out; or there is
        no such file, or it is not text.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise unreadable(path, str(error.strerror)) from error
    except UnicodeDecodeError as error:
        raise unreadable(path, "it is not UTF-8 text") from error
    # Programs run in folders of their own.
    folder = path.resolve().parent
    root, issues = compose(path, text)
    if root is None:
        raise _issues_error(issues)
    document = read(root)
    found = list(schema_issues(list(validator().iter_errors(document.data))))
    data = document.data if isinstance(document.data, Mapping) else {}
    found += rule_issues(data, folder)
    for one in found:
        at = document.mark(one.place, of_key=one.of_key)
        issues.append(Issue(path, at.line, at.column, one.message))
    if issues:
        raise _issues_error(issues)
    return _arm(path, data, folder)


def unreadable(path: Path, cause: str) -> InputError:
    """Return the error that a file of the arm is not there, or cannot be read."""
    return InputError(f"cannot read the arm file {path}: {cause}")


def _issues_error(issues: Collection[Issue]) -> InputError:
    found = sorted(set(issues))
    noun = "issue" if len(found) == 1 else "issues"
    lines = "\n".join(f"  {issue}" for issue in found)
    return InputError(f"{len(found)} {noun} in the arm file:\n{lines}")


def _arm(path: Path, data: Mapping[str, Any], folder: Path) -> ArmFile:
    return ArmFile(
        path=path,
        name=data["name"],
        binary=folder / data["binary"],
        arguments=tuple(data["arguments"]),
        ready=data["ready"],
        pod_overrides=PodOverrides(
            data["schedulerName"], data.get("labels", {}), data.get("annotations", {})
        ),
        rights=Rights(
            tuple(data.get("clusterRoles", STOCK_SCHEDULER)),
            tuple(data.get("rules", ())),
        ),
        settings=_settings(data.get("settings", {})),
        configuration=configuration_text(data, folder),
        environment=data.get("environment", {}),
    )


def _settings(declared: Mapping[str, Any]) -> ArmSettings:
    return ArmSettings(
        version=declared.get("version", "unknown"),
        qps=declared.get("qps"),
        burst=declared.get("burst"),
        parallelism=declared.get("parallelism"),
        sampled_percent=declared.get("sampledPercent"),
        feature_gates=declared.get("featureGates", {}),
        webhooks=tuple(declared.get("webhooks", ())),
        notes=("its settings are as its file declares them",),
    )
