"""What results depend on: records of another optimiser or machine are not mixed in."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import stowage_optimizer
from stowage_testbed.environment import machine, package_versions

LENGTH = 12


def fingerprint() -> str:
    """Return a short hash of the optimiser's source, its libraries and the machine."""
    facts = {
        "source": source_digest(),
        "machine": machine(),
        "packages": package_versions(),
    }
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def source_digest() -> str:
    """Return a short hash of the optimiser's source."""
    digest = hashlib.sha256()
    root = Path(stowage_optimizer.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:LENGTH]
