"""Objects that stand in files beside a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file, load_folder
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.applying import Apply, Delete
from stowage_testbed.scenario.steps.nodes import Cordon

GOOD = Path(__file__).parent / "good"
SCENARIO = (GOOD / "objects.yaml").read_text("utf-8")
SHOP = (GOOD / "manifests" / "shop.yaml").read_text("utf-8")


def loaded(
    folder: Path, shop: str = SHOP, *, wait: str = "", file: str = ""
) -> Scenario:
    """Load the scenario beside its file of manifests, with a step before the wait."""
    path = folder / "good" / "objects.yaml"
    (path.parent / "manifests").mkdir(parents=True)
    (path.parent / "manifests" / "shop.yaml").write_text(shop, "utf-8")
    text = SCENARIO.replace("  - wait", f"{wait}  - wait")
    path.write_text(text.replace("shop.yaml", file or "shop.yaml"), "utf-8")
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
    # Files of manifests are no scenarios.
    assert load_folder(tmp_path) == (scenario,)


def test_what_has_a_generate_name_has_the_same_names_in_every_run(
    tmp_path: Path,
) -> None:
    """Each time that its file is applied there is another one, as the server has it."""
    head = 2 * "apiVersion: v1\nkind: Pod\nmetadata: {generateName: web-}\n---\n"
    scenario = loaded(tmp_path, head + SHOP, wait="  - apply: manifests/shop.yaml\n")

    first, again = (step.action for step in scenario.steps[1:3])
    assert first == Apply(
        ("quota", "settings", "web-2", "web-3", "shop", "service-web", "web")
    )
    assert again == Apply(("settings", "web-4", "web-5", "shop", "service-web"))
    assert scenario.objects["web-3"].object_name == "web-3"
    assert scenario.objects["web-3"].pods == 1


@pytest.mark.parametrize(
    ("manifest", "pods"),
    [
        ("apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 3, completions: 2}", 2),
        ("apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 3, suspend: true}", 0),
        ("apiVersion: v1\nkind: Pod", 1),
        # Only its own controllers know what a kind brings that is called like ours.
        ("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job", 0),
    ],
)
def test_the_pods_of_an_object_count_where_the_scenario_looks(
    tmp_path: Path, manifest: str, pods: int
) -> None:
    """Steps would wait for ever for those of another namespace."""
    named = f"{manifest}\nmetadata: {{name: a}}\n---\n"
    elsewhere = f"{manifest}\nmetadata: {{name: b, namespace: c}}\n"
    scenario = loaded(tmp_path, f"{SHOP}---\n{named}{elsewhere}")

    assert [scenario.objects[name].pods for name in "ab"] == [pods, 0]
    own = {"a": pods} if pods else {}
    assert scenario.pods_by_name == {"web": 1, "shop": 2, **own}


def test_a_node_that_is_an_object_is_a_node(tmp_path: Path) -> None:
    """Its capacity is what its manifest says, and steps and expectations name it."""
    node = "apiVersion: v1\nkind: Node\nmetadata: {generateName: big-}\n"
    scenario = loaded(tmp_path, f"{SHOP}---\n{node}", wait="  - cordon: big\n")

    assert scenario.steps[2].action == Cordon(("big",))


@pytest.mark.parametrize(
    ("shop", "file", "issue"),
    [
        ("kind: Service\n", "", "shop.yaml:1: apiVersion missing"),
        ("a: [", "", "shop.yaml: not YAML"),
        (SHOP + "---\n" + SHOP, "", "service-web cannot be told from another"),
        ("apiVersion: v1\nkind: Pod\n", "", "Pod without metadata.name"),
        (SHOP, "shops.yaml", r"there is no file .*shops\.yaml"),
    ],
)
def test_a_file_that_cannot_be_applied_is_told_when_the_scenario_is_read(
    tmp_path: Path, shop: str, file: str, issue: str
) -> None:
    """Before a cluster is brought up, with file and line."""
    with pytest.raises(ScenarioIssuesError, match=issue) as caught:
        loaded(tmp_path, shop, file=file)

    assert ":11:12:" in str(caught.value)
