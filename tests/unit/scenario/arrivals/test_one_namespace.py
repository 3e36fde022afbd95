"""Objects of several namespaces in one."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.scenario.arrivals.one_namespace import LONGEST_NAME, NAMESPACE_LABEL, OneNamespace, shorten

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


@pytest.mark.parametrize("what", OBJECTS)
def test_objects_know_each_other_as_before(what: str) -> None:
    """Under their new names, and by a label that keeps the namespaces apart."""
    assert APART.rewrite(OBJECTS[what]["given"]) == OBJECTS[what]["made"]


def test_objects_of_a_single_namespace_stay_as_they_are() -> None:
    """But for the namespace itself, which is the run's."""
    given = next(iter(OBJECTS.values()))["given"]

    assert ALONE.rewrite(given) == {**given, "metadata": {"name": "web"}}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TEAM_A = {"matchLabels": {"team": "a"}}
BASE = {"matchLabels": {"kubernetes.io/metadata.name": "base"}}


def selecting(namespaces: list[str]) -> dict[str, Any]:
    """Return a selector of pods of some namespaces, or without asking for any."""
    labels, expression = {"app": "x"}, {"key": NAMESPACE_LABEL, "operator": "In"}
    if len(namespaces) > 1:
        asked = [{**expression, "values": namespaces}]
        return {"matchLabels": labels, "matchExpressions": asked}
    for one in namespaces:
        labels[NAMESPACE_LABEL] = one
    return {"matchLabels": labels}


@pytest.mark.parametrize(
    ("fields", "apart", "alone"),
    [
        ({}, ["shop"], []),
        ({"namespaces": ["mail"]}, ["mail"], ["mail"]),
        ({"namespaces": ["mail", "shop"]}, ["mail", "shop"], []),
        ({"namespaceSelector": TEAM_A}, ["mail", "shop"], []),
        ({"namespaceSelector": {}}, ["base", "mail", "shop"], []),
        ({"namespaceSelector": BASE, "namespaces": ["mail"]}, *[["base", "mail"]] * 2),
    ],
)
def test_a_term_looks_at_the_pods_that_it_looked_at(fields: dict[str, Any], apart: list[str], alone: list[str]) -> None:
    """By the label, in place of the namespaces; pods of one alone need none."""
    for one, asked in ((APART, apart), (ALONE, alone)):
        term = {"topologyKey": "zone", "labelSelector": selecting([]), **fields}
        pod = {"spec": {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}}
        spec = one.rewrite_pod("shop", pod)["spec"]
        (changed,) = spec["affinity"]["podAntiAffinity"][REQUIRED]

        assert changed == {"topologyKey": "zone", "labelSelector": selecting(asked)}


def test_long_names_are_cut_and_stay_different() -> None:
    """A controller adds to its name, and labels have 63 characters."""
    first, second = shorten("x" * 60 + "a"), shorten("x" * 60 + "b")

    assert first != second
    assert (len(first), shorten("short")) == (LONGEST_NAME, "short")
