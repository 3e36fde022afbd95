"""The expressions of the chart's alerts and dashboard, and what they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from stowage_testbed.helm.install import CHART

RULES = CHART / "rules/alerts.yaml"
DASHBOARD = CHART / "dashboards/stowage.json"
GUIDE = Path(__file__).parents[2] / "docs/how-to/monitor.md"
WORDS = {"and", "or", "unless", "by", "without", "on", "ignoring", "le", "bool"}


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
