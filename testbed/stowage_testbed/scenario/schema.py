"""The scenario language for editors and for people.

Its JSON Schema, where any value may be a placeholder, and words.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.load import read_filled
from stowage_testbed.scenario.model import Scenario, choose_headlines
from stowage_testbed.scenario.reading import NOUNS, Schema, find_mapping, find_words, make_schema, resolve
from stowage_testbed.scenario.scenario_file import ACTIONS, ScenarioFile
from stowage_testbed.scenario.types import SCENARIO_NAME, key_of
from stowage_testbed.scenario.yaml_file import FIXED, suggest_known

_WIDTH = 88
_WORDS = re.compile(r"[\w-]+(\.[\w-]+)*")
_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "minItems": "at least {}",
    "maxItems": "at most {}",
}
_PLACEHOLDER: Schema = {"type": "string", "pattern": r"^\$\{[^}]+\}$"}


def make_strict_schema() -> Schema:
    """Return the schema of a scenario whose parameters are filled in."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Stowage scenario"}
    return draft | make_schema(ScenarioFile)


def write_editor_schema() -> str:
    """Return the schema for editors, as it is committed: any value may be a placeholder."""
    schema = make_strict_schema()
    for name, section in schema["properties"].items():
        if name not in (*FIXED, "version"):
            _open(section)
            schema["properties"][name] = _allow_placeholder(section)
    for definition in schema["$defs"].values():
        _open(definition)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _open(schema: Schema) -> None:
    """Let every value below a schema be a placeholder as well."""
    for branch in schema.get("anyOf", ()):
        _open(branch)
    for name, inner in schema.get("properties", {}).items():
        _open(inner)
        schema["properties"][name] = _allow_placeholder(inner)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            _open(schema[keyword])
            schema[keyword] = _allow_placeholder(schema[keyword])
    schema.pop("prefixItems", None)


def _allow_placeholder(schema: Schema) -> Schema:
    inner = dict(schema)
    notes: Schema = {key: inner.pop(key) for key in ("description", "default") if key in inner}
    if not inner or (inner.get("type") == "string" and not {"pattern", "enum"} & inner.keys()):
        return schema
    return {**notes, "anyOf": [inner, _PLACEHOLDER]}


def explain_scenario(scenario: Scenario) -> str:
    """Return a scenario as its file has it, parameters filled in and with every default and deadline."""
    schema = make_strict_schema()
    data = read_filled(scenario)
    kinds = {step.kind: step.action for step in scenario.steps if step.line and step.action.deadline}
    limits = {kind: timeouts.step_s(scenario, one) for kind, one in kinds.items()}
    data["timeouts"] = {"end": timeouts.end_s(scenario), **limits}
    if scenario.is_measured:
        data["headlines"] = list(choose_headlines(scenario))
    shown = {key: value for key, value in data.items() if key not in ("parameters", "variants", "name")}
    if scenario.steps[0].line == 0:
        shown.setdefault("scheduler", {})
    full = {"name": scenario.scenario_id, **_complete(shown, schema, schema["$defs"])}
    text = yaml.safe_dump(full, sort_keys=False, allow_unicode=True, width=110)
    return f"# Of the file {scenario.path}, with the defaults of what it leaves out\n{text}"


def _complete(value: Any, schema: Schema, defs: Mapping[str, Schema]) -> Any:
    """Return a value with the defaults of what it leaves out."""
    schema = resolve(schema, defs)
    if isinstance(value, list):
        return [_complete(one, schema.get("items", {}), defs) for one in value]
    if not isinstance(value, dict):
        return value
    mapping = schema
    if "properties" not in schema:
        branches = [resolve(one, defs) for one in schema.get("anyOf", ())]
        mapping = next((one for one in branches if "properties" in one), schema)
    properties, rest = mapping.get("properties", {}), mapping.get("additionalProperties")
    inner = rest if isinstance(rest, dict) else {}
    full = {key: _complete(one, properties.get(key, inner), defs) for key, one in value.items()}
    return full | {key: one["default"] for key, one in properties.items() if key not in value and "default" in one}


def is_word(text: str) -> bool:
    """Return whether a text is a word of the language, and no file.

    A folder of such a name is written as ``./scheduler``.
    """
    if not _WORDS.fullmatch(text) or text.endswith((".yaml", ".yml")):
        return False
    return text.partition(".")[0] in {key_of(one.name) for one in fields(ScenarioFile)} or not Path(text).exists()


def explain_word(path: str = "") -> str:
    """Return what a word, as in ``steps.burst.arrival``, means; a kind of step may stand without ``steps``.

    Of none, all. Raises an InputError that names the nearest.
    """
    schema = make_strict_schema()
    defs = schema["$defs"]
    words = path.split(".") if path else []
    if words and words[0] in ACTIONS and words[0] not in schema["properties"]:
        words = ["steps", *words]
        path = ".".join(words)
    for depth, name in enumerate(words):
        above = find_words(schema, words[:depth])
        known = list(find_mapping(above, defs).get("properties", {}))
        if name not in known:
            whole, near = ".".join(words[:depth]), suggest_known(name, known)
            if not depth:
                raise InputError(f"no scenario and no word of a scenario is called {name!r}; {near}")
            if not known:
                raise InputError(f"{whole} has no words in it, so no {name!r}; it is {_brief(above, defs)}")
            raise InputError(f"no {name!r} in {whole}; {near}")
    return "\n".join(_write_lines(path, find_words(schema, words), defs)) + "\n"


def _write_lines(path: str, schema: Schema, defs: Mapping[str, Schema]) -> Iterator[str]:
    if path:
        yield from _wrap(f"{path}: {_brief(schema, defs)}", 0)
    inner = find_mapping(schema, defs)
    for text in dict.fromkeys(filter(None, (schema.get("description"), inner.get("description")))):
        yield from _wrap(text, 1)
    further = []
    for name, one in inner.get("properties", {}).items():
        needed = "; required" if name in inner.get("required", ()) else ""
        yield ""
        yield from _wrap(f"{name}: {_brief(one, defs)}{needed}", 1)
        yield from _wrap(one.get("description", ""), 2)
        if find_mapping(one, defs):
            further.append(f"{path}.{name}".lstrip("."))
    if inner and inner.get("additionalProperties") is True:
        yield ""
        yield "Any other key may stand there too, as Kubernetes knows it."
    if further:
        yield ""
        yield from _wrap(f"More words are in {', '.join(further)}.", 0)


def _wrap(text: str, level: int) -> list[str]:
    indent = "  " * level
    return textwrap.wrap(
        " ".join(text.split()),
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  " if level < 1 else indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _brief(schema: Schema, defs: Mapping[str, Schema]) -> str:
    """Return what a value may be, with its limits and its default."""
    schema = resolve(schema, defs)
    limits = [word.format(schema[key]) for key, word in _LIMITS.items() if key in schema]
    text = ", ".join([_type(schema, defs), *([" and ".join(limits)] if limits else [])])
    return f"{text}; default {_show(schema['default'])}" if "default" in schema else text


def _type(schema: Schema, defs: Mapping[str, Schema]) -> str:
    match schema:
        case {"enum": list(values)}:
            return f"one of {', '.join(map(_show, values))}"
        case {"const": value}:
            return _show(value)
        case {"anyOf": list(branches)}:
            return " or ".join(_brief(one, defs) for one in branches)
        case {"items": dict(items)} if items:
            return f"a list, each entry {_brief(items, defs)}"
        case {"additionalProperties": dict(values)} if "properties" not in schema and values:
            return f"a mapping, each value {_brief(values, defs)}"
        case {"type": str(kind)}:
            return NOUNS[kind]
    return "anything"


def _show(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


SCHEMA_FILE = "schema.json"


def write_starter(name: str, folder: Path) -> Path:
    """Write a file for a scenario and return its path; raises an InputError if it cannot be called so, or is there."""
    if not SCENARIO_NAME.fullmatch(name):
        raise InputError(f"a scenario cannot be called {name!r}; write a topic and a behaviour, as in web/scale-up")
    path = folder / f"{name}.yaml"
    text = make_starter(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputError(f"there is already a file {path}; choose another name, or remove it") from error
    return path


def make_starter(name: str) -> str:
    """Return the text of a scenario of this name."""
    text = resources.files(__package__).joinpath("starter.yaml").read_text("utf-8")
    more = ", ".join(kind for kind in ACTIONS if f"- {kind}:" not in text)
    words = f"More steps: {more}. `stowage scenario explain steps` describes each."
    comment = textwrap.fill(words, 110, initial_indent="  # ", subsequent_indent="  # ", break_on_hyphens=False)
    text = text.replace("  # MORE STEPS", comment)
    return text.replace("SCHEMA", f"../{SCHEMA_FILE}").replace("NAME", name)
