"""What Helm and Artifact Hub show of the chart, and values that it must refuse."""

import json
from typing import Any

import pytest
import yaml
from chart_render import PROFILES, ChartRefusedError, Manifest, render
from jsonschema import Draft202012Validator

from stowage_testbed.helm.install import CHART

pytestmark = pytest.mark.chart

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


def test_a_chart_that_depends_on_this_one_may_switch_it_on() -> None:
    """Helm hands the value of a condition on to the chart itself."""
    assert render("enabled=true", "global.team=a") == render()


def test_all_faults_are_reported_at_once() -> None:
    """One fault a try makes many tries."""
    with pytest.raises(ChartRefusedError) as refused:
        render("colour=red", "optimizer.workers=-1", "profile=fastest")

    for name in ("colour", "workers", "profile"):
        assert name in str(refused.value)


def test_every_value_is_in_the_schema_and_the_other_way_round() -> None:
    """A value without a type, or a type without a value, is out of date."""

    def compare(where: str, value: Manifest, described: Manifest) -> None:
        known = described["properties"].keys() - ({"global", "enabled"} if where == "values" else set())
        optional = known if where.endswith("resources") else set()
        assert value.keys() | optional == known, where
        assert described["additionalProperties"] is False, where
        for key, inner in value.items():
            inner_schema = described["properties"][key]
            if "properties" in inner_schema:
                compare(f"{where}.{key}", inner, inner_schema)

    compare("values", VALUES, SCHEMA)
    assert sorted(SCHEMA["properties"]["profile"]["enum"]) == PROFILES


def test_artifact_hub_lists_every_custom_resource_and_valid_examples() -> None:
    """Who copies one must not be refused by the API server."""
    examples = yaml.safe_load(METADATA["annotations"]["artifacthub.io/crdsExamples"])
    files = [yaml.safe_load(one.read_text()) for one in (CHART / "crds").glob("*.yaml")]
    versions = {one["spec"]["names"]["kind"]: one["spec"]["versions"][-1] for one in files}

    # Helm packs no chart whose annotations are no texts.
    assert {type(value) for value in METADATA["annotations"].values()} == {str}
    listed = yaml.safe_load(METADATA["annotations"]["artifacthub.io/crds"])
    assert {one["kind"]: one["version"] for one in listed} == {
        kind: version["name"] for kind, version in versions.items()
    }
    for example in examples:
        version = versions[example["kind"]]
        schema = version["schema"]["openAPIV3Schema"]
        assert example["apiVersion"] == f"stowage.dev/{version['name']}"
        Draft202012Validator(schema).validate(example)
        known = schema["properties"]["spec"]["properties"].keys()
        assert example["spec"].keys() <= known
