"""The machine and the versions that a comparison was made with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stowage_testbed.compare.result import Result
from stowage_testbed.text.table import Table


def environment_table(result: Result) -> Table:
    """Return everything that affects the figures, a line each."""
    comparison = result.comparison
    rows = [
        ("scenario", comparison.scenario.scenario_id),
        ("scenario sha256", comparison.scenario.sha256),
        *_flat("parameter", comparison.scenario.parameters),
        ("started", comparison.started),
        ("seed", str(comparison.seed)),
        ("rounds asked for", str(comparison.rounds)),
        *_flat("", comparison.environment),
    ]
    for entry in comparison.arms:
        rows += [
            (f"{entry.name} version, {limits} limits", settings.version)
            for limits, settings in entry.settings.items()
        ]
        rows += [
            (f"{entry.name} configuration sha256, {limits} limits", digest)
            for limits, digest in entry.configuration_sha256.items()
        ]
    return Table("Environment", ("what", "value"), tuple(rows))


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(f"{name} {key}".strip(), item)
    else:
        yield name, str(value)
