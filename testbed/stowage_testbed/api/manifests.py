"""Manifests as people have them: files, folders, YAML text and plain objects."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.api.client import Manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.files import read_text

Given = str | Path | Mapping[str, Any] | Sequence["Given"]

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_FIRST = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "StorageClass",
    "PersistentVolume",
    "ResourceQuota",
    "LimitRange",
    "ServiceAccount",
    "ClusterRole",
    "Role",
    "ConfigMap",
    "Secret",
)
"""Kinds that others need; the order within a kind stays, and all others come after."""


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Definitions can have megabytes, and the one in Python is eight times slower."""


Located = tuple[Manifest, str]  # An object, and where it stands


def read_manifests(given: Given, folder: Path) -> list[Manifest]:
    """Return the objects of `read_located_manifests`."""
    return [manifest for manifest, _ in read_located_manifests(given, folder)]


def read_located_manifests(given: Given, folder: Path) -> list[Located]:
    """Return the objects of a path, YAML text, an object or several of these, in an order in which they can be created.

    Relative paths begin in ``folder``. A StowageError says what is no object, and where; or that there is no such file.
    """
    rank = {kind: place for place, kind in enumerate(_FIRST)}
    return sorted(_read(given, folder), key=lambda one: rank.get(one[0]["kind"], len(rank)))


def check_file(path: Path) -> Path:
    """Return the path of a file that somebody names; a StowageError if it is not there."""
    if not path.is_file():
        raise StowageError(f"there is no file {path}; paths begin in the folder of what names them")
    return path


def _read(given: Given, folder: Path) -> Iterator[Located]:
    match given:
        case Path():
            yield from _read_path(folder / given)
        case str() if "\n" not in given and Path(given).suffix in SUFFIXES:
            yield from _read_path(folder / given)
        case str():
            yield from _read_text(given, "the text")
        case Mapping():
            yield from _check_document(dict(given), "the object")
        case _:
            for one in given:
                yield from _read(one, folder)


def _read_path(path: Path) -> Iterator[Located]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
        for file in files:
            yield from _read_text(read_text(file), str(file))
    else:
        yield from _read_text(read_text(check_file(path)), str(path))


def _read_text(text: str, place: str) -> Iterator[Located]:
    loader = _LOADER(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            document = None if node is None else loader.construct_document(node)
            if node is not None and document is not None:
                yield from _check_document(document, f"{place}:{node.start_mark.line + 1}")
    except yaml.YAMLError as error:
        raise _refuse(place, f"not YAML: {error}") from error
    finally:
        loader.dispose()


def _check_document(document: object, place: str) -> Iterator[Located]:
    if not isinstance(document, dict):
        raise _refuse(place, f"{document!r} is no object")
    missing = [key for key in ("apiVersion", "kind") if not document.get(key)]
    if missing:
        raise _refuse(place, f"{' and '.join(missing)} missing")
    if document["kind"] == "List":
        for number, item in enumerate(document.get("items") or (), 1):
            yield from _check_document(item, f"{place}, item {number}")
        return
    metadata = document.get("metadata") or {}
    if not (metadata.get("name") or metadata.get("generateName")):
        raise _refuse(place, f"{document['kind']} without metadata.name")
    yield document, place


def _refuse(place: str, issue: str) -> StowageError:
    return StowageError(
        f"{place}: {issue}; manifests are Kubernetes objects in YAML, JSON or dicts, "
        "each with apiVersion, kind and metadata.name"
    )


def render_manifests(package: str, template: str, **values: object) -> list[Any]:
    """Return the YAML documents that a template, a file of a package, makes of values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - `stowage --help` has no use for it

    templates = Environment(loader=PackageLoader(package, "."), undefined=StrictUndefined, autoescape=False)  # noqa: S701
    # YAML knows no pairs of surrogates.
    templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return list(yaml.safe_load_all(templates.get_template(template).render(values)))
