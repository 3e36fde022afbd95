"""Objects of several namespaces in one."""

from __future__ import annotations

from typing import Any

import pytest

from stowage_testbed.scenario.arrivals.one_namespace import (
    LONGEST_NAME,
    NAMESPACE_LABEL,
    OneNamespace,
    shorten,
)

LABELS = {"shop": {"team": "a"}, "mail": {"team": "a"}, "base": {"team": "b"}}
APART = OneNamespace(LABELS, ["shop", "mail"])
ALONE = OneNamespace(LABELS, ["shop"])
SELECTOR = {"matchLabels": {"app": "x"}}


def term(**fields: Any) -> dict[str, Any]:
    return {"topologyKey": "zone", "labelSelector": SELECTOR, **fields}


def rewrite_term(one: OneNamespace, **fields: Any) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term(**fields)]}
    pod = {"spec": {"affinity": {"podAntiAffinity": required}}}
    spec = one.rewrite_pod("shop", pod)["spec"]
    (changed,) = spec["affinity"]["podAntiAffinity"].popitem()[1]
    result: dict[str, Any] = changed
    return result


def controller(kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": SELECTOR, "template": template, **spec},
    }


def test_objects_of_a_single_namespace_stay_as_they_are() -> None:
    """But for the namespace itself, which is the run's."""
    given = controller()

    assert ALONE.rewrite(given) == {**given, "metadata": {"name": "web"}}


def test_controllers_of_several_select_only_their_own_pods() -> None:
    """Those of two namespaces may have equal labels."""
    made = APART.rewrite(controller())
    labels = {"app": "x", NAMESPACE_LABEL: "shop"}

    assert made["metadata"] == {"name": "shop-web"}
    assert made["spec"]["selector"] == {"matchLabels": labels}
    assert made["spec"]["template"]["metadata"]["labels"] == labels


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({}, ["shop"]),
        ({"namespaces": ["mail"]}, ["mail"]),
        ({"namespaces": ["mail", "shop"]}, ["mail", "shop"]),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, ["mail", "shop"]),
        ({"namespaceSelector": {}}, ["base", "mail", "shop"]),
        (
            {
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": "base"}
                },
                "namespaces": ["mail"],
            },
            ["base", "mail"],
        ),
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


def test_a_term_about_a_single_namespace_loses_only_its_name() -> None:
    """All pods are in the run's."""
    assert rewrite_term(ALONE, namespaces=["shop", "mail"]) == term()


def test_a_term_about_another_namespace_finds_nothing() -> None:
    """There were no pods of it, and those of this one are not meant."""
    changed = rewrite_term(ALONE, namespaces=["mail"])

    assert changed["labelSelector"]["matchLabels"][NAMESPACE_LABEL] == "mail"


def test_claims_of_a_stateful_set_are_those_that_it_looks_for() -> None:
    """It calls them by its own name, which has got a prefix."""
    claims = [{"metadata": {"name": "data"}, "spec": {}}]
    stateful = controller("StatefulSet", volumeClaimTemplates=claims)
    one = OneNamespace(LABELS, ["shop", "mail"], [stateful])

    def named(name: str) -> str:
        metadata = {"name": name, "namespace": "shop"}
        claim = {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {}}
        return str(one.rewrite(claim)["metadata"]["name"])

    assert named("data-web-0") == "data-shop-web-0"
    assert named("data-other-0") == "shop-data-other-0"


def test_pods_find_what_they_name() -> None:
    """Claims of volumes and devices, and their group."""
    spec = {
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
        "schedulingGroup": {"podGroupName": "gang"},
    }
    made = APART.rewrite_pod("shop", {"spec": spec})["spec"]

    assert made["volumes"][0]["persistentVolumeClaim"] == {"claimName": "shop-data"}
    assert made["resourceClaims"][0]["resourceClaimTemplateName"] == "shop-one"
    assert made["schedulingGroup"] == {"podGroupName": "shop-gang"}


def test_budgets_and_services_select_the_pods_of_their_namespace() -> None:
    """They count, and spread, nobody else's."""
    metadata = {"name": "web", "namespace": "shop"}
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": {"selector": {}},
    }
    service = {
        "kind": "Service",
        "metadata": metadata,
        "spec": {"selector": {"a": "b"}},
    }

    assert APART.rewrite(budget)["spec"]["selector"] == {
        "matchLabels": {NAMESPACE_LABEL: "shop"}
    }
    assert APART.rewrite(service)["spec"]["selector"] == {
        "a": "b",
        NAMESPACE_LABEL: "shop",
    }


def test_a_volume_is_for_the_claim_under_its_new_name() -> None:
    """The replay knows in which namespace that is."""
    claim = {"namespace": "shop", "name": "data", "kind": "PersistentVolumeClaim"}
    volume = {
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {"claimRef": claim},
    }

    assert APART.rewrite(volume)["spec"]["claimRef"] == {
        "kind": "PersistentVolumeClaim",
        "name": "shop-data",
    }


def test_long_names_are_cut_and_stay_different() -> None:
    """A controller adds to its name, and labels have 63 characters."""
    first, second = shorten("x" * 60 + "a"), shorten("x" * 60 + "b")

    assert first != second
    assert len(first) == LONGEST_NAME
    assert shorten("short") == "short"
