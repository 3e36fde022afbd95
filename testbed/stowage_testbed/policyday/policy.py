"""A PackingPolicy as its manifest has it, as far as a day in virtual time reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.policyday.windows import Opening

KIND = "PackingPolicy"


@dataclass(frozen=True, slots=True)
class Policy:
    """What a policy asks for; ``None`` and empty where it leaves something out."""

    name: str
    openings: tuple[Opening, ...]
    max_moves: int | None = None
    least_gain: Fraction = Fraction(0)
    cool_down_s: float = 0.0
    schedulers: tuple[str, ...] = ()
    nodes: Mapping[str, Any] | None = None
    namespaces: Mapping[str, Any] | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def automatic(self) -> dict[str, Any]:
        """Return the manifest with nobody to approve its plans but itself."""
        spec = {"objective": "Consolidate", **self.manifest["spec"]}
        return {**self.manifest, "spec": {**spec, "approval": "Automatic"}}


def read_policy(path: Path) -> Policy:
    """Return the policy of a file.

    Raises
    ------
    InputError
        The file cannot be read, is not YAML, or holds no PackingPolicy with windows.
    """
    try:
        manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not YAML ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise InputError(f"{path}: holds no {KIND}; it must be the only object there")
    try:
        return _of_manifest(manifest)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path}: is no {KIND} that a cluster would take ({error!r}); try: kubectl "
            f"create --dry-run=server -f {path}"
        ) from error


def _of_manifest(manifest: dict[str, Any]) -> Policy:
    spec = manifest["spec"]
    openings = tuple(
        Opening(one["schedule"], one.get("timeZone", ""), int(one["durationSeconds"])) for one in spec["windows"]
    )
    if not openings:
        raise ValueError("no windows")
    return Policy(
        name=manifest["metadata"]["name"],
        openings=openings,
        max_moves=spec.get("maxMovesPerWindow"),
        least_gain=Fraction(str(spec.get("leastGain", "0"))),
        cool_down_s=float(spec.get("coolDownSeconds", 0)),
        schedulers=tuple(spec.get("schedulerNames", ())),
        nodes=spec.get("nodeSelector"),
        namespaces=spec.get("namespaceSelector"),
        manifest=manifest,
    )
