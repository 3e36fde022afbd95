"""Pages: generated ones lack nothing, and what others tell readers to do exists."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.core import TyperGroup

from docs.tooling.chart_values import chart_values_page
from docs.tooling.command_blocks import command_blocks, missing, pages
from docs.tooling.command_line import command_line_page, optimizer_parser, stowage_commands
from docs.tooling.crds import crds_page, definitions
from docs.tooling.markdown import cell
from docs.tooling.metrics import go_files, metrics_page, optimizer_metrics, read
from docs.tooling.scenario_schema import scenario_schema_page
from stowage_optimizer.cli import COMMANDS
from stowage_optimizer.strategies.registry import available_strategies
from stowage_testbed.cli import app
from stowage_testbed.compare.arms import ARMS
from stowage_testbed.compare.arms.file_arm import ArmFile, Declared
from stowage_testbed.helm.install import CHART
from stowage_testbed.scenario.schema import make_strict_schema

ROOT = Path(__file__).parents[3]
BY_HAND = ROOT / "docs" / "reference" / "profiles-and-strategies.md"
_REGISTERED = re.compile(r"MustRegister\(([^)]*)\)", re.S)


def parts(schema: object, word: str) -> list[Any]:
    """Return what stands below a word of JSON Schema, at any depth."""
    if isinstance(schema, list):
        return [part for inner in schema for part in parts(inner, word)]
    if not isinstance(schema, dict):
        return []
    found = [schema[word]] if word in schema else []
    return [*found, *parts([*schema.values()], word)]


def test_every_command_and_option_of_stowage_is_there() -> None:
    """The groups are walked down to the last command."""
    page = command_line_page()
    commands = dict(stowage_commands())

    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    shown = {name for name, one in group.commands.items() if not one.hidden}
    assert {name.split()[1] for name in commands} == shown
    for name, command in commands.items():
        section = page.split(f"### {name}\n", 1)[1].split("\n### ", 1)[0]
        options = [option for one in command.params for option in one.opts]
        assert [one for one in options if one.startswith("--") and one != "--help"
                and f"`{one}" not in section] == []  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_of_the_optimiser_is_there(name: str) -> None:
    """Its parsers are made when a command runs, so each is run up to there."""
    section = command_line_page().split(f"### stowage-optimizer {name}\n", 1)[1]
    section = section.split("\n### ", 1)[0]
    options = [
        option
        for action in optimizer_parser(name)._actions
        for option in action.option_strings
        if option not in {"-h", "--help"}
    ]

    assert [one for one in options if f"`{one}`" not in section] == []


def test_every_word_of_the_scenario_schema_is_there() -> None:
    """Whatever a file may say can be looked up."""
    page = scenario_schema_page()
    words = {key for one in parts(make_strict_schema(), "properties") for key in one}

    assert len(words) > 100
    shown = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]+)`", page))))
    assert words - shown - {"$defs"} == set()


def test_every_value_of_the_chart_is_there() -> None:
    """With its comment, its default, and what the schema says."""
    page = chart_values_page()
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))

    def leaves(value: object, path: str, inner: dict[str, object]) -> list[str]:
        below = inner.get("properties")
        if not isinstance(value, dict) or not isinstance(below, dict):
            return [path]
        return [leaf for key, one in value.items() for leaf in leaves(one, f"{path}.{key}".lstrip("."), below[key])]

    defaults = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    wanted = leaves(defaults, "", schema)
    assert len(wanted) > 80
    assert [one for one in wanted if f"| `{one}` |" not in page] == []
    assert "| `priorityOptimizer.maxHoldShare` | number | `0.05` | Share of " in page


def test_every_field_of_the_custom_resources_is_there() -> None:
    """With nested ones; and what the API server refuses."""
    page = crds_page()
    schemas = [
        version["schema"]["openAPIV3Schema"]["properties"][part]
        for definition in definitions()
        for version in definition["spec"]["versions"]
        for part in ("spec", "status")
    ]
    names = {key for one in parts(schemas, "properties") for key in one}
    rules = [rule for one in parts(schemas, "x-kubernetes-validations") for rule in one]
    messages = {rule["message"] for rule in rules}
    shown = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", page))))
    assert len(names) > 40
    assert names - shown == set()
    assert [one for one in messages if cell(one) not in page] == []


def test_every_metric_that_is_registered_is_there() -> None:
    """One that is defined in another way fails here, and not in silence."""
    page = metrics_page()

    for file in go_files():
        registered = _REGISTERED.findall(file.read_text("utf-8"))
        names = [one for text in registered for one in text.split(",") if one.strip()]
        assert len(read(file)) == len(names) > 0
        assert [one.name for one in read(file) if f"`{one.name}`" not in page] == []
        assert [one for one in read(file) if not one.meaning] == []
    assert "`stowage_priority_optimizer_solves_total` | counter | `end_reason`" in page
    assert [one for one in optimizer_metrics() if f"`{one.name}`" not in page] == []


def test_every_strategy_arm_and_profile_is_described() -> None:
    """That page is written by hand."""
    text = BY_HAND.read_text("utf-8")
    profiles = [file.stem for file in (CHART / "profiles").glob("*.yaml")]

    assert profiles
    named = [*available_strategies(), *ARMS, *profiles]
    assert [one for one in named if f"`{one}`" not in text] == []


def test_every_key_of_an_arm_file_is_described() -> None:
    """No command prints them; whoever writes such a file has that page only."""
    page = (ROOT / "docs/how-to/compare-schedulers.md").read_text("utf-8")
    section = page.partition("## Add a scheduler of your own")[2].partition("\n## ")[0]
    told = set(re.findall(r"\w+", section))
    keys = {one.name for cls in (ArmFile, Declared) for one in fields(cls)}

    # An image is refused, with what to write in its place.
    assert keys - told == {"image"}


DOCS = ROOT / "docs"
PAGES = pages(DOCS)
ROOMS = (
    "benchmarks", "charts", "ci", "docs", "optimizer", "scenarios", "scheduler",
    "testbed", "tests",
)  # fmt: skip
_CODE = re.compile(r"`([^`\n]+)`")
_FENCED = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
_TARGET = re.compile(r"^ *make ([a-z][-a-z0-9]*)", re.M)


def ids(page: Path) -> str:
    return str(page.relative_to(DOCS))


def paths(page: Path) -> list[str]:
    """Return what a page shows as code and what begins like a path of the checkout.

    What its own commands write is left out.
    """
    text = _FENCED.sub("", page.read_text("utf-8"))
    commands = "\n".join(block.text for block in command_blocks(page))
    return [
        word
        for word in _CODE.findall(text)
        if "/" in word and " " not in word and word.partition("/")[0] in ROOMS and f"> {word}" not in commands
    ]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_the_blocks_of_a_page_can_be_read(page: Path) -> None:
    """A fence with a typing error would be left out in silence."""
    blocks = command_blocks(page)

    fences = re.findall(r"^ *```sh", page.read_text("utf-8"), re.M)
    assert len(blocks) == len(fences)


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.rglob("*.md")], ids=str)
def test_every_path_and_make_target_on_a_page_exists(page: Path) -> None:
    """Code is moved by people who do not read every page."""
    gone = []
    for path in paths(page):
        known = path.partition("<")[0].rstrip("/")
        if "<" in path and not path[: path.index("<")].endswith("/"):
            known = str(Path(known).parent)
        if not list(ROOT.glob(known)):
            gone.append(path)

    assert gone == []
    targets = set(re.findall(r"^([a-z0-9][-a-z0-9]*):", (ROOT / "Makefile").read_text(), re.M))
    text = page.read_text("utf-8")
    commands = [*_FENCED.findall(text), *_CODE.findall(text)]

    assert {t for one in commands for t in _TARGET.findall(one)} <= targets


def test_an_expected_line_occurs_whatever_stands_between() -> None:
    """Times differ from run to run; words must not."""
    said = "run 1\npaper/figure-1   -   2 → 3  in 9.1 s   passed\n"

    assert missing(("figure-1 ... 2 → 3 ... passed", "run   1"), said) == []
    assert missing(("figure-1 ... FAILED", "passed ... figure-1"), said) == [
        "figure-1 ... FAILED",
        "passed ... figure-1",
    ]
