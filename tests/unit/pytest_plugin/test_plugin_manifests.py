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

    given: list[Given] = ["pod.yaml", Path("many"), POD, an_object("Pod", "plain")]

    assert names(given, tmp_path) == ["one", "a", "b", "one", "plain"]


def test_a_list_and_several_documents_are_their_items(tmp_path: Path) -> None:
    """`kubectl get -o yaml` gives the first, Helm the second."""
    text = f"{POD}---\n---\napiVersion: v1\nkind: List\nitems:\n" + (
        "- {apiVersion: v1, kind: Pod, metadata: {name: two}}\n"
    )

    assert names(text, tmp_path) == ["one", "two"]


def test_what_others_need_comes_first(tmp_path: Path) -> None:
    """Nobody wants to sort a chart's output by hand."""
    given = [
        an_object("Pod", "pod"),
        an_object("PriorityClass", "urgent"),
        an_object("ConfigMap", "settings"),
        an_object("Namespace", "shop"),
    ]

    assert names(given, tmp_path) == ["shop", "urgent", "settings", "pod"]


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("kind: Pod\nmetadata: {name: one}\n", "apiVersion missing"),
        (f"{POD}---\napiVersion: v1\nkind: Pod\n", "the text:6: Pod without"),
        ("just words\n", "'just words' is no object"),
        ("a: [\n", "not YAML"),
    ],
)
def test_what_is_no_manifest_is_reported_with_its_place(
    text: str, issue: str, tmp_path: Path
) -> None:
    """The server's own answer to these says little."""
    with pytest.raises(StowageError, match=issue):
        read_manifests(text, tmp_path)


def test_a_missing_file_is_reported_with_its_whole_path(tmp_path: Path) -> None:
    """The question is always where it was looked for."""
    with pytest.raises(StowageError, match=str(tmp_path / "nothing.yaml")):
        read_manifests("nothing.yaml", tmp_path)


def test_pods_of_controllers_get_the_arms_overrides() -> None:
    """The same manifests must serve under every scheduler."""
    deployment = an_object("Deployment", "web") | {
        "spec": {"template": {"metadata": {}, "spec": {"containers": []}}}
    }

    template = with_overrides_for(deployment, MINE)["spec"]["template"]

    assert template["spec"]["schedulerName"] == "mine"
    assert template["metadata"]["labels"] == {"queue": "a"}


def test_a_pod_that_names_a_scheduler_keeps_it() -> None:
    """A test of two schedulers says who places whom."""
    pod = an_object("Pod", "one") | {"spec": {"schedulerName": "other"}}

    assert with_overrides_for(pod, MINE) == pod


def test_what_has_no_pods_is_not_overridden() -> None:
    """A ConfigMap has no spec at all."""
    settings = an_object("ConfigMap", "settings")

    assert with_overrides_for(settings, MINE) == settings
