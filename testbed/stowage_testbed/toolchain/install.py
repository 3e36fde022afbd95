"""Installing what is missing, and nothing else: side by side, atomically, and by one process at a time."""

import errno
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from filelock import FileLock, Timeout

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.golang import GoBuilder, find_go
from stowage_testbed.toolchain.location import (
    ToolMissingError,
    binary_file,
    install_command,
    is_held,
    say_missing,
    tool_folder,
)
from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, Manifest, Space, Tool, choose_minor, load_manifest
from stowage_testbed.toolchain.progress import ToolProgress, say, telling
from stowage_testbed.toolchain.release import (
    DownloadError,
    SourceKind,
    ToolSource,
    choose_source,
    find_releases,
    sources_in_words,
    take_release,
)

LOCK_TIMEOUT_S = 1800.0
"""A cold build of the slowest tool takes 4 minutes on two cores."""
KEPT_OWN_BUILDS = 3
"""Builds of each version of an own tool to keep: switching branches is quick then."""
_STAGING = ".staging-"


def install_tools(
    names: Sequence[str] | None = None, *, minor: str | None = None, group: str = DEFAULT_GROUP
) -> dict[str, Path]:
    """Install tools that are not there yet, and return all their binaries by name.

    Those of Kubernetes are of a minor, the default one unless another is named. Where no tool is named, those of the
    group are meant. The environment names their source; our own tools are built unless a release has the very sources
    that are here. Stderr gets a line that says what is missing and how to install it beforehand, and then
    how far it is. Raises a StowageError if a name is unknown, a source does not give a tool, or the disk is full, and
    a ToolMissingError where the source is to install nothing.
    """
    manifest, source = load_manifest(), choose_source()
    minor = choose_minor(minor)
    tools = [manifest.tool(name, minor) for name in names] if names else manifest.group(group, minor)
    missing = [tool for tool in tools if not binary_file(tool).is_file()]
    if missing:
        if source.kind is SourceKind.NONE:
            raise ToolMissingError(*missing)
        install_missing(missing, manifest, source)
    return {tool.name: binary_file(tool) for tool in tools}


def install_missing(tools: Sequence[Tool], manifest: Manifest, source: ToolSource) -> None:
    """Install tools side by side, those that the manifest names first before others."""
    tools = sorted(tools, key=manifest.all_tools.index)
    minutes = sum(space.build_minutes for space in _unbuilt(tools, manifest))
    time = f" (up to {minutes} min on two cores)" if minutes else ""
    say(f"stowage: {say_missing(tools)}; installing now, once{time}; the same beforehand: {install_command(tools)}")
    releases = find_releases(tools, manifest, source)
    say(f"tools: {sources_in_words(releases)}")
    builder = GoBuilder(lambda: find_go(manifest.go))
    built = [tool for tool in tools if isinstance(releases[tool.name], str)]
    if built:
        builder.go()  # before anything takes time
    needed = needed_bytes(tools, built, manifest)
    if _free_bytes() < needed:
        raise _no_space(needed)
    progress = {tool.name: ToolProgress(tool.name, builder.ended.is_set) for tool in tools}

    def line(elapsed_s: float) -> str:
        installed = sum(one.doing == "installed" for one in progress.values())
        active = [one.in_words() for one in progress.values() if one.doing not in {"installed", "waiting"}]
        words = ", ".join(active) or "waiting"
        return f"tools: {elapsed_s:.0f} s, {installed} of {len(tools)} installed; {words}"

    def put(tool: Tool, target: Path) -> None:
        archive = releases[tool.name]
        if not isinstance(archive, str):
            try:
                take_release(archive, source.address(archive.url), target, progress[tool.name])
                return
            except DownloadError as error:
                if source.kind is SourceKind.RELEASE or builder.ended.is_set():
                    raise
                say(f"{tool.name}: {error}; its Go module is built")
        builder.build(tool, target, progress[tool.name])

    def install(tool: Tool) -> None:
        install_one(tool, put, is_ended=builder.ended.is_set)
        progress[tool.name].begin("installed")

    try:
        # The first that fails ends the others.
        with telling(line), ThreadPoolExecutor(len(tools)) as pool:
            running = [pool.submit(install, tool) for tool in tools]
            try:
                for one in as_completed(running):
                    one.result()
            except BaseException:
                builder.end()
                raise
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _no_space(needed) from error


def install_one(
    tool: Tool,
    put: Callable[[Tool, Path], None],
    *,
    timeout_s: float = LOCK_TIMEOUT_S,
    is_ended: Callable[[], bool] = lambda: False,
) -> Path:
    """Install one tool unless another process has just done so, which is waited for until `is_ended`.

    ``put`` writes it into a staging folder on the same disk, which then takes its final name in one step: a killed
    installation leaves nothing that looks finished.
    """
    folder = tool_folder(tool)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / ".lock").acquire(timeout_s, cancel_check=is_ended)
    except Timeout as error:
        raise StowageError(
            f"another process has been installing {tool.name} for {timeout_s:g} s and holds {folder / '.lock'}; "
            "wait for it, or stop it and run again"
        ) from error
    with lock:
        target = binary_file(tool)
        if not target.is_file():
            # The lock is held, so a staging folder is what a killed installation left.
            for leftover in folder.glob(f"{_STAGING}*"):
                shutil.rmtree(leftover, ignore_errors=True)
            staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
            try:
                put(tool, staging / tool.name)
                (staging / tool.name).chmod(0o755)
                staging.chmod(0o755)
                shutil.rmtree(target.parent, ignore_errors=True)
                staging.rename(target.parent)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
        if tool.own:
            _forget_old_builds(tool, target.parent)
        return target


def _forget_old_builds(tool: Tool, current: Path) -> None:
    builds = [path for path in tool_folder(tool).glob(f"{tool.version}-*") if path.is_dir() and path != current]
    builds.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in builds[KEPT_OWN_BUILDS - 1 :]:
        if not any(is_held(file) for file in old.iterdir() if file.is_file()):
            shutil.rmtree(old, ignore_errors=True)


def needed_bytes(tools: Sequence[Tool], built: Sequence[Tool], manifest: Manifest) -> int:
    """Return the bytes that installing ``tools`` may take, of which some are ``built``."""
    kept = sum(manifest.space[group].install_bytes for group in {tool.group for tool in tools})
    return kept + sum(space.build_bytes for space in _unbuilt(built, manifest))


def _unbuilt(tools: Sequence[Tool], manifest: Manifest) -> list[Space]:
    """Return the groups of tools of which nothing has been built before, so that Go's caches are empty."""
    asked = {(tool.group, tool.minor) for tool in tools}
    # Where there are tools of Kubernetes, their room is that of the whole group.
    asked -= {(group, "") for group, minor in asked if minor}
    installed = {
        (tool.group, tool.minor) for tool in manifest.all_tools if any(tool_folder(tool).glob(f"{tool.version}-*/*"))
    }
    return [manifest.space[group] for group, _ in asked - installed]


def _free_bytes() -> int:
    folder = layout.cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return shutil.disk_usage(folder).free


def _no_space(needed: int) -> StowageError:
    return StowageError(
        f"no disk space in the cache {layout.cache_folder()}: {needed:,} bytes are needed and {_free_bytes():,} "
        "are free; free some, or name a folder on another disk with STOWAGE_CACHE"
    )
