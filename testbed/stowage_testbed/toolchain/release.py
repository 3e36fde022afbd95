"""Official releases: where they come from, by which digest they are known, and how they are taken."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tarfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.toolchain.location import RELEASE, tool_key, write_origin
from stowage_testbed.toolchain.manifest import Archive, Manifest, Tool

if TYPE_CHECKING:
    from requests import Response

    from stowage_testbed.toolchain.progress import ToolProgress

SOURCE_VARIABLE = "STOWAGE_SOURCE"
MIRROR_VARIABLE = "STOWAGE_MIRROR"
TIMEOUT_S = (3.0, 20.0)
"""Until a server accepts, and without a byte."""
RETRIES = 2
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""What Go and container images call a processor."""


class DownloadError(StowageError):
    """A release cannot be had from where it should be; it may be built instead."""


class UnreachableError(DownloadError):
    """A server accepts no connection."""


class SourceKind(StrEnum):
    """What is asked for."""

    AUTO = "auto"
    """A release that can be reached and has a known digest, else the Go module."""
    GO = "go"
    RELEASE = "release"
    """A release of all that is released, or nothing; the rest from its Go module."""
    NONE = "none"
    """What is installed already: nothing is fetched and nothing built."""


@dataclass(frozen=True, slots=True)
class ToolSource:
    """What is asked for, and from where."""

    kind: SourceKind = SourceKind.AUTO
    mirror: str | None = None
    """A server that has archives and digests under ``/HOST/PATH`` of their official address, and is trusted."""

    def address(self, url: str) -> str:
        """Return where what has the official address ``url`` is fetched."""
        return f"{self.mirror.rstrip('/')}/{url.split('://', 1)[1]}" if self.mirror else url


def choose_source() -> ToolSource:
    """Return the source that the environment names, or raise an `InputError`."""
    word = os.environ.get(SOURCE_VARIABLE) or SourceKind.AUTO
    if word not in set(SourceKind):
        raise InputError(
            f"there is no source {word!r} of tools ({SOURCE_VARIABLE} names it); name one of {', '.join(SourceKind)}"
        )
    return ToolSource(SourceKind(word), os.environ.get(MIRROR_VARIABLE) or None)


def sources_in_words(sources: Mapping[str, Archive | str]) -> str:
    """Return in one line which tool comes from where, and why."""
    released = [name for name, its in sources.items() if isinstance(its, Archive)]
    parts = [f"official releases of {', '.join(released)}"] if released else []
    for why in dict.fromkeys(its for its in sources.values() if isinstance(its, str)):
        names = [name for name, its in sources.items() if its == why]
        parts.append(f"Go modules for {', '.join(names)} ({why})")
    return "; ".join(parts)


def find_releases(tools: Sequence[Tool], manifest: Manifest, source: ToolSource) -> dict[str, Archive | str]:
    """Return by tool the archive to take, with its SHA-256 digest, or else why it is built.

    A digest comes from the manifest's pins, or from the file that a project publishes beside its archives. Our own
    tools are built where no release has the very sources that are here. Raises `StowageError` if only releases are
    wanted and some cannot be had; it names all of them.
    """
    if source.kind is SourceKind.GO:
        return {tool.name: "as asked for" for tool in tools}
    with ThreadPoolExecutor(8) as pool:
        found = dict(pool.map(lambda tool: (tool.name, _look_up(tool, manifest, source)), tools))
    refused = [
        f"{tool.name}: {found[tool.name]}"
        for tool in tools
        if tool.archive and not tool.own and not isinstance(found[tool.name], Archive)
    ]
    if refused and source.kind is SourceKind.RELEASE:
        causes = "\n  ".join(refused)
        raise StowageError(
            f"releases cannot be had:\n  {causes}\nname a server that has them and their digests with "
            f"{MIRROR_VARIABLE}, or build with {SOURCE_VARIABLE}=go"
        )
    return found


def take_release(archive: Archive, address: str, target: Path, progress: ToolProgress) -> None:
    """Fetch an archive, check it, and put its binary into the file ``target``; raises `DownloadError`."""
    # They take long to import, and most commands install nothing.
    from pooch import HTTPDownloader, create, get_logger  # type: ignore[import-untyped] # noqa: PLC0415
    from requests import RequestException  # noqa: PLC0415

    get_logger().setLevel("ERROR")
    name, progress.doing = "archive", "downloading"
    fetching = create(
        target.parent, "", registry={name: f"sha256:{archive.sha256}"}, urls={name: address}, retry_if_failed=RETRIES
    )
    try:
        with ExitStack() as opened:
            hooks = _close_with(opened)
            download = HTTPDownloader(progressbar=progress, chunk_size=1 << 16, timeout=TIMEOUT_S, hooks=hooks)
            file = Path(fetching.fetch(name, downloader=download))
    except ValueError as error:
        raise DownloadError(
            f"{archive.url} should have SHA-256 {archive.sha256}, and was not installed: {error}. Either the digest is "
            "wrong or the archive was tampered with: compare with the project's own release page"
        ) from error
    except (RequestException, ConnectionError) as error:
        raise _failed(archive.url, error) from error
    if archive.member is None:
        file.rename(target)
    else:
        _extract(archive, file, target)
        file.unlink()
    write_origin(target, source=RELEASE, address=archive.url, sha256=archive.sha256)


def archive_of(tool: Tool) -> Archive:
    """Return a released tool's archive for this machine."""
    assert tool.archive is not None  # noqa: S101 - only such tools are looked up
    machine = platform.machine()
    known = {"os": platform.system().lower(), "arch": _ARCHITECTURES.get(machine, machine)}
    if tool.own:
        known |= {"key": tool_key(tool), "stowage": metadata.version("stowage")}
    filled = asdict(tool.archive).items()
    return Archive(**{name: text.format(version=tool.version, **known) for name, text in filled if text})


def _look_up(tool: Tool, manifest: Manifest, source: ToolSource) -> Archive | str:
    """Return a tool's archive, or why it cannot be taken."""
    if tool.archive is None:
        return "none is released"
    archive = archive_of(tool)
    pin = manifest.pins.get(archive.url)
    digest = archive.digest or (f"{archive.url}.sha256" if source.mirror else None)
    try:
        if pin or digest is None:
            _ask("HEAD", archive.url, source)
            return replace(archive, sha256=pin) if pin else "its project publishes no digest"
        answer = _ask("GET", digest, source)
        return replace(archive, sha256=_read_digest(answer.text, digest, archive.url.rsplit("/", 1)[1]))
    except DownloadError as error:
        is_unknown = tool.own and not isinstance(error, UnreachableError)
        return "none is released of these sources" if is_unknown else str(error)


def _ask(verb: str, url: str, source: ToolSource) -> Response:
    """Ask a server, and follow no redirection from TLS to none, where anybody could answer."""
    import requests  # noqa: PLC0415 - as above

    address = source.address(url)
    try:
        with ExitStack() as opened:
            hooks = _close_with(opened)
            answer = requests.request(verb, address, timeout=TIMEOUT_S, allow_redirects=True, hooks=hooks)
            answer.raise_for_status()
    except requests.exceptions.SSLError as error:
        raise _failed(url, error) from error
    except requests.ConnectionError as error:
        raise UnreachableError(f"{urlsplit(address).netloc} cannot be reached") from error
    except requests.RequestException as error:
        raise _failed(url, error) from error
    if address.startswith("https://") and not answer.url.startswith("https://"):
        raise _failed(url, f"it was redirected without TLS to {answer.url}")
    return answer


def _close_with(opened: ExitStack) -> dict[str, Callable[..., None]]:
    """Return hooks that close a response with the block; one that breaks off would keep its connection otherwise."""

    def close_later(response: Response, **_: object) -> None:
        opened.callback(response.close)

    return {"response": close_later}


def _failed(url: str, cause: object) -> DownloadError:
    return DownloadError(f"downloading {url} failed: {cause}")


def _read_digest(text: str, url: str, name: str) -> str:
    """Return the digest that stands alone, or the one before the archive's name."""
    lines = [line.split() for line in text.splitlines()]
    for words in lines:
        alone = len(words) == 1 and len(lines) == 1
        named = words and words[-1].lstrip("*").rsplit("/", 1)[-1] == name
        if (alone or named) and (match := _DIGEST.fullmatch(words[0])):
            return match[0].lower()
    raise DownloadError(f"{url} has no SHA-256 digest of {name}")


def _extract(archive: Archive, file: Path, target: Path) -> None:
    """Take one file out of an archive, whatever else it holds and wherever to."""
    try:
        with tarfile.open(file) as packed:
            content = packed.extractfile(archive.member or "")
            if content is None:
                raise KeyError(archive.member)
            with target.open("wb") as binary:
                shutil.copyfileobj(content, binary)
    except (tarfile.TarError, KeyError, EOFError) as error:
        target.unlink(missing_ok=True)
        raise DownloadError(
            f"{archive.url} holds no readable {archive.member}; its digest is the right one, so the address or the "
            "manifest's member is wrong for this platform"
        ) from error
