"""The step that overloads a service: its words and rules are the settings' own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.declaration import make_object_schema
from stowage_testbed.hpa.settings import FULL, Autoscaling, Find, RecoverySettings
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.measuring import Overload

SCENARIO = """\
version: 1
name: web/overloaded
description: A service is overloaded.
nodes:
  - {{count: 1, cpu: "4", memory: 8G}}
steps:
  - overload: {step}
expect: {{end: {{pending: {{}}}}}}
"""


def loaded(tmp_path: Path, step: str) -> Scenario:
    file = tmp_path / "web" / "overloaded.yaml"
    file.parent.mkdir()
    file.write_text(SCENARIO.format(step=step))
    return load_file(file)[0]


def test_the_schema_has_every_setting_with_its_default() -> None:
    """`stowage scenario schema` is where an author looks them up."""
    words: dict[str, Any] = make_object_schema(Overload)["properties"]
    documented = {
        name: {key: inner["default"] for key, inner in word["properties"].items()}
        if "properties" in word
        else word["default"]
        for name, word in words.items()
        if name != "outcome"
    }

    assert documented == asdict(FULL)


def test_a_file_s_settings_are_the_step_s_and_the_rest_are_defaults(
    tmp_path: Path,
) -> None:
    written = "{autoscaling: {max_replicas: 5}, find: {start: 2}, outcome: recovered}"

    _, step, _ = loaded(tmp_path, written).steps

    assert isinstance(step.action, Overload)
    assert step.action.outcome == "recovered"
    assert step.action.settings == RecoverySettings(
        autoscaling=Autoscaling(max_replicas=5), find=Find(start=2)
    )


@pytest.mark.parametrize(
    ("step", "issue"),
    [
        ("{find: {start: 9, most: 8}}", "has no level"),
        ("{hold: {total_s: 5}}", "has no window"),
        ("{autoscaling: {min_replicas: 21}}", "min_replicas <= max_replicas needed"),
        ("{service: {request_milli: 600}}", "must be above 0, in this order"),
        ("{timing: {resolution_s: 5}}", "resolution_s"),
        ("{find: {begin: 1}}", "begin"),
        ("{outcome: fine}", "outcome"),
    ],
)
def test_settings_that_allow_no_run_are_issues_of_the_file(
    tmp_path: Path, step: str, issue: str
) -> None:
    """Not errors in the middle of a run, when the cluster is up."""
    with pytest.raises(ScenarioIssuesError, match=issue) as caught:
        loaded(tmp_path, step)

    assert [found.line for found in caught.value.issues] == [7]
