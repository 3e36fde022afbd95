"""What `stowage_apply` takes, and what it makes of it before the cluster sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.api.manifests import Given, read_manifests
from stowage_testbed.base.errors import StowageError
from stowage_testbed.pytest.applying import with_overrides_for
from stowage_testbed.run.arm import PodOverrides

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec: {containers: []}\n"
MINE = PodOverrides("mine", {"queue": "a"})


def names(given: Given, folder: Path) -> list[str]:
    return [one["metadata"]["name"] for one in read_manifests(given, folder)]


def an_object(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def test_text_files_folders_and_objects_are_taken_alike(tmp_path: Path) -> None:
    """A test says it in the way that it reads best."""
    (tmp_path / "pod.yaml").write_text(POD)
    many = tmp_path / "many"
    many.mkdir()
    (many / "b.yml").write_text(POD.replace("one", "b"))
    (many / "a.yaml").write_text(POD.replace("one", "a"))
    (many / "README.md").write_text("no manifest")
    # `kubectl get -o yaml` gives a list, Helm several documents.
    text = f"{POD}---\n---\napiVersion: v1\nkind: List\nitems:\n" + (
        "- {apiVersion: v1, kind: Pod, metadata: {name: two}}\n"
    )

    given: list[Given] = ["pod.yaml", Path("many"), POD, an_object("Pod", "plain")]

    assert names(given, tmp_path) == ["one", "a", "b", "one", "plain"]
    assert names(text, tmp_path) == ["one", "two"]
    # What others need comes first, whatever order a chart's output has.
    kinds = ("Pod", "PriorityClass", "ConfigMap", "Namespace")
    mixed = [an_object(kind, kind.lower()) for kind in kinds]
    assert names(mixed, tmp_path) == ["namespace", "priorityclass", "configmap", "pod"]


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("kind: Pod\nmetadata: {name: one}\n", "apiVersion missing"),
        (f"{POD}---\napiVersion: v1\nkind: Pod\n", "the text:6: Pod without"),
        ("just words\n", "'just words' is no object"),
        ("a: [\n", "not YAML"),
        # The question is always where it was looked for.
        ("nothing.yaml", "FOLDER/nothing.yaml"),
    ],
)
def test_what_is_no_manifest_is_located(text: str, issue: str, tmp_path: Path) -> None:
    """The server's own answer to these says little."""
    with pytest.raises(StowageError, match=issue.replace("FOLDER", str(tmp_path))):
        read_manifests(text, tmp_path)


def test_pods_of_controllers_get_the_arms_overrides() -> None:
    """The same manifests serve under every scheduler; a pod that names one keeps it."""
    template: dict[str, Any] = {"metadata": {}, "spec": {"containers": []}}
    web = an_object("Deployment", "web") | {"spec": {"template": template}}

    changed = with_overrides_for(web, MINE)["spec"]["template"]

    assert changed["spec"]["schedulerName"] == "mine"
    assert changed["metadata"]["labels"] == {"queue": "a"}
    named = an_object("Pod", "one") | {"spec": {"schedulerName": "other"}}
    without_pods = an_object("ConfigMap", "settings")
    for kept in (named, without_pods):
        assert with_overrides_for(kept, MINE) == kept
