"""What Helm and Artifact Hub show of the chart."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from stowage_testbed.helm.install import CHART
from stowage_testbed.toolchain import tool_path

pytestmark = pytest.mark.chart

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/stowage/stowage"


def metadata() -> dict[str, Any]:
    described: dict[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text())
    return described


def annotation(name: str) -> list[dict[str, Any]]:
    """Return an annotation of Artifact Hub that is a list."""
    items: list[dict[str, Any]] = yaml.safe_load(
        metadata()["annotations"][f"artifacthub.io/{name}"]
    )
    return items


def definitions() -> dict[str, Any]:
    """Return the custom resource definitions by kind."""
    files = [yaml.safe_load(one.read_text()) for one in (CHART / "crds").glob("*.yaml")]
    return {one["spec"]["names"]["kind"]: one for one in files}


def test_annotations_are_texts() -> None:
    """Helm refuses a chart with others, when it is packaged."""
    values = metadata()["annotations"].values()

    assert values
    assert {type(value) for value in values} == {str}


def test_helm_shows_the_definitions_as_one_stream() -> None:
    """Upgrades pipe it to kubectl; Helm itself puts nothing between the files."""
    shown = subprocess.run(
        [str(tool_path("helm")), "show", "crds", str(CHART)],
        env={"HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    read = [one for one in yaml.safe_load_all(shown) if one]

    assert {one["spec"]["names"]["kind"]: one for one in read} == definitions()


def test_every_custom_resource_is_listed_as_it_is() -> None:
    """Artifact Hub reads the annotation, not the definitions."""
    listed = {
        one["kind"]: (one["name"], one["version"])
        for one in annotation("crds")
        if one["displayName"] and one["description"]
    }

    assert listed == {
        kind: (one["metadata"]["name"], one["spec"]["versions"][-1]["name"])
        for kind, one in definitions().items()
    }


def test_examples_of_custom_resources_are_valid() -> None:
    """Who copies one must not be refused by the API server."""
    for example in annotation("crdsExamples"):
        version = definitions()[example["kind"]]["spec"]["versions"][-1]
        schema = version["schema"]["openAPIV3Schema"]

        assert example["apiVersion"] == f"stowage.dev/{version['name']}"
        Draft202012Validator(schema).validate(example)
        assert (
            example["spec"].keys() <= schema["properties"]["spec"]["properties"].keys()
        )


def test_links_lead_to_pages_of_the_repository() -> None:
    """A page that moved is a dead link on a page nobody here looks at."""
    pages = [one["url"] for one in annotation("links")]

    assert metadata()["home"] == REPOSITORY
    for page in pages:
        assert (ROOT / page.removeprefix(f"{REPOSITORY}/blob/main/")).is_file(), page
