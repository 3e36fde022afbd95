"""Objects that stand in files beside a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file, load_folder
from stowage_testbed.scenario.model import Scenario

GOOD = Path(__file__).parent / "good"
SCENARIO = (GOOD / "objects.yaml").read_text("utf-8")
COUNTED = yaml.safe_load(GOOD.with_name("counted.yaml").read_text("utf-8"))
SHOP = (GOOD / "manifests" / "shop.yaml").read_text("utf-8")


def loaded(folder: Path, shop: str = SHOP, *, file: str = "shop.yaml") -> Scenario:
    """Load the scenario beside its file of manifests."""
    path = folder / "good" / "objects.yaml"
    (path.parent / "manifests").mkdir(parents=True)
    (path.parent / "manifests" / "shop.yaml").write_text(shop, "utf-8")
    path.write_text(SCENARIO.replace("shop.yaml", file), "utf-8")
    return load_file(path)[0]


@pytest.mark.parametrize(("manifest", "pods"), COUNTED)
def test_the_pods_of_an_object_count_where_the_scenario_looks(
    tmp_path: Path, manifest: dict[str, Any], pods: int
) -> None:
    """Steps would wait for ever for those of another namespace."""
    named = {**manifest, "metadata": {"name": "a"}}
    elsewhere = {**manifest, "metadata": {"name": "b", "namespace": "c"}}
    shop = yaml.safe_dump_all([*yaml.safe_load_all(SHOP), named, elsewhere])
    scenario = loaded(tmp_path, shop)

    assert [scenario.objects[name].pods for name in "ab"] == [pods, 0]
    # Files of manifests are no scenarios.
    assert load_folder(tmp_path) == (scenario,)


@pytest.mark.parametrize(
    ("shop", "file", "issue"),
    [
        ("kind: Service\n", "shop.yaml", "shop.yaml:1: apiVersion missing"),
        ("a: [", "shop.yaml", "shop.yaml: not YAML"),
        (SHOP + "---\n" + SHOP, "shop.yaml", "service-web cannot be told from another"),
        ("apiVersion: v1\nkind: Pod\n", "shop.yaml", "Pod without metadata.name"),
        (SHOP, "shops.yaml", r"there is no file .*shops\.yaml"),
    ],
)
def test_a_file_that_cannot_be_applied_is_told_when_the_scenario_is_read(
    tmp_path: Path, shop: str, file: str, issue: str
) -> None:
    """Before a cluster is brought up, with file and line."""
    with pytest.raises(ScenarioIssuesError, match=issue) as caught:
        loaded(tmp_path, shop, file=file)

    assert ":20:12:" in str(caught.value)
