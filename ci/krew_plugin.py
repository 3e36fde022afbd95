#!/usr/bin/env python3
"""Makes the archives of the kubectl plugin, and its manifest for krew, of wheels.

``ci/krew_plugin.py WHEELS FOLDER``. It runs where the locked packages are installed,
whose metadata say what Stowage needs. The same wheels give the same archives.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import sys
import tarfile
from collections.abc import Iterator
from email import message_from_bytes
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from zipfile import ZipFile

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / "ci" / "krew"
PLUGIN, PROGRAM = "stowage", "kubectl-stowage"
RELEASES = "https://github.com/stowage/stowage/releases/download"

WHEELS = ("stowage", "stowage_optimizer")
MACHINES = {
    ("linux", "amd64"): ("linux", "x86_64"),
    ("linux", "arm64"): ("linux", "aarch64"),
    ("darwin", "amd64"): ("macosx", "x86_64"),
    ("darwin", "arm64"): ("macosx", "arm64"),
}
"""Platforms as krew names them, and as wheels do."""


def wheel(folder: Path, name: str, platform: tuple[str, str]) -> Path:
    """Return the wheel for a platform, or the one for all."""
    system, machine = MACHINES[platform]
    found = sorted(folder.glob(f"{name}-[0-9]*.whl"))
    for path in found:
        tag = path.stem.rpartition("-")[2]
        if system in tag and tag.endswith(machine):
            return path
    for path in found:
        if path.stem.endswith("-any"):
            return path
    sys.exit(
        f"ci/krew_plugin.py: {folder} has no wheel of {name} for {'/'.join(platform)}; "
        "make wheel builds it"
    )


def needed(path: Path) -> Iterator[Requirement]:
    """Yield what a wheel needs without extras on any platform."""
    with ZipFile(path) as archive:
        (member,) = (one for one in archive.namelist() if one.endswith("/METADATA"))
        metadata = message_from_bytes(archive.read(member))
    yield from applying(metadata.get_all("Requires-Dist") or [])


def applying(
    texts: list[str], extras: frozenset[str] = frozenset()
) -> Iterator[Requirement]:
    """Yield the requirements that hold on some platform, with extras or without."""
    for text in texts:
        one = Requirement(text)
        systems = (("linux", "Linux"), ("darwin", "Darwin"))
        if one.marker is None or any(
            one.marker.evaluate(
                {"sys_platform": system, "platform_system": name, "extra": extra}
            )
            for system, name in systems
            for extra in (extras or {""})
        ):
            yield one


def closure(roots: list[Requirement], own: set[str]) -> set[str]:
    """Return the names of all packages that are needed, those of ``own`` left out."""
    found, left = dict[str, frozenset[str]](), list(roots)
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        extras = found.get(name, frozenset()) | one.extras
        if name in own or found.get(name) == extras:
            continue
        found[name] = extras
        try:
            left += applying(requires(name) or [], extras)
        except PackageNotFoundError:
            # Only for a platform that this is not; the lock says whether it is known.
            continue
    return set(found)


def pins(names: set[str]) -> str:
    """Return the part of the lock file with these packages."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", lock.strip())
    kept = [one for one in entries if canonicalize_name(one.split("==")[0]) in names]
    return "\n".join(kept) + "\n"


def packed(files: dict[str, tuple[bytes, int]]) -> bytes:
    """Return an archive of files, each with its mode; always the same bytes."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as compressed,
        tarfile.open(
            fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT
        ) as archive,
    ):
        for name, (content, mode) in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def main(wheels_in: Path, folder: Path) -> None:
    """Make them for all platforms."""
    folder.mkdir(parents=True, exist_ok=True)
    own = {canonicalize_name(name) for name in WHEELS}
    platforms, version = [], ""
    for platform in MACHINES:
        wheels = [wheel(wheels_in, name, platform) for name in WHEELS]
        version = wheels[0].name.split("-")[1]
        names = closure([one for path in wheels for one in needed(path)], own)
        content = packed(
            {
                PROGRAM: ((PARTS / PROGRAM).read_bytes(), 0o755),
                "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
                "VERSION": (f"{version}\n".encode(), 0o644),
                "requirements.txt": (pins(names).encode(), 0o644),
                **{path.name: (path.read_bytes(), 0o644) for path in wheels},
            }
        )
        system, machine = platform
        name = f"{PROGRAM}_v{version}_{system}_{machine}.tar.gz"
        (folder / name).write_bytes(content)
        platforms.append(
            {
                "selector": {"matchLabels": {"os": system, "arch": machine}},
                "uri": f"{RELEASES}/v{version}/{name}",
                "sha256": hashlib.sha256(content).hexdigest(),
                "bin": PROGRAM,
            }
        )
    text = manifest(version, platforms)
    (folder / f"{PLUGIN}.yaml").write_text(text, encoding="utf-8")


def manifest(version: str, platforms: list[dict[str, object]]) -> str:
    """Return what krew is told."""
    lines = (PARTS / f"{PLUGIN}.yaml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    listed = yaml.safe_dump({"platforms": platforms}, sort_keys=False, width=200)
    block = "".join(f"  {line}\n" for line in listed.splitlines())
    return f"{text.replace('v0.0.0', f'v{version}')}\n{block}"


if __name__ == "__main__":
    if len(sys.argv) != len(("program", "WHEELS", "FOLDER")):
        sys.exit("usage: ci/krew_plugin.py WHEELS FOLDER")
    main(*map(Path, sys.argv[1:]))
