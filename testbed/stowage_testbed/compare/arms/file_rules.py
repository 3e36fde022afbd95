"""What an arm file may say: its values, what holds between them, and placeholders."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Collection, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from jsonschema import Draft202012Validator, FormatChecker

from stowage_testbed.cluster.ports import LOOPBACK
from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.issues import DocumentIssue, suggest_known
from stowage_testbed.scenario.words import is_label

PLACEHOLDERS = ("kubeconfig", "config", "port", "folder", "qps", "burst")

_ANY = re.compile(r"\{([A-Za-z][A-Za-z0-9_-]*)\}")
_KNOWN = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")


def used(texts: Collection[str]) -> set[str]:
    """Return the placeholders that some texts have."""
    return {match[1] for text in texts for match in _KNOWN.finditer(text)}


def unknown(text: str) -> Iterator[str]:
    """Yield what looks like a placeholder of a text, and is none."""
    for match in _ANY.finditer(text):
        if match[1] not in PLACEHOLDERS:
            yield match[1]


def filled(text: str, values: Mapping[str, object]) -> str:
    """Return a text with the known placeholders replaced; other braces are kept."""
    return _KNOWN.sub(lambda match: str(values[match[1]]), text)


_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?")


@functools.cache
def validator() -> Draft202012Validator:
    """Return the validator of arm files, with their formats."""
    text = resources.files(__package__).joinpath("arm-file.yaml").read_text("utf-8")
    formats = FormatChecker(formats=())
    formats.checks("label")(is_label)
    formats.checks("arm-name", raises=ValueError)(_is_arm_name)
    formats.checks("loopback-address", raises=ValueError)(_is_loopback)
    return Draft202012Validator(yaml.safe_load(text), format_checker=formats)


def _is_arm_name(value: object) -> bool:
    if isinstance(value, str) and not _NAME.fullmatch(value):
        raise ValueError(
            f"{value!r} cannot name an arm: lower-case letters, digits and '-' inside, at most 30, as in my-scheduler"
        )
    return True


def _is_loopback(value: object) -> bool:
    if not isinstance(value, str):
        return True
    address = urlsplit(value)
    if address.scheme not in {"http", "https"} or address.hostname != LOOPBACK:
        raise ValueError(
            f"{value!r} is no address on {LOOPBACK}; nothing of an arm listens "
            f"elsewhere: write for example https://{LOOPBACK}:{{port}}/readyz"
        )
    return True


Data = Mapping[str, Any]


def rule_issues(data: Data, folder: Path) -> Iterator[DocumentIssue]:
    """Yield what is wrong beyond single values; ``folder`` is the file's own."""
    yield from _program(data, folder)
    yield from _configuration(data, folder)
    yield from _placeholders(data)
    yield from _port(data)


def configuration_text(data: Data, folder: Path) -> str | None:
    """Return the configuration, wherever it stands; ``None`` if there is none."""
    text, file = data.get("configuration"), data.get("configurationFile")
    if isinstance(text, str):
        return text
    if not isinstance(file, str):
        return None
    try:
        return (folder / file).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _program(data: Data, folder: Path) -> Iterator[DocumentIssue]:
    if "image" in data:
        message = "images are not run; take the program out of the image and name it with `binary`"
        yield DocumentIssue(("image",), message, of_key=True)
    elif "binary" not in data:
        message = "the arm file lacks the key 'binary'; add it. The program to start."
        yield DocumentIssue((), message)
    binary = data.get("binary")
    if not isinstance(binary, str):
        return
    file = folder / binary
    if not file.is_file():
        yield DocumentIssue(("binary",), f"there is no file {file}; build it, or correct it")
    elif not os.access(file, os.X_OK):
        message = f"{file} cannot be run; make it executable: chmod +x {file}"
        yield DocumentIssue(("binary",), message)


def _configuration(data: Data, folder: Path) -> Iterator[DocumentIssue]:
    file = data.get("configurationFile")
    if "configuration" in data and "configurationFile" in data:
        message = "the configuration stands in the file already; keep one of the two"
        yield DocumentIssue(("configurationFile",), message, of_key=True)
    elif isinstance(file, str) and configuration_text(data, folder) is None:
        message = f"there is no readable text in {folder / file}; correct the path"
        yield DocumentIssue(("configurationFile",), message)
    named = used([text for _, text in _started_with(data)])
    given = [key for key in ("configuration", "configurationFile") if key in data]
    if given and "config" not in named:
        message = "nothing takes the configuration; add an argument with {config}"
        yield DocumentIssue((given[0],), message, of_key=True)
    if not given and "config" in named:
        for place, text in _started_with(data):
            if "config" in used([text]):
                message = "there is no configuration for {config}; add `configuration`"
                yield DocumentIssue(place, message)


def _placeholders(data: Data) -> Iterator[DocumentIssue]:
    for place, text in (*_started_with(data), *_ready(data)):
        for name in unknown(text):
            way_out = suggest_known(name, PLACEHOLDERS)
            yield DocumentIssue(place, f"no placeholder is called {{{name}}}; {way_out}")


def _port(data: Data) -> Iterator[DocumentIssue]:
    texts = [text for _, text in _started_with(data)]
    if any(name for text in texts for name in unknown(text)):
        return  # one of them may be meant for it
    texts.append(str(data.get("configuration", "")))
    for place, text in _ready(data):
        if "port" in used([text]) and "port" not in used(texts):
            message = "nothing tells the program {port}; add an argument with it"
            yield DocumentIssue(place, message)


def _started_with(data: Data) -> Iterator[tuple[Place, str]]:
    """Yield the texts of the command line and of the environment with their places."""
    arguments, environment = data.get("arguments"), data.get("environment")
    if isinstance(arguments, list):
        for number, text in enumerate(arguments):
            if isinstance(text, str):
                yield ("arguments", number), text
    if isinstance(environment, Mapping):
        for name, text in environment.items():
            if isinstance(text, str):
                yield ("environment", name), text


def _ready(data: Data) -> Iterator[tuple[Place, str]]:
    text = data.get("ready")
    if isinstance(text, str):
        yield ("ready",), text
