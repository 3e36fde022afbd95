"""The manifest agrees with what is built."""

from __future__ import annotations

import re

import pytest

from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, Tool, load_manifest

MODULES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kwok": "sigs.k8s.io/kwok",
    "kubernetes": "k8s.io/kubernetes",
    "helm": "helm.sh/helm/v3",
    "koordinator": "github.com/koordinator-sh/koordinator",
    "metrics-server": "sigs.k8s.io/metrics-server",
    "yunikorn": "github.com/apache/yunikorn-k8shim",
    "scheduler": "k8s.io/kubernetes",
    "kind": "sigs.k8s.io/kind",
    "node": "k8s.io/kubernetes",
    "prometheus": "github.com/prometheus/prometheus",
    "syft": "github.com/anchore/syft",
}


@pytest.mark.parametrize("tool", load_manifest().tools.values(), ids=lambda t: t.name)
def test_a_tool_is_built_in_the_version_that_it_says(tool: Tool) -> None:
    """The cache key and the ldflags use the manifest, the compiler uses go.mod."""
    module = MODULES[tool.folder.name]
    go_mod = (tool.folder / "go.mod").read_text(encoding="utf-8")

    pinned = re.search(rf"^\s*(?:require )?{re.escape(module)} (\S+)", go_mod, re.M)

    assert pinned is not None
    assert pinned[1] == tool.version


def test_the_oldest_go_is_new_enough_for_every_module() -> None:
    """Else the check passes and the build fails with Go's own message."""
    manifest = load_manifest()

    wanted = {
        tool.name: re.search(r"^go (\S+)", (tool.folder / "go.mod").read_text(), re.M)
        for tool in manifest.tools.values()
    }

    newest = tuple(map(int, manifest.go.split(".")))
    for name, match in wanted.items():
        assert match is not None, name
        assert tuple(map(int, match[1].split("."))) <= newest, name


def test_kubernetes_gets_its_version() -> None:
    """Without the flags the API server calls itself v0.0.0."""
    flags = load_manifest().tool("kube-apiserver").ldflags

    assert "gitVersion=v1.36.3" in flags
    assert "gitMajor=1" in flags
    assert "gitMinor=36" in flags


def test_a_plain_installation_leaves_the_compared_schedulers_out() -> None:
    """They take as long to build as all the rest, and only a comparison needs them."""
    manifest = load_manifest()

    others = {tool.name for tool in manifest.group("compare")}

    assert others == {"koord-scheduler", "yunikorn-scheduler"}
    assert "kube-scheduler" in {tool.name for tool in manifest.group(DEFAULT_GROUP)}


def test_every_group_says_how_much_room_it_takes() -> None:
    """Else a full disk is noticed after minutes of compiling."""
    manifest = load_manifest()

    assert {tool.group for tool in manifest.tools.values()} == set(manifest.space)
