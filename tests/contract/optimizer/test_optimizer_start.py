"""The first start on a machine, and those after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_optimizer.search.cache import BACKGROUND_PARTS, VARIABLE
from stowage_optimizer.search.warmup import PARTS
from stowage_optimizer.service.settings import WorkerSettings
from stowage_optimizer.service.workers import Workers


def compiled_files(cache: Path) -> dict[str, int]:
    """Return when each piece of compiled code was written."""
    return {str(file): file.stat().st_mtime_ns for file in cache.rglob("*.nb?")}


def test_a_start_without_compiled_code_gets_ready_and_later_ones_load_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`compile` need not run before the first start, and nothing is compiled twice."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    settings = WorkerSettings()

    for start in ("first", "second"):
        workers = Workers(settings)
        try:
            workers.warm()
        finally:
            workers.close()
        if start == "first":
            compiled = compiled_files(tmp_path)

    assert any("explore" in file for file in compiled)
    assert compiled_files(tmp_path) == compiled


def test_a_part_of_the_warm_up_can_be_left_to_another_process() -> None:
    """A name that it does not know would leave its part to the fork server unseen."""
    assert set(BACKGROUND_PARTS) < set(PARTS)
