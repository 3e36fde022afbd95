"""Objects kept as the bytes that came."""

import errno
import gc
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from watch_server import a_pod

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import Change, Receipt, Verb
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.observe.raw_body import BodyFile, Head, RawBody
from stowage_testbed.observe.watches import ROLL_BYTES, Watches

METADATA = {
    "uid": "uid-a",
    "namespace": "ns",
    "name": "a",
    "resourceVersion": "1",
    "generateName": "a-",
    "generation": 3,
    "finalizers": ["example.com/f"],
    "deletionTimestamp": "2026-01-01T00:00:00Z",
    "deletionGracePeriodSeconds": 0,
    "ownerReferences": [{"kind": "ReplicaSet", "controller": True}],
    "annotations": {"a": ""},
    "labels": None,
}
CLEAN = {**a_pod("a", node="n1"), "metadata": METADATA}
POD = {**CLEAN, "metadata": {**METADATA, "managedFields": [{"manager": "m"}]}}


def raw(body: dict[str, Any], file: BodyFile | None = None) -> RawBody:
    line = json.dumps(body).encode()
    names = msgspec.json.decode(line, type=Head).metadata
    return (file or BodyFile()).keep(line, names)


def files_open() -> int:
    """Return how many files without a name this process has open."""
    gc.collect()
    count = 0
    for number in os.listdir("/proc/self/fd"):
        # Another thread may have closed it by now.
        with suppress(FileNotFoundError):
            count += "(deleted)" in os.readlink(f"/proc/self/fd/{number}")
    return count


def test_it_is_used_like_the_object_without_managed_fields() -> None:
    """Whoever looks at it, or writes it to a bundle, need not know how it is kept."""
    body = raw(POD)
    change = Change("Pod", Verb.ADDED, Receipt(1, 2), body)

    assert dict(body) == CLEAN
    assert body == CLEAN
    assert (len(body), "status" in body, body.get("none")) == (len(CLEAN), True, None)
    with pytest.raises(KeyError):
        body["nothing"]
    assert json.loads(json.dumps(change.record()))["object"] == CLEAN
    assert read_pod(body) == read_pod(CLEAN)
    assert (change.uid, change.namespace, change.name) == ("uid-a", "ns", "a")


def test_a_body_holds_none_of_its_bytes() -> None:
    """A few changes of 50,000 pods are more than a gigabyte."""
    held = gc.get_referents(raw({**POD, "spec": {"filler": "x" * 100_000}}))

    assert not [one for one in held if isinstance(one, bytes | dict)]


def test_the_disk_is_free_again_after_the_last_body() -> None:
    """What lives on is moved out of a long file, or one node would keep all of it."""
    api: Any = None
    before, watches = files_open(), Watches(api)
    body: RawBody | None = raw(POD, watches.file)
    assert files_open() == before + 1

    assert not watches.roll()
    watches.file.length = ROLL_BYTES
    assert watches.roll()
    assert body is not None
    body = body.moved_to(watches.file)
    assert dict(body) == CLEAN
    assert files_open() == before + 1

    del body, watches
    assert files_open() == before


def test_a_full_disk_says_so_and_loses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The watch goes on from the last change that was kept, once there is room."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    file = BodyFile()
    file.append(b"first")
    writes = os.pwrite

    def full(fd: int, content: memoryview, at: int) -> int:
        if len(content) <= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return writes(fd, content[:3], at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(StowageError, match=rf"No space left.*{tmp_path}"):
            file.append(b"second")

    at = file.append(b"third")
    assert file.read(0, 5) == b"first"
    assert file.read(at, 5) == b"third"
