"""What Helm and Artifact Hub show of the chart, and values that it must refuse."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart_render import PROFILES, ChartRefusedError, Manifest, render
from jsonschema import Draft202012Validator

from stowage_testbed.helm.install import CHART
from stowage_testbed.toolchain import tool_path

pytestmark = pytest.mark.chart

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/stowage/stowage"
METADATA: dict[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text())
VALUES: Manifest = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
SCHEMA: Manifest = json.loads((CHART / "values.schema.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("colour=red", r"'colour' not allowed"),
        ("scheduler.immage=x", r"at '/scheduler'.*'immage' not allowed"),
        ("priorityOptimizer.timeLimit=2", r"'timeLimit' not allowed"),
        ("optimizer.workers=-1", r"'/optimizer/workers': minimum: got -1"),
        ("priorityOptimizer.settleSeconds=-1", r"settleSeconds': minimum"),
        ("priorityOptimizer.timeLimitSeconds=0", r"timeLimitSeconds'"),
        ("optimizer.memoryLimitBytes=-5", r"memoryLimitBytes': minimum"),
        ("scheduler.resources.requests.cpu=-1", r"/scheduler/resources/requests/cpu"),
        ("scheduler.securePort=70000", r"securePort': maximum"),
        ("profile=fastest", r"'/profile': value must be one of 'default'"),
        ("priorityOptimizer.trigger=Always", r"trigger': value must be one of 'Man"),
        ("paths.socket=relative", r"/paths/socket"),
        (f"paths.socket=/{'x' * 100}", r"/paths/socket': maxLength"),
        ("scheduler.command={}", r"/scheduler/command/0': minLength"),
        ("scheduler.extraArgs={v=5}", r"/scheduler/extraArgs/0"),
        ("scheduler.metrics.readers[0].name=prom", r"/readers/0.*'namespace'"),
        ("scheduler.metrics.serviceMonitor.interval=often", r"/interval'"),
        ("optimizer.workers=two", r"/optimizer/workers': got string"),
        # An empty name would only fail later, as an image that cannot be pulled.
        ("scheduler.image.repository=", r"empty: name the scheduler's image"),
        ("optimizer.image.repository=null", r"empty: name the optimizer's image"),
        # Every solve would fail, one after the other, in a running cluster.
        ("optimizer.enabled=false", r"optimizer\.enabled is false"),
    ],
)
def test_a_wrong_value_is_refused_by_name(setting: str, message: str) -> None:
    """A misspelt value that is silently ignored costs an afternoon."""
    with pytest.raises(ChartRefusedError, match=message):
        render("profile=optimizer", setting)


def test_all_faults_are_reported_at_once() -> None:
    """One fault a try makes many tries."""
    with pytest.raises(ChartRefusedError) as refused:
        render("colour=red", "optimizer.workers=-1", "profile=fastest")

    for name in ("colour", "workers", "profile"):
        assert name in str(refused.value)


def test_every_value_is_in_the_schema_and_the_other_way_round() -> None:
    """A value without a type, or a type without a value, is out of date."""

    def compare(where: str, value: Manifest, described: Manifest) -> None:
        known = described["properties"].keys() - {"global"}
        optional = known if where.endswith("resources") else set()
        assert value.keys() | optional == known, where
        assert described["additionalProperties"] is False, where
        for key, inner in value.items():
            inner_schema = described["properties"][key]
            if "properties" in inner_schema:
                compare(f"{where}.{key}", inner, inner_schema)

    compare("values", VALUES, SCHEMA)
    assert sorted(SCHEMA["properties"]["profile"]["enum"]) == PROFILES


def annotation(name: str) -> list[dict[str, Any]]:
    """Return an annotation of Artifact Hub that is a list."""
    text = METADATA["annotations"][f"artifacthub.io/{name}"]
    items: list[dict[str, Any]] = yaml.safe_load(text)
    return items


def definitions() -> dict[str, Any]:
    """Return the custom resource definitions by kind."""
    files = [yaml.safe_load(one.read_text()) for one in (CHART / "crds").glob("*.yaml")]
    return {one["spec"]["names"]["kind"]: one for one in files}


def test_helm_shows_the_definitions_as_one_stream() -> None:
    """Upgrades pipe it to kubectl; Helm itself puts nothing between the files."""
    shown = subprocess.run(
        [str(tool_path("helm")), "show", "crds", str(CHART)],
        env={"HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    read = [one for one in yaml.safe_load_all(shown) if one]

    assert {one["spec"]["names"]["kind"]: one for one in read} == definitions()


def test_every_custom_resource_is_listed_as_it_is() -> None:
    """Artifact Hub reads the annotation; Helm packs no chart whose own are no texts."""
    listed = {
        one["kind"]: (one["name"], one["version"])
        for one in annotation("crds")
        if one["displayName"] and one["description"]
    }

    assert {type(value) for value in METADATA["annotations"].values()} == {str}
    assert listed == {
        kind: (one["metadata"]["name"], one["spec"]["versions"][-1]["name"])
        for kind, one in definitions().items()
    }


def test_examples_of_custom_resources_are_valid() -> None:
    """Who copies one must not be refused by the API server."""
    for example in annotation("crdsExamples"):
        version = definitions()[example["kind"]]["spec"]["versions"][-1]
        schema = version["schema"]["openAPIV3Schema"]
        known = schema["properties"]["spec"]["properties"].keys()

        assert example["apiVersion"] == f"stowage.dev/{version['name']}"
        Draft202012Validator(schema).validate(example)
        assert example["spec"].keys() <= known


def test_links_lead_to_pages_of_the_repository() -> None:
    """A page that moved is a dead link on a page nobody here looks at."""
    pages = [one["url"] for one in annotation("links")]

    assert METADATA["home"] == REPOSITORY
    for page in pages:
        assert (ROOT / page.removeprefix(f"{REPOSITORY}/blob/main/")).is_file(), page
