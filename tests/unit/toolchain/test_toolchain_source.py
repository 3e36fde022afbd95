"""Which source is asked for, and the pins that a user gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.toolchain.source import SourceKind, choose_source, read_pins

URL = "https://example.com/v1.2.3/hello"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STOWAGE_SOURCE", raising=False)
    monkeypatch.delenv("STOWAGE_MIRROR", raising=False)


def test_the_environment_decides_where_nobody_else_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Commands that install tools themselves have no option for it."""
    assert choose_source().kind is SourceKind.AUTO
    monkeypatch.setenv("STOWAGE_SOURCE", "go")
    monkeypatch.setenv("STOWAGE_MIRROR", "http://127.0.0.1:1/")

    assert choose_source().kind is SourceKind.GO
    assert choose_source("release").kind is SourceKind.RELEASE
    assert choose_source().address(URL) == "http://127.0.0.1:1/example.com/v1.2.3/hello"


def test_a_source_that_there_is_not_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With those that there are."""
    monkeypatch.setenv("STOWAGE_SOURCE", "apt")

    with pytest.raises(InputError, match=r"'apt'.*STOWAGE_SOURCE.*auto, go, release"):
        choose_source()


def test_pins_are_read_as_sha256sum_writes_them(tmp_path: Path) -> None:
    """So that the project's own lists can be pasted."""
    pins = tmp_path / "pins"
    pins.write_text(f"# checked on Monday\n\n{'A1' * 32}  {URL}\n")

    assert read_pins(pins) == {URL: "a1" * 32}


def test_malformed_pins_are_all_named_by_line(tmp_path: Path) -> None:
    """One issue a run would take many runs."""
    pins = tmp_path / "pins"
    pins.write_text(f"abc {URL}\n{'a1' * 32} {URL}\n{'a1' * 32} hello\n")

    with pytest.raises(InputError, match=r"line 1 .*line 3 "):
        read_pins(pins)


def test_a_missing_pins_file_is_named(tmp_path: Path) -> None:
    """The path is what was mistyped."""
    with pytest.raises(InputError, match="No such file"):
        read_pins(tmp_path / "pins")
