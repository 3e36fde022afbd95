"""Objects of several namespaces in one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.scenario.arrivals.one_namespace import (
    LONGEST_NAME,
    NAMESPACE_LABEL,
    OneNamespace,
    shorten,
)

LABELS = {"shop": {"team": "a"}, "mail": {"team": "a"}, "base": {"team": "b"}}
STATEFUL = {
    "kind": "StatefulSet",
    "metadata": {"name": "db", "namespace": "shop"},
    "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]},
}
APART = OneNamespace(LABELS, ["shop", "mail"], [STATEFUL])
ALONE = OneNamespace(LABELS, ["shop"])
OBJECTS: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("one_namespace.yaml").read_text("utf-8")
)
SELECTOR = {"matchLabels": {"app": "x"}}


@pytest.mark.parametrize("what", OBJECTS)
def test_objects_know_each_other_as_before(what: str) -> None:
    """Under their new names, and by a label that keeps the namespaces apart."""
    assert APART.rewrite(OBJECTS[what]["given"]) == OBJECTS[what]["made"]


def test_objects_of_a_single_namespace_stay_as_they_are() -> None:
    """But for the namespace itself, which is the run's."""
    given = next(iter(OBJECTS.values()))["given"]

    assert ALONE.rewrite(given) == {**given, "metadata": {"name": "web"}}


def rewrite_term(one: OneNamespace, **fields: Any) -> dict[str, Any]:
    term = {"topologyKey": "zone", "labelSelector": SELECTOR, **fields}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    pod = {"spec": {"affinity": {"podAntiAffinity": required}}}
    spec = one.rewrite_pod("shop", pod)["spec"]
    (changed,) = spec["affinity"]["podAntiAffinity"].popitem()[1]
    return dict(changed)


OF_TEAM_A = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
OF_BASE = {"namespaceSelector": {
    "matchLabels": {"kubernetes.io/metadata.name": "base"}}}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({}, ["shop"]),
        ({"namespaces": ["mail"]}, ["mail"]),
        ({"namespaces": ["mail", "shop"]}, ["mail", "shop"]),
        (OF_TEAM_A, ["mail", "shop"]),
        ({"namespaceSelector": {}}, ["base", "mail", "shop"]),
        ({**OF_BASE, "namespaces": ["mail"]}, ["base", "mail"]),
    ],
)
def test_a_term_looks_at_the_pods_that_it_looked_at(
    fields: dict[str, Any], asked: list[str]
) -> None:
    """By the label, in place of the namespaces."""
    changed = rewrite_term(APART, **fields)
    selector = changed["labelSelector"]
    values = [selector["matchLabels"].get(NAMESPACE_LABEL)]
    for one in selector.get("matchExpressions", ()):
        values = one["values"]

    assert values == asked
    assert {"namespaces", "namespaceSelector"}.isdisjoint(changed)
    # Among pods of a single one there is nothing to keep apart.
    of_both = rewrite_term(ALONE, namespaces=["shop", "mail"])
    assert of_both == {"topologyKey": "zone", "labelSelector": SELECTOR}
    of_mail = rewrite_term(ALONE, namespaces=["mail"])["labelSelector"]
    assert of_mail["matchLabels"][NAMESPACE_LABEL] == "mail"


def test_long_names_are_cut_and_stay_different() -> None:
    """A controller adds to its name, and labels have 63 characters."""
    first, second = shorten("x" * 60 + "a"), shorten("x" * 60 + "b")

    assert first != second
    assert (len(first), shorten("short")) == (LONGEST_NAME, "short")
