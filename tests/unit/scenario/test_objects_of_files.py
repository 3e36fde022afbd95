"""Objects that stand in files beside a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file, load_folder
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.applying import Apply, Delete
from stowage_testbed.scenario.steps.nodes import Cordon

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


def test_what_has_a_generate_name_has_the_same_names_in_every_run(
    tmp_path: Path,
) -> None:
    """Each time that its file is applied there is another one, as the server has it."""
    head = 2 * "apiVersion: v1\nkind: Pod\nmetadata: {generateName: web-}\n---\n"
    steps = "  - apply: manifests/shop.yaml\n"
    scenario = loaded(
        tmp_path, head + SHOP, SCENARIO.replace("  - wait", steps + "  - wait")
    )

    first, again = (step.action for step in scenario.steps[1:3])
    # A workload is called web already.
    assert first == Apply(
        ("quota", "settings", "web-2", "web-3", "shop", "service-web", "web")
    )
    assert again == Apply(("settings", "web-4", "web-5", "shop", "service-web"))
    assert scenario.objects["web-3"].object_name == "web-3"
    assert scenario.objects["web-3"].pods == 1


def test_kinds_of_others_that_are_called_like_ours_bring_no_pods(
    tmp_path: Path,
) -> None:
    """Only their controllers know what they bring, and steps would wait for ever."""
    job = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\n"
    scenario = loaded(tmp_path, f"{SHOP}---\n{job}")

    assert scenario.objects["a"].pods == 0
    assert scenario.pods_by_name == {"web": 1, "shop": 2}


@pytest.mark.parametrize(
    ("manifest", "pods"),
    [
        ("apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 3, completions: 2}", 2),
        ("apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 3, suspend: true}", 0),
        ("apiVersion: v1\nkind: Pod", 1),
    ],
)
def test_the_pods_of_an_object_count_where_the_scenario_looks(
    tmp_path: Path, manifest: str, pods: int
) -> None:
    """Steps would wait for ever for those of another namespace."""
    named = f"{manifest}\nmetadata: {{name: a}}\n---\n"
    elsewhere = f"{manifest}\nmetadata: {{name: b, namespace: c}}\n"
    scenario = loaded(tmp_path, SHOP + "---\n" + named + elsewhere)

    assert scenario.objects["a"].pods == pods
    assert scenario.objects["b"].pods == 0


def test_a_node_that_is_an_object_is_a_node(tmp_path: Path) -> None:
    """Its capacity is what its manifest says, and steps and expectations name it."""
    node = "apiVersion: v1\nkind: Node\nmetadata: {generateName: big-}\n"
    steps = SCENARIO.replace("  - wait", "  - cordon: big\n  - wait")
    scenario = loaded(tmp_path, f"{SHOP}---\n{node}", steps)

    assert scenario.steps[2].action == Cordon(("big",))


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
        ("apiVersion: v1\nkind: Pod\n", "Pod without metadata.name"),
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
