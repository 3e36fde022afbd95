"""The fixed pieces of work: what a control plane spends its time on."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping

_POD = {
    "metadata": {
        "name": "web-7d4b9c6f5-x2x9q",
        "labels": {f"label-{number}": f"value-{number}" for number in range(8)},
    },
    "spec": {
        "containers": [
            {
                "name": f"container-{number}",
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                "env": [{"name": f"E{item}", "value": "v" * 16} for item in range(8)],
            }
            for number in range(2)
        ]
    },
}
_LIST = [_POD] * 50
_TEXT = json.dumps(_LIST).encode()
_NODES = 1_000


def _encode() -> None:
    """Objects to text and back, as every watch and every write does."""
    json.loads(json.dumps(_LIST))


def _hash() -> None:
    """Integrity and TLS."""
    for _ in range(20):
        hashlib.sha256(_TEXT).digest()


def _pack() -> None:
    """Storage."""
    zlib.compress(_TEXT, 6)


def _score() -> None:
    """Filter and sort nodes in plain code, as one scheduling cycle does."""
    free = [(number * 7919) % 4000 for number in range(_NODES)]
    fitting = [number for number in range(_NODES) if free[number] >= 100]  # noqa: PLR2004
    sorted(fitting, key=lambda number: (-free[number], number))


WORKS: Mapping[str, Callable[[], None]] = {
    "encode": _encode,
    "hash": _hash,
    "pack": _pack,
    "score": _score,
}
"""By name; a change of one is a new name, for old baselines keep the old rates."""
