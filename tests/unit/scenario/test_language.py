"""What `stowage scenario explain` and `new` say and write."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from stowage_testbed.amounts.resources import NOTHING, ONE_POD, Resources
from stowage_testbed.base.errors import InputError
from stowage_testbed.cli import app
from stowage_testbed.cluster.devices import Devices
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.scenario.expected import Bounds
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.schema import explain_word, make_strict_schema
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.scenario.steps.changing import Scale
from stowage_testbed.scenario.steps.checking import Check
from stowage_testbed.scenario.steps.devices import RemoveDevices, RestoreDevices
from stowage_testbed.scenario.steps.nodes import AddNodes, Cordon, Drain
from stowage_testbed.scenario.steps.releasing import Pack, Release

SCENARIOS = Path(__file__).parents[3] / "scenarios"
EXPLAINED = yaml.safe_load(Path(__file__).with_name("explained.yaml").read_text())


def places(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the place of every word of a schema, and its description."""
    for name, inner in schema.get("properties", {}).items():
        yield ".".join((*path, name)), inner["description"]
        yield from places(inner, (*path, name))
    parts = [schema.get("items"), schema.get("additionalProperties")]
    for part in (*parts, *schema.get("anyOf", ())):
        if isinstance(part, dict):
            yield from places(part, path)
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from places(make_strict_schema()["$defs"][name], path)


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_every_word_that_a_file_may_have_is_explained() -> None:
    """Also what stands in lists, in mappings of any names, and in definitions."""
    words = dict(places(make_strict_schema()))

    assert {"workload.pod.containers.resources", "steps.check.objects.phase"} < set(words)
    for path, description in words.items():
        assert description in one_line(explain_word(path))


@pytest.mark.parametrize(("path", "said"), [*EXPLAINED["known"], *EXPLAINED["unknown"]])
def test_a_word_comes_with_limits_default_and_need_or_those_near_it(path: str, said: str) -> None:
    """Whoever writes a file sees what the check will say of it."""
    try:
        told = explain_word(path)
    except InputError as error:
        told = str(error)

    assert said in one_line(told)


def test_the_command_explains_words_and_scenarios() -> None:
    """Names of scenarios have a slash; without one the outermost words are meant."""
    words = ["steps.cordon", "burst/arrivals"]
    some, outermost = (CliRunner().invoke(app, ["scenario", "explain", *asked]) for asked in (words, []))

    assert (some.exit_code, outermost.exit_code) == (0, 0)
    assert some.output.startswith("steps.cordon: text or a list, each entry text, at least 1\n")
    # One name is the default run and its variants, as for `run`.
    assert "\nname: burst/arrivals\n" in some.output
    assert "\nname: burst/arrivals@small\n" in some.output
    assert outermost.output == explain_word()
    assert "  expect: a mapping; required\n" in outermost.output


ROOM = NOTHING + ONE_POD + Resources(cpu=1, memory=1)
STEPS = [
    (Apply(("a", "b", "c")), "create a, b and c"),
    (Scale("a", 1), "scale: {workload: a, to: 1}"),
    (Drain(("n", "m"), timeout_s=3), "drain: {nodes: [n, m], timeout_s: 3}"),
    (Cordon(("n",)), "cordon: n"),
    (RemoveDevices(("n",), ("gpu-0", "gpu-1")), "remove-devices: {nodes: n, devices: [gpu-0, gpu-1]}"),
    (RestoreDevices(("n",)), "restore-devices: n"),
    (Check(placed=Bounds(1, 1)), "check: {placed: {min: 1, max: 1}}"),
    (Pack(), "pack: {}"),
    (Release("optimizer", optimizer=True), "serve with profile optimizer, {'optimizer': True}"),
    (AddNodes(NodePool("late", 2, ROOM)), "add-nodes: {name_prefix: late"),
    (AddNodes(NodePool("n", 1, ROOM, devices=(Devices(model="T4", count=2),))), "devices: {model: T4, count: 2}}"),
]


@pytest.mark.parametrize(("action", "words"), STEPS, ids=lambda one: getattr(one, "kind", ""))
def test_a_step_is_reported_as_it_is_written(action: Action, words: str) -> None:
    """Whoever watches a run finds the line again."""
    assert words in action.in_words()


def new(name: str, folder: Path) -> Result:
    return CliRunner().invoke(app, ["init", str(folder), "--scenario", name])


def test_a_new_scenario_has_no_issues_and_overwrites_nothing(tmp_path: Path) -> None:
    """The first thing an author sees is what works, and his work stays."""
    path = tmp_path / "scenarios" / "web" / "scale-up.yaml"

    made = new("web/scale-up", tmp_path)
    text = path.read_text("utf-8")
    again = new("web/scale-up", tmp_path)

    assert (made.exit_code, str(path) in made.output) == (0, True)
    assert text.startswith("# yaml-language-server: $schema=../schema.json\n")
    assert [s.scenario_id for s in load_file(path)] == [
        "web/scale-up", "web/scale-up@peak",
    ]  # fmt: skip
    assert "there is already a file" in str(again.exception)
    assert path.read_text("utf-8") == text
    assert [path] == list(path.parent.iterdir())
    bad = new("Scale Up", tmp_path)
    assert "write a topic and a behaviour" in str(bad.exception)
    assert [path.parent] == list(path.parents[1].iterdir())
