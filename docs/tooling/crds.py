"""The page of the custom resources, from the definitions that the chart installs."""

from __future__ import annotations

from typing import Any

import yaml

from docs.tooling.markdown import code, page, plain, table
from docs.tooling.schema_tree import Field, fields
from stowage_testbed.helm.install import CHART

FOLDER = CHART / "crds"
NOTE = """\
This page is generated from `charts/stowage/crds/`. All resources belong to the whole
cluster and not to a namespace. `kubectl explain packingplan.spec` prints the same on a
cluster that has them.
"""
_HEADERS = ("field", "type", "default", "meaning")
_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")


def crds_page() -> str:
    """Return the page."""
    return page("Custom resources", NOTE, *(_section(one) for one in definitions()))


def definitions() -> list[dict[str, Any]]:
    """Return the definitions, by the names of their files."""
    return [yaml.safe_load(file.read_text("utf-8")) for file in sorted(FOLDER.iterdir())]


def version_fields(version: dict[str, Any]) -> list[Field]:
    """Return the fields of a version of a resource."""
    schema = version["schema"]["openAPIV3Schema"]
    return [field for field in fields(schema, {}) if field.path.partition(".")[0] not in _OF_EVERY_OBJECT]


def _section(definition: dict[str, Any]) -> str:
    spec = definition["spec"]
    names = spec["names"]
    versions = "\n".join(_version(spec["group"], one) for one in spec["versions"])
    short = ", ".join(code(name) for name in names.get("shortNames", ()))
    return f"## {names['kind']}\n\nShort names: {short}. Plural: {code(names['plural'])}.\n\n{versions}"


def _version(group: str, version: dict[str, Any]) -> str:
    schema = version["schema"]["openAPIV3Schema"]
    rules = [
        (code(place), str(rule.get("message", rule["rule"])))
        for place, inner in _places(version)
        for rule in inner.get("x-kubernetes-validations", ())
    ]
    kept = "What the API server refuses:\n\n" + table(("at", "message"), rules)
    return (
        f"`apiVersion: {group}/{version['name']}`\n\n"
        f"{plain(str(schema.get('description', '')))}\n\n"
        f"{table(_HEADERS, [field.row for field in version_fields(version)])}\n"
        f"{kept if rules else ''}"
    )


def _places(version: dict[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for field in version_fields(version):
        found.append((field.path, field.schema))
        if "items" in field.schema:
            found.append((f"{field.path}[]", field.schema["items"]))
    return found
