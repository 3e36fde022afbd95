"""Objects that stand in files beside a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file, load_folder
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.applying import Apply, Delete

SCENARIO = """\
version: 1
name: test/case
description: Objects of a file, beside a workload and an object.
nodes:
  - {count: 1, cpu: "4", memory: 4G}
workload:
  - {name: web, replicas: 1, cpu: 100m, memory: 1G}
objects:
  quota: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: "9"}}}
steps:
  - apply: [quota, manifests/shop.yaml, web]
  - wait: {for: bound}
  - delete: settings
expect:
  end: {placed: 3}
"""

SHOP = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  template: {spec: {containers: [{name: main}]}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
"""


def loaded(folder: Path, shop: str = SHOP, scenario: str = SCENARIO) -> Scenario:
    """Load the scenario beside its file of manifests."""
    (folder / "test" / "manifests").mkdir(parents=True)
    (folder / "test" / "manifests" / "shop.yaml").write_text(shop, "utf-8")
    path = folder / "test" / "case.yaml"
    path.write_text(scenario, "utf-8")
    return load_file(path)[0]


def test_a_path_stands_for_the_objects_of_the_file(tmp_path: Path) -> None:
    """What others need comes first, and steps and expectations name each of them."""
    scenario = loaded(tmp_path)

    # A workload is called web already.
    names = ("quota", "settings", "shop", "service-web", "web")
    assert scenario.steps[1].action == Apply(names)
    assert scenario.steps[3].action == Delete(("settings",))
    assert scenario.objects["shop"].pods == 2
    assert scenario.objects["shop"].place.endswith("manifests/shop.yaml:1")
    assert scenario.objects["settings"].place.endswith("manifests/shop.yaml:12")
    assert scenario.objects["quota"].place == "line 9"


def test_files_of_manifests_are_no_scenarios(tmp_path: Path) -> None:
    """They lie beside those that apply them."""
    scenario = loaded(tmp_path)

    assert load_folder(tmp_path) == (scenario,)


@pytest.mark.parametrize(
    ("shop", "issue"),
    [
        ("kind: Service\n", "shop.yaml:1: apiVersion missing"),
        ("a: [", "shop.yaml: not YAML"),
        (SHOP + "---\n" + SHOP, "service-web cannot be told from another"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n",
            "without a name cannot be told",
        ),
    ],
)
def test_a_file_that_cannot_be_applied_is_told_when_the_scenario_is_read(
    tmp_path: Path, shop: str, issue: str
) -> None:
    """Before a cluster is brought up, with file and line."""
    with pytest.raises(ScenarioIssuesError, match=issue) as caught:
        loaded(tmp_path, shop)

    assert ":11:12:" in str(caught.value)


def test_a_file_that_is_not_there_is_told_too(tmp_path: Path) -> None:
    """It may be misspelt."""
    wrong = SCENARIO.replace("shop.yaml", "shops.yaml")

    with pytest.raises(ScenarioIssuesError, match=r"there is no file .*shops\.yaml"):
        loaded(tmp_path, scenario=wrong)
