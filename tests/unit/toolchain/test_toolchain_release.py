"""The second source, against a local file server: good, wrong, cut off, not there."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from small_tools import a_manifest, a_released_tool

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.install import install_from_release
from stowage_testbed.toolchain.location import binary_file, tool_folder
from stowage_testbed.toolchain.manifest import Tool
from stowage_testbed.toolchain.release import Release, read_release

URL = "https://example.com/v1.2.3/hello"
BINARY = b"#!/bin/sh\necho hello\n" * 1000


class FileServer(SimpleHTTPRequestHandler):
    """Serves files; a name that ends in .cut breaks off in the middle."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        content = source.read()
        if self.path.endswith(".cut"):
            content = content[: len(content) // 2]
        outputfile.write(content)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Return a folder and the address under which its files are served."""
    folder = tmp_path / "site"
    (folder / "example.com" / "v1.2.3").mkdir(parents=True)
    handler = partial(FileServer, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield folder / "example.com", f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def install(tool: Tool, mirror: str, content: bytes) -> Path:
    """Install with a pin that is right for ``content``."""
    assert tool.archive is not None
    pins = {tool.archive.url: hashlib.sha256(content).hexdigest()}
    install_from_release([tool], a_manifest(tool), Release(pins, mirror), quiet=True)
    return binary_file(tool)


def a_tarball(member: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo(member)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("member", "published"),
    [
        # As Kubernetes and KWOK publish them.
        (None, BINARY),
        # As etcd and Helm do; nothing else of the archive is written.
        ("hello-{version}/hello", a_tarball("hello-v1.2.3/hello", BINARY)),
    ],
)
def test_a_published_tool_is_installed(
    site: tuple[Path, str], tmp_path: Path, member: str | None, published: bytes
) -> None:
    """Bare, or taken out of a tarball."""
    folder, mirror = site
    (folder / "v1.2.3" / "hello").write_bytes(published)

    file = install(a_released_tool(tmp_path / "m", URL, member), mirror, published)

    assert file.read_bytes() == BINARY
    assert [path.name for path in file.parent.iterdir()] == ["hello"]


@pytest.mark.usefixtures("cache")
def test_a_tarball_without_the_binary_is_refused(
    site: tuple[Path, str], tmp_path: Path
) -> None:
    """Another platform's archive may be laid out differently."""
    folder, mirror = site
    tarball = a_tarball("elsewhere/hello", BINARY)
    (folder / "v1.2.3" / "hello").write_bytes(tarball)
    tool = a_released_tool(tmp_path / "m", URL, "hello-{version}/hello")

    with pytest.raises(StowageError, match=r"hello-v1\.2\.3/hello"):
        install(tool, mirror, tarball)


@pytest.mark.usefixtures("cache")
def test_a_wrong_digest_installs_nothing(
    site: tuple[Path, str], tmp_path: Path
) -> None:
    """The pin is the only thing that stands between a mirror and this machine."""
    folder, mirror = site
    (folder / "v1.2.3" / "hello").write_bytes(BINARY + b"rm -rf ~\n")
    tool = a_released_tool(tmp_path / "m", URL)

    with pytest.raises(StowageError, match="is pinned"):
        install(tool, mirror, BINARY)

    assert not binary_file(tool).exists()
    assert [path.name for path in tool_folder(tool).iterdir()] == [".lock"]


@pytest.mark.usefixtures("cache")
def test_a_download_that_breaks_off_says_how_far_it_came(
    site: tuple[Path, str], tmp_path: Path
) -> None:
    """A wrong digest would be the wrong message: trying again is the way out."""
    folder, mirror = site
    (folder / "v1.2.3" / "hello.cut").write_bytes(BINARY)
    tool = a_released_tool(tmp_path / "m", f"{URL}.cut")
    expected = f"after {len(BINARY) // 2:,} of {len(BINARY):,} bytes"

    with pytest.raises(StowageError, match=expected):
        install(tool, mirror, BINARY)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("elsewhere", "said"),
    [
        # Old releases are withdrawn.
        (None, r"v1\.2\.3/hello failed: HTTP 404"),
        # Port 9 of the loopback is nobody's.
        ("http://127.0.0.1:9", "Connection refused"),
    ],
)
def test_an_archive_that_cannot_be_had_is_named(
    site: tuple[Path, str], tmp_path: Path, elsewhere: str | None, said: str
) -> None:
    """With the server's own reason."""
    with pytest.raises(StowageError, match=said):
        install(a_released_tool(tmp_path / "m", URL), elsewhere or site[1], BINARY)


@pytest.mark.usefixtures("cache")
def test_a_missing_pin_is_refused_before_any_download(tmp_path: Path) -> None:
    """Nothing that has not been checked is run; every gap is named at once."""
    tool = a_released_tool(tmp_path / "m", URL)

    with pytest.raises(StowageError, match=URL):
        install_from_release([tool], a_manifest(tool), Release({}), quiet=True)


def test_pins_are_read_as_sha256sum_writes_them(tmp_path: Path) -> None:
    """So that the project's own lists can be pasted."""
    pins = tmp_path / "pins"
    pins.write_text(f"# checked on Monday\n\n{'A1' * 32}  {URL}\n")

    assert read_release(pins).pins == {URL: "a1" * 32}


def test_malformed_pins_are_all_named_by_line(tmp_path: Path) -> None:
    """One issue a run would take many runs."""
    pins = tmp_path / "pins"
    pins.write_text(f"abc {URL}\n{'a1' * 32} {URL}\n{'a1' * 32} hello\n")

    with pytest.raises(StowageError, match=r"line 1 .*line 3 "):
        read_release(pins)


def test_a_missing_pins_file_is_named(tmp_path: Path) -> None:
    """The path is what was mistyped."""
    with pytest.raises(StowageError, match="No such file"):
        read_release(tmp_path / "pins")
