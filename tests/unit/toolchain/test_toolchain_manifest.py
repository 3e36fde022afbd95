"""The manifest agrees with what is built, and `stowage tools` with the manifest."""

import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from packaging.version import Version
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cli import app
from stowage_testbed.toolchain import choose_minor
from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, Tool, built_minors, find_minor, load_manifest

HEAVY = ["kubernetes", "ortools", "pandas", "numpy", "matplotlib", "grpc"]


MAIN = {
    "descheduler": "sigs.k8s.io/descheduler",
    "scheduler": "k8s.io/kubernetes",
    "yunikorn": "github.com/apache/yunikorn-k8shim",
}
"""The modules whose versions programs of our own have."""


@pytest.mark.parametrize("tool", load_manifest().all_tools, ids=lambda tool: f"{tool.name}-{tool.version}")
def test_a_tool_is_built_in_its_version_by_a_go_that_is_new_enough(tool: Tool) -> None:
    """The cache key and the ldflags use the manifest, the compiler uses go.mod."""
    go_mod = (tool.folder / tool.module_file).read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^\s*(?:require )?(\S+/\S+) (v\S+)", go_mod, re.M))
    go = dict(re.findall(r"^(go) (\S+)", go_mod, re.M))
    main = MAIN.get(tool.folder.name, tool.package)
    modules = [module for module in pinned if main.startswith(module)]

    assert [pinned[module] for module in modules] == [tool.version]
    assert Version(go["go"]) <= Version(load_manifest().go)


def test_a_tool_of_kubernetes_is_of_a_minor_whose_version_it_says() -> None:
    """Else it runs with another's cluster, or the API server calls itself v0.0.0."""
    manifest = load_manifest()
    flags = manifest.tool("kube-apiserver", "1.36").ldflags

    assert "gitVersion=v1.36.3" in flags
    assert "gitMajor=1" in flags
    assert "gitMinor=36" in flags
    assert manifest.tool("helm") == manifest.tool("helm", "1.36")
    with pytest.raises(ValueError, match="kube-apiserver of which minor"):
        manifest.tool("kube-apiserver")
    with pytest.raises(StowageError, match=r"1\.35, .* stock .* 1\.37 and 1\.36"):
        manifest.tool("stowage-scheduler", "1.35")


@pytest.mark.parametrize("minor", built_minors())
def test_a_minor_is_in_upstreams_support(minor: str) -> None:
    """Of what nobody mends any more nobody should build; a new one is due before."""
    ends = find_minor(minor).ends

    assert datetime.now(tz=UTC).date() <= ends, (
        f"Kubernetes {minor} was supported until {ends}: drop it, and see "
        "docs/how-to/add-a-kubernetes-minor.md for the next one"
    )


def test_a_minor_is_chosen_or_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong word must name the right ones, and where it came from."""
    monkeypatch.delenv("STOWAGE_KUBERNETES", raising=False)
    assert choose_minor() == built_minors()[0]
    monkeypatch.setenv("STOWAGE_KUBERNETES", "1.36")
    assert (choose_minor(), choose_minor("1.35")) == ("1.36", "1.35")
    monkeypatch.setenv("STOWAGE_KUBERNETES", "1.3")

    with pytest.raises(InputError, match=r"STOWAGE_KUBERNETES .* 1\.37, 1\.36"):
        choose_minor()


def test_a_plain_installation_leaves_the_compared_schedulers_out() -> None:
    """They take as long as all the rest; every group says how much room it takes."""
    manifest = load_manifest()
    others = {tool.name for tool in manifest.group("compare", "1.37")}
    default = {tool.name for tool in manifest.group(DEFAULT_GROUP, "1.37")}

    assert others == {"koord-scheduler", "yunikorn-scheduler"}
    assert "kube-scheduler" in default
    assert {tool.group for tool in manifest.all_tools} == set(manifest.space)


def test_a_start_of_the_command_line_loads_nothing_heavy() -> None:
    """Each takes half a second; with all in place an install takes less than one."""
    code = f"import sys, stowage_testbed.cli;print([m for m in {HEAVY} if m in sys.modules])"

    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert run.stdout == "[]\n"


@pytest.mark.usefixtures("cache")
def test_the_list_shows_what_is_missing() -> None:
    """Versions too, for those who report a bug."""
    result = CliRunner().invoke(app, ["tools", "list"])

    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["etcd", "v3.7.3", "1.37", "default", "missing"] in lines
    assert ["stowage-scheduler", "v1.36.3", "1.36", "default", "missing"] in lines
    assert ["koord-scheduler", "v1.8.0", "-", "compare", "missing"] in lines


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["install", "etdc"], "there is no tool 'etdc'; the tools are etcd, "),
        (["path", "etcd"], "run: stowage tools install etcd"),
        (["install", "--group", "compare", "etcd"], "name tools, a group with --group"),
        (["install", "--for", "run", "etcd"], "or a command with --for"),
        (["install", "--group", "comapre"], "no group of tools 'comapre'; the groups"),
    ],
)
def test_an_issue_is_said_with_the_way_out(arguments: list[str], said: str) -> None:
    """The command line prints those without a traceback."""
    result = CliRunner().invoke(app, ["tools", *arguments])

    assert isinstance(result.exception, StowageError)
    assert said in str(result.exception)
