"""Values that the chart must refuse, with a message that names the value."""

from __future__ import annotations

import json

import pytest
import yaml
from chart_render import PROFILES, ChartRefusedError, Manifest, render

from stowage_testbed.helm.install import CHART

pytestmark = pytest.mark.chart


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
        (
            "priorityOptimizer.trigger=Always",
            r"trigger': value must be one of 'Manual'",
        ),
        ("paths.socket=relative", r"/paths/socket"),
        (f"paths.socket=/{'x' * 100}", r"/paths/socket': maxLength"),
        ("scheduler.command={}", r"/scheduler/command/0': minLength"),
        ("scheduler.extraArgs={v=5}", r"/scheduler/extraArgs/0"),
        ("scheduler.metrics.readers[0].name=prom", r"/readers/0.*'namespace'"),
        ("scheduler.metrics.serviceMonitor.interval=often", r"/interval'"),
        ("optimizer.workers=two", r"/optimizer/workers': got string"),
    ],
)
def test_a_wrong_value_is_refused_by_name(setting: str, message: str) -> None:
    """A misspelt value that is silently ignored costs an afternoon."""
    with pytest.raises(ChartRefusedError, match=message):
        render(setting)


def test_all_faults_are_reported_at_once() -> None:
    """One fault a try makes many tries."""
    with pytest.raises(ChartRefusedError) as refused:
        render("colour=red", "optimizer.workers=-1", "profile=fastest")

    for name in ("colour", "workers", "profile"):
        assert name in str(refused.value)


@pytest.mark.parametrize("part", ["scheduler", "optimizer"])
@pytest.mark.parametrize("nothing", ["image.repository=", "image.repository=null"])
def test_a_missing_image_name_says_what_to_set(part: str, nothing: str) -> None:
    """An empty name would only fail later, as an image that cannot be pulled."""
    with pytest.raises(ChartRefusedError) as refused:
        render(f"{part}.{nothing}")

    assert f"{part}.image.repository is empty: name the {part}'s image" in str(
        refused.value
    )


def test_every_value_is_in_the_schema_and_the_other_way_round() -> None:
    """A value without a type, or a type without a value, is out of date."""
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))

    def compare(where: str, value: Manifest, described: Manifest) -> None:
        known = described["properties"].keys() - {"global"}
        optional = known if where.endswith("resources") else set()
        assert value.keys() | optional == known, where
        assert described["additionalProperties"] is False, where
        for key, inner in value.items():
            inner_schema = described["properties"][key]
            if "properties" in inner_schema:
                compare(f"{where}.{key}", inner, inner_schema)

    compare("values", values, schema)


def test_the_schema_knows_every_profile() -> None:
    """A new file of profiles/ must be a value one can choose."""
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))

    assert sorted(schema["properties"]["profile"]["enum"]) == PROFILES
