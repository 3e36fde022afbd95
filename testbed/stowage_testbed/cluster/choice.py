"""Clusters by backend: a new one, one that is there, and whether a backend works on this machine."""

from collections.abc import Callable
from dataclasses import dataclass

from stowage_testbed.cluster.backend import CANNOT, TOOLS, Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates
from stowage_testbed.cluster.kind import KindCluster
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.listing import cluster_missing, find_cluster
from stowage_testbed.images.docker_engine import engine_unavailable_reason, image_id
from stowage_testbed.images.recipe import ImageMissingError, check_image, recipe_of, recipes
from stowage_testbed.toolchain import choose_minor
from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import load_manifest

_KINDS: dict[Backend, type[Cluster]] = {Backend.KWOK_BINARY: KwokBinaryCluster, Backend.KIND: KindCluster}


def new_cluster(
    backend: Backend,
    name: str,
    *,
    api_port: int | None = None,
    minor: str | None = None,
    features: FeatureGates = DEFAULTS,
) -> Cluster:
    """Return a cluster that is not up yet."""
    return _KINDS[backend](name, api_port=api_port, minor=minor, features=features)


def existing_cluster(name: str) -> Cluster:
    """Return a cluster that is up."""
    entry = find_cluster(name)
    if entry.state == "leftover" or entry.owner is None:
        raise cluster_missing(name)
    return _KINDS[entry.owner.backend](name, minor=entry.owner.minor, features=entry.owner.features)


@dataclass(frozen=True, slots=True)
class Fitness:
    """What was found out about one backend; each reason why it does not work here comes with the way out."""

    backend: Backend
    unavailable_reasons: tuple[str, ...]
    notes: tuple[str, ...]


def fitness_of(
    backend: Backend, engine: Callable[[], str] = engine_unavailable_reason, *, minor: str | None = None
) -> Fitness:
    """Look whether a backend works here."""
    of = choose_minor(minor)
    tools = [load_manifest().tool(name, of) for name in TOOLS[backend]]
    missing = [tool for tool in tools if not binary_file(tool).is_file()]
    unavailable_reasons = [
        f"{', '.join(tool.name for tool in missing if tool.group == group)} not installed: "
        f"stowage tools install --group {group} --kubernetes {of}"
        for group in sorted({tool.group for tool in missing})
    ]
    notes = [f"no {need}: {why}" for need, why in CANNOT[backend].items()]
    if backend is Backend.KIND:
        if why := engine():
            unavailable_reasons.append(f"no Docker engine answers ({why}): start one, or name one with DOCKER_HOST")
        else:
            for recipe in recipes(of).values():
                try:
                    if recipe.group == "release":
                        check_image(recipe)
                except ImageMissingError as error:
                    unavailable_reasons.append(str(error))
            node = recipe_of("node", of)
            built = bool(image_id(node.reference))
            pulled = f"its node is pulled ({node.published}), or built by `make images`"
            notes.append(f"its node is {node.reference}, built here" if built else pulled)
    return Fitness(backend, tuple(unavailable_reasons), tuple(notes))
