"""Alerts and dashboard: what they read exists, and each alert fires when it should."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from go_module import go_module

from docs.tooling.metrics import Metric, go_files, optimizer_metrics, read
from stowage_testbed.base import layout
from stowage_testbed.helm.install import CHART
from stowage_testbed.toolchain import tool_path

pytestmark = pytest.mark.chart

RULES = CHART / "rules/alerts.yaml"
DASHBOARD = CHART / "dashboards/stowage.json"
TESTS = Path(__file__).with_name("alerts.yaml")
GUIDE = Path(__file__).parents[2] / "docs/how-to/monitor.md"
PROCESS = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
"""Of client_golang's process collector, which Kubernetes does not list as its own."""

OF_THE_TARGET = {"job", "namespace", "pod", "up"}
"""Labels that the ServiceMonitor's targets have, and the metric of a scrape itself."""

WORDS = {
    "and", "or", "unless", "by", "without", "on", "ignoring", "le", "bool", "offset",
}  # fmt: skip


@cache
def own_metrics() -> dict[str, Metric]:
    """Return the scheduler's own metrics, as the reference lists them."""
    return {one.name: one for file in go_files() for one in read(file)}


@cache
def stock_metrics() -> dict[str, set[str]]:
    """Return kube-scheduler's metrics and their labels, as Kubernetes lists them."""
    file = "test/instrumentation/documentation/documentation-list.yaml"
    text = (go_module("k8s.io/kubernetes@v1.36.3") / file).read_text("utf-8")
    listed = yaml.load(text, yaml.CSafeLoader)
    return {
        "_".join(one[key] for key in ("namespace", "subsystem", "name") if key in one): set(one.get("labels", ()))
        for one in listed
        if "kube-scheduler" in {at["component"] for at in one["componentEndpoints"]}
    }


def alerts() -> list[dict[str, str]]:
    """Return the alerts of the chart."""
    (group,) = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    rules: list[dict[str, str]] = group["rules"]
    return rules


def expressions() -> Iterator[tuple[str, str]]:
    """Yield each expression of alerts and dashboard, with the name of its place."""
    for rule in alerts():
        yield rule["alert"], rule["expr"]
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        for target in panel.get("targets", ()):
            yield f"{panel['title']} {target['refId']}", target["expr"]


def names_in(expression: str) -> tuple[set[str], set[str]]:
    """Return the metrics and the labels that an expression names."""
    text = re.sub(r'"[^"]*"', '""', expression)
    labels = set(re.findall(r"(\w+)\s*[=!]~?\s*\"", text))
    for group in re.findall(r"\b(?:by|without|on|ignoring) *\(([^)]*)\)", text):
        labels |= set(re.findall(r"\w+", group))
    text = re.sub(r"\{[^}]*\}|\[[^]]*\]", "", text)
    text = re.sub(r"\b(by|without|on|ignoring) *\([^)]*\)", "", text)
    metrics = set(re.findall(r"\b[a-z_]\w*\b(?! *\()", text)) - WORDS
    return metrics, labels


def test_alerts_and_dashboard_read_only_what_the_scheduler_serves() -> None:
    """Prometheus takes a misspelt metric or label for one without samples, silently."""
    own, stock = own_metrics(), stock_metrics()
    for place, expression in expressions():
        metrics, labels = names_in(expression)
        known = {"le"} | OF_THE_TARGET
        assert metrics, place
        for name in metrics:
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            if name in own:
                assert own[name].kind != "histogram", f"{name} is a histogram"
                known |= set(own[name].labels)
            elif base in own:
                assert own[base].kind == "histogram", f"{base} is no histogram"
            else:
                assert name in PROCESS | OF_THE_TARGET or base in stock, name
                known |= stock.get(base, set())
        assert labels <= known, place


def test_alerts_select_by_values_that_the_scheduler_writes() -> None:
    """A selector of an end reason that is never written would never match."""
    scheduler = layout.shipped("scheduler")
    sources = "\n".join(
        (scheduler / path).read_text("utf-8")
        for path in (
            "contract/optimizer.pb.go",
            "packingplan/types.go",
            "plugins/priorityoptimizer/planning/planner.go",
            "plugins/priorityoptimizer/solve.go",
        )
    )
    written = {word.removeprefix("END_REASON_") for word in re.findall(r'"(\w+)"', sources)}
    selected = {
        value
        for rule in alerts()
        for values in re.findall(r'(?:end_reason|phase)[=!]~?"([^"]*)"', rule["expr"])
        for value in values.split("|")
    }

    assert "UNREACHABLE" in selected
    assert selected <= written


def test_every_alert_is_tested_and_explained() -> None:
    """Who is woken by one needs to know what to do, and that it is no false alarm."""
    guide, tests = GUIDE.read_text("utf-8"), TESTS.read_text("utf-8")

    for rule in alerts():
        assert rule.keys() >= {"expr", "labels", "annotations"}
        assert rule["annotations"].keys() == {"summary", "description"}  # type: ignore[attr-defined] # a mapping
        assert f"### {rule['alert']}\n" in guide
        assert f'alertname="{rule["alert"]}", alertstate="firing"' in tests or (
            f"alertname: {rule['alert']}\n" in tests
        )


def promtool(*arguments: str, given: str = "") -> None:
    done = subprocess.run(
        [str(tool_path("promtool")), *arguments], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    """Judged by Prometheus's own evaluation, on series written for the purpose."""
    shutil.copyfile(RULES, tmp_path / "rules.yaml")
    shutil.copyfile(TESTS, tmp_path / "alerts.yaml")

    promtool("test", "rules", str(tmp_path / "alerts.yaml"))


@pytest.mark.nightly
def test_names_of_metrics_follow_the_conventions() -> None:
    """Base units, ``_total`` for counters alone: by Prometheus's own linter."""
    own = {one.name: one for one in (*own_metrics().values(), *optimizer_metrics())}
    ends = {"histogram": ('_bucket{le="+Inf"}', "_sum", "_count")}
    text = "".join(
        f"# HELP {one.name} {one.meaning}\n# TYPE {one.name} {one.kind}\n"
        + "".join(f"{one.name}{end} 1\n" for end in ends.get(one.kind, ("",)))
        for one in own.values()
    )

    promtool("check", "metrics", given=text)
