"""Lock files tie no user to one network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("lock", ["requirements.lock", "ci/images/optimizer/requirements.lock"])
def test_lock_files_carry_hashes_and_no_addresses(lock: str) -> None:
    """An address in a lock file ties every user to one network."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    pins = re.findall(r"^[a-z0-9][^\s=]*==", text, re.MULTILINE)

    assert pins
    assert text.count("--hash=sha256:") >= len(pins)
    assert "://" not in text
    assert "--find-links" not in text
