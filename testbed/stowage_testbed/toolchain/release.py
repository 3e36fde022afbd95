"""Official releases: which can be had, by which digest, and how they are taken."""

from __future__ import annotations

import platform
import re
import shutil
import tarfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.download import DownloadError, Patience, can_be_reached, fetch_file, fetch_text
from stowage_testbed.toolchain.location import tool_key
from stowage_testbed.toolchain.manifest import Archive, Manifest, Tool
from stowage_testbed.toolchain.progress import ToolWatcher
from stowage_testbed.toolchain.source import SourceKind, ToolSource

_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_QUESTIONS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Release:
    """One tool's archive, and the SHA-256 digest that it must have.

    ``member`` is the file in it; None says that the archive is the binary.
    """

    url: str
    address: str
    sha256: str
    member: str | None


@dataclass(frozen=True, slots=True)
class Releases:
    """By tool: the release to take, or else why it is built."""

    found: Mapping[str, Release]
    reasons: Mapping[str, str]

    def in_words(self) -> str:
        """Return in one line which tool comes from where, and why."""
        parts = []
        if self.found:
            parts.append(f"official releases of {', '.join(self.found)}")
        for why in dict.fromkeys(self.reasons.values()):
            names = [name for name, its in self.reasons.items() if its == why]
            parts.append(f"Go modules for {', '.join(names)} ({why})")
        return "; ".join(parts)


def find_releases(
    tools: Sequence[Tool], manifest: Manifest, source: ToolSource, patience: Patience | None = None
) -> Releases:
    """Look which tools can be taken from a release of which a digest is known.

    Our own are built where no release has the very sources that are here.

    A digest comes from the pins, from the manifest, or from the file that a project
    publishes beside its archives.

    Raises
    ------
    StowageError
        Only releases are wanted, and one cannot be had; names all such.
    """
    if source.kind is SourceKind.GO:
        return Releases({}, {tool.name: "as asked for" for tool in tools})
    patience = patience or Patience()
    released = [tool for tool in tools if tool.archive]
    reasons = {tool.name: "none is released" for tool in tools if not tool.archive}
    found: dict[str, Release] = {}
    refused: dict[str, str] = {}
    with ThreadPoolExecutor(_QUESTIONS_AT_ONCE) as pool:
        hosts = {_host(source.address(archive_of(tool).url)) for tool in released}
        looks = {one: pool.submit(can_be_reached, one, patience) for one in hosts}
        reached = {one: look.result() for one, look in looks.items()}
        answers = pool.map(lambda tool: _look_up(tool, manifest, source, reached, patience), released)
        for tool, answer in zip(released, answers, strict=True):
            if isinstance(answer, Release):
                found[tool.name] = answer
            elif tool.own:
                reasons[tool.name] = answer
            else:
                refused[tool.name] = answer
    if refused and source.kind is SourceKind.RELEASE:
        causes = "\n  ".join(f"{name}: {why}" for name, why in refused.items())
        raise StowageError(
            f"releases cannot be had:\n  {causes}\n"
            "name a server that has them with --mirror, give digests with --pins "
            "(lines DIGEST ADDRESS), or build with --source go"
        )
    return Releases(found, {**refused, **reasons})


def take_release(
    release: Release, target: Path, watcher: ToolWatcher, ended: threading.Event, patience: Patience | None = None
) -> None:
    """Fetch a release, check it, and put its binary into the file ``target``.

    Raises
    ------
    DownloadError
        The server refused, broke off or took too long, or the content is another one.
    """
    file = target.with_name("archive") if release.member else target
    watcher.starts("downloading")

    def watch(kib: int, total_kib: int) -> None:
        watcher.total = total_kib
        watcher.reach(kib)

    try:
        found = fetch_file(release.address, file, patience or Patience(), watch, ended)
        if found != release.sha256:
            raise DownloadError(
                f"{release.url} has SHA-256 {found}, but should have {release.sha256}; "
                "it was not installed. Either the digest is wrong or the archive was "
                "tampered with: compare with the project's own release page"
            )
        if release.member:
            _extract(release.url, file, release.member, target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        if file != target:
            file.unlink(missing_ok=True)


def archive_of(tool: Tool) -> Archive:
    """Return a released tool's archive for this machine."""
    assert tool.archive is not None  # noqa: S101 - only such tools are looked up
    known = {"os": platform.system().lower(), "arch": architecture()}
    if tool.own:
        known |= {"key": tool_key(tool), "stowage": metadata.version("stowage")}
    filled = {
        name: template and template.format(version=tool.version, **known)
        for name, template in asdict(tool.archive).items()
    }
    return Archive(**filled)


def architecture() -> str:
    """Return what Go and container images call this machine's processor."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def _look_up(
    tool: Tool, manifest: Manifest, source: ToolSource, reached: Mapping[str, bool], patience: Patience
) -> Release | str:
    """Return a tool's release, or why it cannot be taken."""
    archive = archive_of(tool)
    address = source.address(archive.url)
    if not reached[_host(address)]:
        return f"{urlsplit(address).netloc} cannot be reached"
    sha256 = source.pins.get(archive.url) or manifest.pins.get(archive.url)
    if sha256 is None:
        digest = archive.digest
        if digest is None and source.mirror:
            digest = f"{archive.url}.sha256"
        if digest is None:
            return "its project publishes no digest"
        try:
            text = fetch_text(source.address(digest), patience)
            sha256 = _read_digest(text, digest, archive.url.rsplit("/", 1)[1])
        except DownloadError as error:
            return "none is released of these sources" if tool.own else str(error)
    return Release(archive.url, address, sha256, archive.member)


def _read_digest(text: str, url: str, name: str) -> str:
    """Return the digest that stands alone, or the one before the archive's name."""
    lines = text.splitlines()
    for line in lines:
        words = line.split()
        alone = len(words) == 1 and len(lines) == 1
        if words and (alone or words[-1].lstrip("*").rsplit("/", 1)[-1] == name):
            match = _DIGEST.fullmatch(words[0])
            if match:
                return match[0].lower()
    raise DownloadError(f"{url} has no SHA-256 digest of {name}")


def _host(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def _extract(url: str, file: Path, member: str, target: Path) -> None:
    """Take one file out of an archive, whatever else it holds and wherever to."""
    try:
        with tarfile.open(file) as archive:
            content = archive.extractfile(member)
            if content is None:
                raise KeyError(member)
            with target.open("wb") as binary:
                shutil.copyfileobj(content, binary)
    except (tarfile.TarError, KeyError, EOFError) as error:
        raise DownloadError(
            f"{url} holds no readable {member}; its digest is the right one, so the "
            "address or the manifest's member is wrong for this platform"
        ) from error
