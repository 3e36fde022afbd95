"""What a pod takes, as the scheduler counts it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.observe.pod_body import requests_of

SPECS = yaml.safe_load(Path(__file__).with_name("pods.yaml").read_text("utf-8"))


@pytest.mark.parametrize("what", SPECS)
def test_a_pod_takes(what: str) -> None:
    """A count of our own that differs finds overcommit where there is none."""
    spec, amounts = SPECS[what]["spec"], SPECS[what]["takes"]

    assert requests_of({"spec": spec}) == Resources(amounts, pods=1)
