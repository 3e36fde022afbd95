#!/usr/bin/env python3
"""Writes the JSON schemas that kubeconform needs of all that the chart installs.

``ci/chart_schemas.py FOLDER``; a file is ``GROUP/KIND_VERSION.json``, and the group of
core kinds is v1. They are made of the API's own descriptions: Kubernetes' OpenAPI and
the operator's definitions from the Go module proxy, whose checksums protect them, and
the chart's own definitions. Unknown fields, of which the API server warns, are refused.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.errors import StowageError
from stowage_testbed.helm.install import CHART
from stowage_testbed.layout import shipped
from stowage_testbed.toolchain.golang import find_go, go_environment
from stowage_testbed.toolchain.manifest import load_manifest

KUBERNETES = "k8s.io/kubernetes"
OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.93.1"
OPERATED = ("servicemonitor", "prometheusrule")
REFERENCE = "#/definitions/"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

Schema = dict[str, Any]
Named = tuple[str, str, str]
"""Group, kind and version."""


def main(folder: Path) -> None:
    """Write all schemas."""
    definitions = kubernetes_definitions(module(KUBERNETES))
    found = dict(kubernetes_schemas(definitions))
    operator = module(OPERATOR) / "example/prometheus-operator-crd"
    crds = [operator / f"monitoring.coreos.com_{kind}s.yaml" for kind in OPERATED]
    for file in (*crds, *(CHART / "crds").glob("*.yaml")):
        found |= dict(custom_schemas(file, definitions))
    for (group, kind, version), schema in found.items():
        file = folder / (group or version) / f"{kind.lower()}_{version}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(schema), "utf-8")


def module(name: str) -> Path:
    """Return the folder of a Go module; without a version, it is the scheduler's."""
    try:
        done = subprocess.run(
            [str(find_go(load_manifest().go).file), "mod", "download", "-json", name],
            cwd=shipped("scheduler"),
            env=go_environment(),
            capture_output=True,
            text=True,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        said = f"{error.stdout}{error.stderr}".strip()
        raise StowageError(
            f"{name} cannot be had from the Go module proxy: {said}"
        ) from error
    return Path(json.loads(done.stdout)["Dir"])


def kubernetes_definitions(kubernetes: Path) -> Schema:
    """Return the definitions of Kubernetes' OpenAPI, by name, closed."""
    file = kubernetes / "api/openapi-spec/swagger.json"
    definitions = closed(json.loads(file.read_text("utf-8"))["definitions"])
    # What YAML may write as a number too.
    for name in (QUANTITY, INT_OR_STRING):
        definitions[name] = {"oneOf": [{"type": "string"}, {"type": "number"}]}
    return dict(definitions)


def kubernetes_schemas(definitions: Schema) -> Iterator[tuple[Named, Schema]]:
    """Yield the schema of each kind, with the definitions that it needs."""
    for name, definition in definitions.items():
        for one in definition.get("x-kubernetes-group-version-kind", ()):
            needed = {part: definitions[part] for part in parts_of(name, definitions)}
            schema = {"$ref": f"{REFERENCE}{name}", "definitions": needed}
            yield (one["group"], one["kind"], one["version"]), schema


def custom_schemas(file: Path, definitions: Schema) -> Iterator[tuple[Named, Schema]]:
    """Yield the schema of each version of a custom resource."""
    meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    needed = {part: definitions[part] for part in parts_of(meta, definitions)}
    spec = yaml.safe_load(file.read_text("utf-8"))["spec"]
    for version in spec["versions"]:
        schema = closed(version["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = {"$ref": f"{REFERENCE}{meta}"}
        named = (spec["group"], spec["names"]["kind"], version["name"])
        yield named, {**schema, "definitions": needed}


def parts_of(name: str, definitions: Schema) -> set[str]:
    """Return the names of a definition and of all that it refers to."""
    found, open_names = {name}, [name]
    while open_names:
        for other in references(definitions[open_names.pop()]):
            if other not in found:
                found.add(other)
                open_names.append(other)
    return found


def references(schema: Any) -> Iterator[str]:
    """Yield the names that a schema refers to."""
    if isinstance(schema, dict):
        if isinstance(target := schema.get("$ref"), str):
            yield target.removeprefix(REFERENCE)
        schema = list(schema.values())
    if isinstance(schema, list):
        for one in schema:
            yield from references(one)


def closed(schema: Any) -> Any:
    """Return a schema in which no object may have fields that it does not know."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        inner.setdefault("additionalProperties", False)
    return inner


if __name__ == "__main__":
    if len(sys.argv) != len(("program", "FOLDER")):
        sys.exit("usage: ci/chart_schemas.py FOLDER")
    try:
        main(Path(sys.argv[1]))
    except StowageError as error:
        sys.exit(f"ci/chart_schemas.py: {error}")
