"""What of an object is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.trace.reducing import reduce_object

OBJECTS: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("reduced.yaml").read_text("utf-8")
)["objects"]
POD = OBJECTS["a pod keeps what placing it depends on"]["given"]


@pytest.mark.parametrize("what", OBJECTS)
def test_of_an_object_only_what_scheduling_depends_on_is_recorded(what: str) -> None:
    """No image, no command, no secret, and nothing that another server refuses."""
    recorded = reduce_object(OBJECTS[what]["given"])

    assert recorded == OBJECTS[what]["recorded"]
    assert "hunter2" not in json.dumps(recorded)
