"""From a file to an arm; every issue of the file is found before any is reported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stowage_testbed.compare.arm_file.model import ArmFile
from stowage_testbed.compare.arm_file.rules import configuration_text, rule_issues
from stowage_testbed.compare.arm_file.schema import validator
from stowage_testbed.compare.arms.account import STOCK_SCHEDULER, Rights
from stowage_testbed.compare.errors import ArmFileIssuesError, ArmFileUnreadableError
from stowage_testbed.run.arm import ArmSettings, PodOverrides
from stowage_testbed.scenario.document import compose, read
from stowage_testbed.scenario.errors import Issue
from stowage_testbed.scenario.issues import schema_issues


def load_arm_file(path: Path) -> ArmFile:
    """Return the scheduler that a file describes.

    Raises
    ------
    ArmFileFaultsError
        With every issue of the file: its line, its column and the way out.
    ArmFileUnreadableError
        There is no such file, or it is not text.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ArmFileUnreadableError(path, str(error.strerror)) from error
    except UnicodeDecodeError as error:
        raise ArmFileUnreadableError(path, "it is not UTF-8 text") from error
    # Programs run in folders of their own.
    folder = path.resolve().parent
    root, issues = compose(path, text)
    if root is None:
        raise ArmFileIssuesError(issues)
    document = read(root)
    found = list(schema_issues(list(validator().iter_errors(document.data))))
    data = document.data if isinstance(document.data, Mapping) else {}
    found += rule_issues(data, folder)
    for one in found:
        at = document.mark(one.place, of_key=one.of_key)
        issues.append(Issue(path, at.line, at.column, one.message))
    if issues:
        raise ArmFileIssuesError(issues)
    return _arm(path, data, folder)


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
