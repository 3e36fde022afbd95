"""The rules that a single value of an arm file keeps, as JSON Schema."""

from __future__ import annotations

import functools
import re
from importlib import resources
from urllib.parse import urlsplit

import yaml
from jsonschema import Draft202012Validator, FormatChecker

from stowage_testbed.cluster.ports import LOOPBACK
from stowage_testbed.scenario.words import is_label

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?")


@functools.cache
def validator() -> Draft202012Validator:
    """Return the validator of arm files, with their formats."""
    text = resources.files(__package__).joinpath("schema.yaml").read_text("utf-8")
    formats = FormatChecker(formats=())
    formats.checks("label")(is_label)
    formats.checks("arm-name", raises=ValueError)(_is_arm_name)
    formats.checks("loopback-address", raises=ValueError)(_is_loopback)
    return Draft202012Validator(yaml.safe_load(text), format_checker=formats)


def _is_arm_name(value: object) -> bool:
    if isinstance(value, str) and not _NAME.fullmatch(value):
        raise ValueError(
            f"{value!r} cannot name an arm: lower-case letters, digits and '-' inside, "
            "at most 30, as in my-scheduler"
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
