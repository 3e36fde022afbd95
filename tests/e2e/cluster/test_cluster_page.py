"""`stowage up --page`: the cluster is there to be looked at, and outlives the page."""

from __future__ import annotations

import json
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from stowage_testbed.api_client import Objects, manifest_of
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.listing import find_cluster

pytestmark = pytest.mark.e2e

STOWAGE = (sys.executable, "-c", "from stowage_testbed.cli import main; main()")
ENDS_S = 30.0


@pytest.fixture
def name() -> Iterator[str]:
    chosen = f"test-{secrets.token_hex(3)}"
    yield chosen
    KwokBinaryCluster(chosen).down()


def test_a_page_shows_the_new_cluster_until_it_is_closed(name: str) -> None:
    """Snapshot first, and then what changes; the cluster goes on without the page."""
    up = [
        *STOWAGE,
        "up",
        name,
        "--nodes",
        "count=3,cpu=4,memory=8Gi,zones=a|b",
        "--page",
    ]
    with subprocess.Popen(up, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            lines = iter(process.stdout.readline, "")
            address = next(
                found[0]
                for line in lines
                if (found := re.search(r"http://127\.0\.0\.1:\S+/", line))
            )
            with urlopen(f"{address}events", timeout=ENDS_S) as stream:  # noqa: S310
                assert stream.readline() == b"event: snapshot\n"
                told = json.loads(stream.readline().removeprefix(b"data: "))
                _make_pod(name)
                changed = next(line for line in stream if b'"names":["seen"]' in line)
        finally:
            process.send_signal(signal.SIGINT)
        assert "the page is closed" in process.stdout.read()
        assert process.wait(ENDS_S) == 0

    zones = {row[0]: row[1] for row in told["nodes"]}
    assert {zones[f"node-{number}"] for number in range(3)} == {"a", "b"}
    assert json.loads(changed.removeprefix(b"data: "))["kinds"][0][0] == "seen"
    assert find_cluster(name).state == "up"


def _make_pod(name: str) -> None:
    cluster = KwokBinaryCluster(name)
    spec = {"containers": [{"name": "c", "image": "none"}]}
    with cluster.api_client() as api:
        Objects(api).create(manifest_of("Pod", "seen", "default", spec=spec))
