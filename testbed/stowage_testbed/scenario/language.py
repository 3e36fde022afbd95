"""The language of scenarios in plain words: what may stand where, and what it means.

All of it is read from the declarations that files are checked by.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stowage_testbed.base.errors import InputError
from stowage_testbed.declaration import Schema, list_settings, make_case_schema, make_object_schema, resolve
from stowage_testbed.scenario.issues import FORMATS, NOUNS, suggest_known
from stowage_testbed.scenario.scenario_file import ScenarioFile
from stowage_testbed.scenario.words import HALVES, STEPS

_WIDTH = 88
_WORDS = re.compile(r"[\w-]+(\.[\w-]+)*")
_LIMITS = {"minimum": "at least {}", "exclusiveMinimum": "more than {}", "maximum": "at most {}"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the language.

    Attributes
    ----------
    path
        The words that lead to it, and itself: ``workload.kind``.
    required
        Whether it must be there, or in which form of a scenario; empty if it may not.
    cases
        What each form of a scenario adds to its schema.
    """

    path: tuple[str, ...]
    schema: Schema
    required: str = ""
    cases: Mapping[str, Schema] = field(default_factory=dict)

    @property
    def below(self) -> dict[str, Word]:
        """The words that may stand in it, in lists and mappings also in each entry."""
        inner = _find_mapping(self.schema)
        cases = {case: _find_mapping(one) for case, one in self.cases.items()}

        def needed(name: str) -> str:
            needing = [c for c, one in cases.items() if name in one.get("required", ())]
            always = name in inner.get("required", ())
            return "required" if always else "".join(f"required {c}" for c in needing)

        def added(name: str) -> dict[str, Schema]:
            return {case: one.get("properties", {}).get(name, {}) for case, one in cases.items()}

        return {
            name: Word((*self.path, name), resolve(one), needed(name), added(name))
            for name, one in inner.get("properties", {}).items()
        }

    @property
    def brief(self) -> str:
        """Its type, whether it must be there, and its default."""
        parts = [_describe(self.schema), self.required]
        if "default" in self.schema:
            parts.append(f"default {_show(self.schema['default'])}")
        return "; ".join(filter(None, parts))


def is_word(text: str) -> bool:
    """Return whether a text is of words of the language, and no file or folder.

    A folder with the name of an outermost word has to be named as in ``./scheduler``.
    """
    if not _WORDS.fullmatch(text) or text.endswith((".yaml", ".yml")):
        return False
    outermost = {one.key for one in list_settings(ScenarioFile)}
    return text.partition(".")[0] in outermost or not Path(text).exists()


def explain_word(path: str = "") -> str:
    """Return what a word means, and the words that may stand in it; of none, of all.

    Parameters
    ----------
    path
        As in ``steps.burst.arrival``.

    Raises
    ------
    InputError
        There is no such word; the nearest one is named.
    """
    word = Word(
        (),
        {**make_object_schema(ScenarioFile), "description": ScenarioFile.__doc__},
        cases={case: make_case_schema(ScenarioFile, case) for case in (STEPS, HALVES)},
    )
    for name in path.split(".") if path else ():
        if name not in word.below:
            raise InputError(_explain_unknown(name, word))
        word = word.below[name]
    return "\n".join(_write_lines(word)) + "\n"


def _explain_unknown(name: str, word: Word) -> str:
    if not word.path:
        way_out = suggest_known(name, list(word.below))
        return f"no scenario and no word of a scenario is called {name!r}; {way_out}"
    parent = ".".join(word.path)
    if not word.below:
        return f"{parent} has no words in it, so no {name!r}; it is {word.brief}"
    return f"no {name!r} in {parent}; {suggest_known(name, list(word.below))}"


def _write_lines(word: Word) -> Iterator[str]:
    if word.path:
        yield from _wrap(f"{'.'.join(word.path)}: {word.brief}", 0)
    inner = _find_mapping(word.schema)
    descriptions = [word.schema.get("description"), inner.get("description")]
    for text in dict.fromkeys(filter(None, descriptions)):
        yield from _wrap(text, 1)
    for name, one in word.below.items():
        yield ""
        yield from _wrap(f"{name}: {one.brief}", 1)
        yield from _wrap(one.schema.get("description", ""), 2)
    further = [".".join(one.path) for one in word.below.values() if one.below]
    others = inner.get("additionalProperties", {})
    if inner and others is not False:
        yield ""
        meaning = others.get("description", "as Kubernetes knows it.")
        yield from _wrap(f"Any other key may stand there too: {meaning}", 0)
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


def _find_mapping(schema: Schema) -> Schema:
    """Return the schema of the mapping in a schema; empty if there is none."""
    schema = resolve(schema)
    if "properties" in schema:
        return schema
    parts = [schema.get("items"), schema.get("additionalProperties")]
    for part in (*parts, *schema.get("anyOf", ())):
        if isinstance(part, Mapping) and (found := _find_mapping(dict(part))):
            return found
    return {}


def _describe(schema: Schema) -> str:
    """Return what a value may be, in words, with its limits."""
    schema = resolve(schema)
    must = FORMATS.get(schema.get("format", ""), "")
    limits = [word.format(schema[key]) for key, word in _LIMITS.items() if key in schema]
    return ", ".join(filter(None, [_describe_type(schema), must, " and ".join(limits)]))


def _describe_type(schema: Schema) -> str:
    match schema:
        case {"enum": list(values)}:
            several = "one of " if len(values) > 1 else ""
            text = several + ", ".join(map(_show, values))
        case {"anyOf": list(branches)}:
            text = " or ".join(map(_describe, branches))
        case {"type": list(kinds)}:
            text = " or ".join(NOUNS[kind] for kind in kinds)
        case {"items": dict(items)} if items:
            text = f"a list, each entry {_describe(items)}"
        case {"additionalProperties": dict(values)} if "properties" not in schema:
            text = f"a mapping, each value {_describe(values)}"
        case {"type": str(kind)}:
            text = NOUNS[kind]
        case _:
            text = "anything"
    return text


def _show(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
