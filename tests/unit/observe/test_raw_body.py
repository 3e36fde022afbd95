"""Objects kept as the bytes that came."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from watch_server import a_pod

from testbed.observe.change import Change, Verb
from testbed.observe.pod import observed_pod
from testbed.observe.raw_body import Event, RawBody, parsed_object
from testbed.observe.receipt import Receipt

POD = a_pod("a", node="n1")
CLEAN = {
    **POD,
    "metadata": {k: v for k, v in POD["metadata"].items() if k != "managedFields"},
}


def raw(body: dict[str, Any]) -> RawBody:
    line = json.dumps({"type": "ADDED", "object": body}).encode()
    return RawBody(line, Event.of(line).metadata)


def test_it_reads_like_the_object_without_managed_fields() -> None:
    """Who looks at a body need not know how it is kept."""
    body = raw(POD)

    assert dict(body) == CLEAN
    assert body == CLEAN
    assert len(body) == len(CLEAN)
    assert "status" in body
    assert body.get("nothing") is None
    with pytest.raises(KeyError):
        body["nothing"]


def test_a_change_of_it_can_be_written_to_a_bundle() -> None:
    """JSON knows no mappings but dictionaries."""
    record = Change("Pod", Verb.ADDED, Receipt(1, 2), raw(POD)).record()

    assert json.loads(json.dumps(record))["object"] == CLEAN


def test_names_are_known_without_parsing() -> None:
    """Every change is asked for them, thousands of times a second."""
    parsed_object.cache_clear()
    change = Change("Pod", Verb.ADDED, Receipt(1, 2), raw(POD))

    assert (change.uid, change.namespace, change.name) == ("uid-a", "ns", "a")
    assert parsed_object.cache_info().misses == 0


def test_what_was_read_once_is_not_parsed_again() -> None:
    """State and timelines ask the same of every pod."""
    body, asked = raw(POD), []

    def read(parsed: Mapping[str, Any]) -> str:
        asked.append(parsed)
        return str(parsed["spec"]["nodeName"])

    assert [body.digest(read), body.digest(read)] == ["n1", "n1"]
    assert len(asked) == 1


def test_a_pod_is_observed_alike_from_either() -> None:
    """A list gives parsed objects, a watch raw ones."""
    assert observed_pod(raw(POD)) == observed_pod(POD)


def test_metadata_read_on_the_way_are_those_of_the_object() -> None:
    """Whatever the API server may put there, but for the managed fields."""
    metadata = {
        **CLEAN["metadata"],
        "generateName": "a-",
        "generation": 3,
        "finalizers": ["example.com/f"],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
        "ownerReferences": [{"kind": "ReplicaSet", "controller": True}],
        "annotations": {"a": ""},
        "labels": None,
    }
    body = {**POD, "metadata": {**metadata, "managedFields": [{"manager": "m"}]}}

    assert raw(body)["metadata"] == metadata


def test_an_error_of_the_watch_is_read_too() -> None:
    """It says why the watch must begin anew."""
    status = {"kind": "Status", "metadata": {}, "code": 410, "message": "too old"}
    event = Event.of(json.dumps({"type": "ERROR", "object": status}).encode())
    assert (event.type, event.object.code, event.object.message) == (
        "ERROR",
        410,
        "too old",
    )
