"""Reading audit logs."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.audit import (
    AuditEntry,
    AuditLogMissingError,
    AuditReader,
    find_audit_end,
    read_audit_entries,
    read_binding_times_ns,
)

SECOND_NS = 1_000_000_000
CLOSED = "audit-2026-01-01T00-00-02.500.log"
START_NS = 1_767_225_600 * SECOND_NS  # 2026-01-01T00:00:00Z


def a_line(second: str = "00.000001", code: int = 201, **more: Any) -> str:
    binding = {"resource": "pods", "subresource": "binding"}
    record = {
        "stage": "ResponseComplete",
        "verb": "create",
        "user": {"username": "system:serviceaccount:stowage-system:stowage"},
        "objectRef": {**binding, "namespace": "ns", "name": "a"},
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
        "stageTimestamp": f"2026-01-01T00:00:{second}Z",
        **more,
    }
    return json.dumps(record, separators=(",", ":")) + "\n"


def a_log(folder: Path, text: str) -> Path:
    path = folder / "audit.log"
    path.write_text(text)
    return path


def seconds(entries: Iterable[AuditEntry]) -> list[float]:
    """Return when requests were answered."""
    return [(entry.stage_ns - START_NS) / SECOND_NS for entry in entries]


def test_a_binding_has_microseconds_and_a_refused_one_is_none(tmp_path: Path) -> None:
    """That is why the log can check the watch's clock; conflicts bind nothing."""
    for code, bound in ((201, {"ns/a": START_NS + 1000}), (409, {})):
        log = a_log(tmp_path, a_line(code=code))
        assert read_binding_times_ns(read_audit_entries(log)) == bound
    # A cluster that was made elsewhere may have no audit log.
    with pytest.raises(AuditLogMissingError, match=r"nowhere\.log.*stowage up"):
        list(read_audit_entries(tmp_path / "nowhere.log"))


@pytest.mark.parametrize("cut", [0, 10])
def test_entries_are_read_from_where_a_scenario_began(tmp_path: Path, cut: int) -> None:
    """The log may have ended in the middle of a line when the scenario began."""
    first, second = a_line("01.0"), a_line("09.0")
    log = a_log(tmp_path, first[: len(first) - cut])
    start = find_audit_end(log)
    log.write_text(first + second)

    assert seconds(read_audit_entries(log, start)) == [9]


def test_a_log_that_is_read_on_is_read_once(tmp_path: Path) -> None:
    """Who waits for an entry looks twenty times a second, at a log of a gigabyte."""
    log = a_log(tmp_path, a_line("01.0") + a_line("02.0")[:50])
    reader = AuditReader(log)
    seen = [seconds(reader.entries())]
    for text in (a_line("02.0")[50:], "", a_line("03.0")):
        with log.open("a") as file:
            file.write(text)
        seen.append(seconds(reader.entries()))

    assert seen == [[1], [2], [], [3]]


def test_a_log_that_goes_on_in_another_file_is_read_whole(tmp_path: Path) -> None:
    """The API server renames it at a gigabyte, in the middle of a large run."""
    before, log = a_line("01.0"), a_log(tmp_path, a_line("01.0"))
    start, reader = find_audit_end(log), AuditReader(log)
    seen = seconds(reader.entries())
    log.write_text(before + a_line("02.0"))
    log.rename(tmp_path / CLOSED)
    a_log(tmp_path, a_line("03.0"))
    log.rename(tmp_path / "audit-2026-01-01T00-00-03.500.log")
    a_log(tmp_path, a_line("04.0"))

    assert seconds(read_audit_entries(log, start)) == [2, 3, 4]
    assert [*seen, *seconds(reader.entries())] == [1, 2, 3, 4]


def test_a_log_that_is_renamed_just_now_is_not_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may happen between looking for the files and opening one."""
    log, opened = a_log(tmp_path, a_line("01.0")), Path.open

    def renaming(path: Path, *how: Any) -> Any:
        monkeypatch.setattr(Path, "open", opened)
        log.rename(tmp_path / CLOSED)
        a_log(tmp_path, a_line("03.0"))
        return path.open(*how)

    monkeypatch.setattr(Path, "open", renaming)

    assert len(list(read_audit_entries(log))) == 2


def test_a_log_that_is_between_two_names_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server renames it before it makes the next one."""
    log, found = a_log(tmp_path, a_line("01.0")), Path.glob
    reader = AuditReader(log)
    assert len(list(reader.entries())) == 1
    with log.open("a") as file:
        file.write(a_line("02.0"))

    def renaming(folder: Path, pattern: str) -> Any:
        # After the search, and before the file is looked at by its old name.
        monkeypatch.setattr(Path, "glob", found)
        before = list(folder.glob(pattern))
        log.rename(tmp_path / CLOSED)
        return before

    monkeypatch.setattr(Path, "glob", renaming)

    seen = seconds(reader.entries())
    a_log(tmp_path, a_line("03.0"))
    assert [*seen, *seconds(reader.entries())] == [2, 3]


def test_a_file_that_was_removed_before_it_was_read_is_an_error(tmp_path: Path) -> None:
    """The oldest go when there are too many; the rest is not enough for a verdict."""
    log = a_log(tmp_path, a_line("01.0"))
    start = find_audit_end(log)
    log.rename(tmp_path / CLOSED)
    a_log(tmp_path, a_line("03.0"))
    (tmp_path / CLOSED).unlink()

    with pytest.raises(StowageError, match="has lost entries"):
        list(read_audit_entries(log, start))


def test_an_entry_shows_its_pod(tmp_path: Path) -> None:
    """A controller leaves the name to the server; names of evictions are used again.

    One that makes no sense must not end the run.
    """
    chosen = {"kind": "Pod", "metadata": {"name": "web-x7k2p"}}
    lines = a_line(objectRef={"resource": "pods", "namespace": "ns"}, responseObject=chosen)
    insisting = {"deleteOptions": {"preconditions": {"uid": "uid-a"}}}
    evicted = {"resource": "pods", "subresource": "eviction", "name": "a"}
    requests: tuple[Any, ...] = (insisting, "x", {"deleteOptions": []}, None)
    for asked in requests:
        lines += a_line(code=400, objectRef=evicted, requestObject=asked)

    first, *others = read_audit_entries(a_log(tmp_path, lines))

    assert (first.name, first.received_ns) == ("web-x7k2p", START_NS)
    assert [entry.uid for entry in others] == ["uid-a", "", "", ""]
