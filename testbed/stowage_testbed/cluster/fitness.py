"""Whether a backend works on this machine, and what to install if it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stowage_testbed.cluster.backend import CANNOT, TOOLS, Backend
from stowage_testbed.images.docker_engine import engine_unavailable_reason, image_id
from stowage_testbed.images.recipe import ImageMissingError, check_image, recipe_of, recipes
from stowage_testbed.toolchain import choose_minor
from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import load_manifest


@dataclass(frozen=True, slots=True)
class Fitness:
    """What was found out about one backend.

    Each reason why it does not work here comes with the way out.
    """

    backend: Backend
    unavailable_reasons: tuple[str, ...]
    notes: tuple[str, ...]


def fitness_of(
    backend: Backend, engine: Callable[[], str] = engine_unavailable_reason, *, minor: str | None = None
) -> Fitness:
    """Look whether a backend works here."""
    of = choose_minor(minor)
    unavailable_reasons = [*_tool_unavailable_reasons(backend, of)]
    notes = [f"no {need}: {why}" for need, why in CANNOT[backend].items()]
    if backend is Backend.KIND:
        if why := engine():
            unavailable_reasons.append(f"no Docker engine answers ({why}): start one, or name one with DOCKER_HOST")
        else:
            unavailable_reasons += _image_unavailable_reasons(of)
            notes.append(_node_note(of))
    return Fitness(backend, tuple(unavailable_reasons), tuple(notes))


def _tool_unavailable_reasons(backend: Backend, minor: str) -> list[str]:
    manifest = load_manifest()
    missing = [tool for name in TOOLS[backend] if not binary_file(tool := manifest.tool(name, minor)).is_file()]
    return [
        f"{', '.join(t.name for t in missing if t.group == group)} not installed: "
        f"stowage tools install --group {group} --kubernetes {minor}"
        for group in sorted({tool.group for tool in missing})
    ]


def _image_unavailable_reasons(minor: str) -> list[str]:
    unavailable_reasons = []
    for recipe in recipes(minor).values():
        try:
            if recipe.group == "release":
                check_image(recipe)
        except ImageMissingError as error:
            unavailable_reasons.append(str(error))
    return unavailable_reasons


def _node_note(minor: str) -> str:
    recipe = recipe_of("node", minor)
    if image_id(recipe.reference):
        return f"its node is {recipe.reference}, built here"
    return f"its node is pulled ({recipe.published}), or built by `make images`"
