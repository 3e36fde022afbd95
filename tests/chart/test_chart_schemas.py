"""The schemas by which kubeconform judges the chart know its objects, and no others.

`ci/lint` runs kubeconform on what Helm renders of each file of values in ``ci/``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from chart_render import Manifest, of_kind, render
from jsonschema import Draft7Validator

from stowage_testbed.helm.install import CHART

pytestmark = pytest.mark.chart

ROOT = Path(__file__).parents[2]
CASES = sorted((CHART / "ci").glob("*-values.yaml"))


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the schemas."""
    folder = tmp_path_factory.mktemp("schemas")
    subprocess.run(
        [sys.executable, str(ROOT / "ci/chart_schemas.py"), str(folder)], check=True
    )
    return folder


def schema_of(schemas: Path, manifest: Manifest) -> Any:
    """Return the schema that kubeconform would take."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    file = schemas / (group or version) / f"{manifest['kind'].lower()}_{version}.json"
    return json.loads(file.read_text("utf-8"))


@pytest.mark.parametrize("values", CASES, ids=lambda file: file.stem)
def test_every_object_has_a_schema_that_accepts_it(values: Path, schemas: Path) -> None:
    """An object without one would not be judged."""
    objects = render(values=values) + render(values=values, hooks=True)

    assert objects
    for one in objects:
        Draft7Validator(schema_of(schemas, one)).validate(one)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ("spec", "template", "spec", "nodename"), "a"),
        ("Deployment", ("spec", "replicas"), "one"),
        ("NetworkPolicy", ("spec", "egres"), []),
        ("ServiceMonitor", ("spec", "endpoints", 0, "intervall"), "30s"),
        ("Lease", ("metadata", "label"), {}),
    ],
)
def test_a_misspelt_field_or_a_wrong_type_is_refused(
    kind: str, path: tuple[str | int, ...], value: object, schemas: Path
) -> None:
    """The API server drops an unknown field, with a warning that Helm hardly shows."""
    everything = CHART / "ci/everything-values.yaml"
    (manifest,) = of_kind(render(values=everything), kind)
    broken: Any = deepcopy(manifest)
    inner = broken
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value

    judge = Draft7Validator(schema_of(schemas, manifest))

    assert judge.is_valid(manifest)
    assert not judge.is_valid(broken)


def test_a_case_has_every_template_of_the_chart() -> None:
    """A template that no case renders is judged by nobody."""
    kinds = {
        one["kind"]
        for values in CASES
        for hooks in (False, True)
        for one in render(values=values, hooks=hooks)
    }
    written = {
        line.split()[1]
        for file in (CHART / "templates").glob("*.yaml")
        for line in file.read_text("utf-8").splitlines()
        if line.startswith("kind: ")
    }

    assert kinds == written
    assert "ci/" in (CHART / ".helmignore").read_text("utf-8").splitlines()
