"""Official releases, from a local server: good, wrong, cut off, slow, not there."""

import hashlib
import io
import os
import re
import socket
import tarfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from small_tools import HELLO, a_manifest, a_released_tool, a_tool

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.toolchain import release
from stowage_testbed.toolchain.install import install_missing
from stowage_testbed.toolchain.location import binary_file, source_of, tool_folder, tool_key
from stowage_testbed.toolchain.manifest import Archive, Tool
from stowage_testbed.toolchain.release import SourceKind, ToolSource, choose_source

URL = "https://example.com/v1.2.3/hello"
DIGEST = f"{URL}.sha256"
BINARY = b"#!/bin/sh\necho hello\n" * 10_000
AUTO, RELEASE = SourceKind.AUTO, SourceKind.RELEASE

pytestmark = pytest.mark.usefixtures("cache")


class Server(SimpleHTTPRequestHandler):
    """Serves files; of an archive as it is told by the site's trouble."""

    trouble = ""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        is_archive = not self.path.endswith(".sha256")
        if self.trouble == "gone" and is_archive:
            self.send_error(404)
        elif self.trouble == "silent":
            self.server.let_go.wait(HANG_S)  # type: ignore[attr-defined]
        else:
            super().do_GET()

    def copyfile(self, source: Any, outputfile: Any) -> None:
        content = source.read()
        if self.trouble == "cut" and len(content) == len(BINARY):
            content = content[: len(content) // 2]
        with suppress(ConnectionError):
            outputfile.write(content)


@dataclass(slots=True)
class Site:
    """A mirror on the loopback interface, which has what is published."""

    folder: Path
    handler: type[Server]
    address: str

    def publish(self, content: bytes = BINARY, digest: str | None = None, name: str = "hello") -> None:
        """Put an archive and its digest where their project has them."""
        (self.folder / name).write_bytes(content)
        known = digest or f"{hashlib.sha256(content).hexdigest()}\n"
        (self.folder / f"{name}.sha256").write_text(known)

    def install(self, tool: Tool, kind: SourceKind, pins: dict[str, str] | None = None) -> Path:
        manifest = replace(a_manifest(tool), pins=pins or {})
        install_missing([tool], manifest, ToolSource(kind, self.address))
        return binary_file(tool)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(release, "RETRIES", 0)
    folder = tmp_path / "site" / "example.com" / "v1.2.3"
    folder.mkdir(parents=True)
    handler = type("OneServer", (Server,), {})
    serving = partial(handler, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), serving) as server:
        server.let_go = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Site(folder, handler, f"http://127.0.0.1:{server.server_port}")
        server.let_go.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    return a_released_tool(tmp_path / "module", URL, digest=DIGEST)


def a_tarball(member: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo(member)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("member", "published"),
    [
        # As Kubernetes publishes them.
        (None, BINARY),
        # As etcd and Helm do; nothing else of the archive is written.
        ("hello-{version}/hello", a_tarball("hello-v1.2.3/hello", BINARY)),
    ],
)
@pytest.mark.parametrize("kind", [AUTO, RELEASE])
def test_a_published_tool_is_installed(
    site: Site, tmp_path: Path, member: str | None, published: bytes, kind: SourceKind
) -> None:
    """Bare, or taken out of a tarball; and that it is a release stands beside it."""
    site.publish(published)
    tool = a_released_tool(tmp_path / "m", URL, member, DIGEST)

    file = site.install(tool, kind)

    assert file.read_bytes() == BINARY
    assert os.access(file, os.X_OK)
    assert source_of(file) == RELEASE
    assert {path.name for path in file.parent.iterdir()} == {"hello", "origin.json"}


@pytest.mark.parametrize("digest", ["{}", "{}  hello\n", "abc  other\n{} *./hello\n", "{}  x/hello\n"])
def test_a_digest_is_read_as_published(site: Site, tool: Tool, digest: str) -> None:
    """Alone, or in a list of what `sha256sum` has written."""
    site.publish(digest=digest.format(hashlib.sha256(BINARY).hexdigest()))

    assert source_of(site.install(tool, RELEASE)) == RELEASE


TROUBLE = {
    "gone": "404 Client Error",
    "cut": r"IncompleteRead\(\d+ bytes read",
    "silent": r"127.0.0.1:\d+ cannot be reached|timed out",
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pooch leaves the answer open
@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_release_that_cannot_be_had_is_refused_or_built_instead(
    site: Site, tool: Tool, trouble: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is built unasked, and the server's own reason is told in one line."""
    monkeypatch.setattr(release, "TIMEOUT_S", (2.0, 0.3))
    said = TROUBLE[trouble]
    site.publish()
    site.handler.trouble = trouble

    with pytest.raises(StowageError, match=said):
        site.install(tool, RELEASE)
    left = tool_folder(tool)
    assert not left.exists() or [path.name for path in left.iterdir()] == [".lock"]
    capfd.readouterr()

    assert source_of(site.install(tool, AUTO)) == SourceKind.GO
    lines = capfd.readouterr().err.splitlines()
    (reason,) = [line for line in lines if "failed" in line]
    assert "example.com/v1.2.3/hello" in reason
    assert re.search(said, reason)


@pytest.mark.parametrize(
    "case",
    [
        # It is the only thing that stands between a server and this machine.
        ("ab" * 32, {}, f"should have SHA-256 {'ab' * 32}", "tampered with"),
        # What was checked against a signature, say, wins over what is published.
        (None, {URL: "cd" * 32}, f"should have SHA-256 {'cd' * 32}", "tampered with"),
        # Whatever the server gives would be run.
        ("nothing of the kind", {}, "hello: .*no SHA-256 digest of hello", "digest"),
    ],
    ids=["wrong", "pinned", "unknown"],
)
def test_without_the_right_digest_a_release_is_refused_or_built_instead(
    site: Site, tool: Tool, case: tuple[str | None, dict[str, str], str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Each for the reason above it."""
    published, pins, said, told = case
    site.publish(digest=published)

    with pytest.raises(StowageError, match=said):
        site.install(tool, RELEASE, pins)
    left = tool_folder(tool)
    assert not left.exists() or [path.name for path in left.iterdir()] == [".lock"]

    assert source_of(site.install(tool, AUTO, pins)) == SourceKind.GO
    assert told in capfd.readouterr().err


def test_a_mirror_may_have_a_digest_of_its_own(site: Site, tmp_path: Path) -> None:
    """Beside the archive; from the project itself only a pin will do."""
    site.publish()
    archive = Archive(f"{site.address}/example.com/v1.2.3/hello")
    unknown = replace(a_released_tool(tmp_path / "m", URL), archive=archive)
    with pytest.raises(StowageError, match=r"publishes no digest[^$]*STOWAGE_MIRROR"):
        install_missing([unknown], a_manifest(unknown), ToolSource(RELEASE))

    tool = a_released_tool(tmp_path / "m", URL)
    assert source_of(site.install(tool, RELEASE)) == RELEASE


def test_our_own_tool_is_taken_only_of_these_sources(site: Site, tmp_path: Path) -> None:
    """Whoever has changed them wants to run what is changed, whatever is asked for."""
    archive = Archive(f"{URL}-{{key}}", digest=f"{URL}-{{key}}.sha256")
    tool = replace(a_tool(tmp_path / "m"), archive=archive)
    site.publish(name=f"hello-{tool_key(tool)}")
    assert source_of(site.install(tool, RELEASE)) == RELEASE

    source = HELLO.replace("hello", "changed")
    changed = replace(a_tool(tmp_path / "n", source=source), archive=archive)

    assert source_of(site.install(changed, RELEASE)) == SourceKind.GO


def test_a_tarball_without_the_binary_is_refused(site: Site, tmp_path: Path) -> None:
    """Another platform's archive may be laid out differently."""
    site.publish(a_tarball("elsewhere/hello", BINARY))
    tool = a_released_tool(tmp_path / "m", URL, "hello-{version}/hello", DIGEST)

    with pytest.raises(StowageError, match=r"hello-v1\.2\.3/hello"):
        site.install(tool, RELEASE)


def test_a_server_that_accepts_nothing_is_given_up_in_time(
    tool: Tool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A firewall that drops packets answers never."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        port = server.getsockname()[1]
        # Linux lets one more wait than it was told, and then drops what comes.
        full = [socket.socket() for _ in range(2)]
        for one in full:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        monkeypatch.setattr(release, "TIMEOUT_S", (0.5, 20.0))
        install_missing([tool], a_manifest(tool), ToolSource(AUTO, f"http://127.0.0.1:{port}"))
        for one in full:
            one.close()

    assert source_of(binary_file(tool)) == SourceKind.GO
    assert f"127.0.0.1:{port} cannot be reached" in capfd.readouterr().err


def test_releases_come_while_others_are_built(site: Site, tool: Tool, tmp_path: Path) -> None:
    """Both at once, and each says where it came from."""
    site.publish()
    own = a_tool(tmp_path / "own", name="own")

    install_missing([tool, own], a_manifest(tool, own), ToolSource(AUTO, site.address))

    assert source_of(binary_file(tool)) == RELEASE
    assert source_of(binary_file(own)) == SourceKind.GO


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that installs tools follows it, without an option of its own."""
    monkeypatch.delenv("STOWAGE_SOURCE", raising=False)
    monkeypatch.delenv("STOWAGE_MIRROR", raising=False)
    assert choose_source().kind is SourceKind.AUTO
    monkeypatch.setenv("STOWAGE_SOURCE", "go")
    monkeypatch.setenv("STOWAGE_MIRROR", "http://127.0.0.1:1/")

    assert choose_source().kind is SourceKind.GO
    assert choose_source().address(URL) == "http://127.0.0.1:1/example.com/v1.2.3/hello"
    monkeypatch.setenv("STOWAGE_SOURCE", "apt")
    with pytest.raises(InputError, match=r"'apt'.*STOWAGE_SOURCE.*auto, go, release"):
        choose_source()
