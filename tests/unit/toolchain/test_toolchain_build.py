"""Building with the real Go, on a module of one file, or with one that is a script."""

import os
import shutil
import subprocess
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from small_tools import HELLO, a_manifest, a_program, a_tool

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.toolchain import progress as progress_module
from stowage_testbed.toolchain.golang import FETCH_TRIES, Go, GoBuilder
from stowage_testbed.toolchain.install import install_missing, needed_bytes
from stowage_testbed.toolchain.location import binary_file, data_folder
from stowage_testbed.toolchain.manifest import Tool
from stowage_testbed.toolchain.progress import LINE_EVERY_S, ToolProgress, saying_for_how_long
from stowage_testbed.toolchain.release import SourceKind, ToolSource

BUILT = ToolSource(SourceKind.GO)

pytestmark = [pytest.mark.usefixtures("cache"), pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")]


def build(tool: Tool, needed: int = 0) -> Path:
    manifest = a_manifest(tool, needed_bytes=needed)
    install_missing([tool], manifest, BUILT)
    return binary_file(tool)


def test_a_built_tool_runs_and_where_it_comes_from_is_said_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The whole way: find Go, build, install, and say why."""
    tool = a_tool(tmp_path / "hello")

    install_missing([tool], a_manifest(tool), ToolSource(SourceKind.AUTO))

    run = subprocess.run([binary_file(tool)], check=True, capture_output=True)
    assert run.stderr == b"hello\n"
    first, second = capfd.readouterr().err.splitlines()[:2]
    assert first.startswith("stowage: hello is not installed; installing now, once; ")
    assert first.endswith("the same beforehand: stowage tools install hello")
    assert second == "tools: Go modules for hello (none is released)"


def test_what_a_tool_needs_of_its_module_lies_beside_it(tmp_path: Path) -> None:
    """Writable, to be removable again; a new version may have moved some of it."""
    tool = a_tool(tmp_path / "hello")
    tool = replace(tool, module="hello", data=("config/crds", "role.yaml"))
    with pytest.raises(StowageError, match="hello holds no config/crds"):
        build(tool)
    assert not binary_file(tool).exists()
    files = {"config/crds/a.yaml", "config/crds/b.yaml", "role.yaml"}
    (tool.folder / "config" / "crds").mkdir(parents=True)
    for name in files:
        (tool.folder / name).write_text(name)
        (tool.folder / name).chmod(0o444)

    folder = data_folder(build(tool))

    assert {str(one.relative_to(folder)) for one in folder.rglob("*.yaml")} == files
    assert (folder / "role.yaml").read_text() == "role.yaml"
    assert os.stat(folder / "role.yaml").st_mode & 0o200


def test_a_group_that_was_never_built_needs_room_of_its_own(tmp_path: Path) -> None:
    """The caches that the first group has filled are of no use to the second."""
    first = a_tool(tmp_path / "hello")
    second = replace(a_tool(tmp_path / "other", name="other"), group="second")
    manifest = a_manifest(first, second, needed_bytes=1000)
    before = needed_bytes([first], [first], manifest)
    install_missing([first], manifest, BUILT)

    assert before == 2000
    assert needed_bytes([first], [first], manifest) == 1000
    assert needed_bytes([first, second], [first, second], manifest) == 3000


@pytest.mark.parametrize(
    ("source", "needed", "said"),
    [
        ("package main\n\nfunc main() { nope }\n", 0, "undefined: nope"),
        # Ten minutes of compiling would be lost.
        (HELLO, 1 << 60, f"the cache .*: {2 << 60:,} bytes are needed and .* are free"),
    ],
    ids=["the compiler's words", "no room"],
)
def test_a_failed_build_says_why(tmp_path: Path, source: str, needed: int, said: str) -> None:
    """An exit code would send the reader looking for a log."""
    with pytest.raises(StowageError, match=said):
        build(a_tool(tmp_path / "broken", source=source), needed)


FULL_DISK_GO = """\
[ "$1" = list ] || { echo go1.26.6; exit; }
echo 'write m.zip: no space left on device'
exit 1
"""


def test_a_disk_that_fills_up_during_the_build_is_named(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Go's own words name a file that is gone by then."""
    a_program(tmp_path / "go", FULL_DISK_GO)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    with pytest.raises(StowageError, match=f"the cache {cache}: .* are free"):
        build(a_tool(tmp_path / "hello"))


FETCHING_GO = """\
case $1 in
  list)
    echo x >>"$0-tries"
    [ "$(wc -l <"$0-tries")" -gt {failing} ] && exit 0
    echo 'go: m@v1.0.0: Get "https://proxy/m": {words}'
    exit 1 ;;
  build) while [ "$1" != -o ]; do shift; done; echo built >"$2" ;;
esac
"""
OF_THE_MOMENT = (
    "dial tcp 192.0.2.1:443: i/o timeout",
    "net/http: TLS handshake timeout",
    "read: connection reset by peer",
    "unexpected EOF",
    "reading https://proxy/m.zip: 502 Bad Gateway",
)


@dataclass(slots=True)
class Pauses:
    """A clock that only notes for how long it was to pause."""

    all_of_them: list[float] = field(default_factory=list)

    def now(self) -> float:
        return 0.0

    def pause(self, seconds: float) -> None:
        self.all_of_them.append(seconds)


def fetch(folder: Path, words: str, failing: int, clock: Pauses) -> Path:
    """Build with a Go whose first downloads fail with these words."""
    script, target = FETCHING_GO.format(failing=failing, words=words), folder / "built"
    go = a_program(folder / "go", script)
    tool = a_tool(folder / "hello")
    builder = GoBuilder(lambda: Go(go, "1.26.4"), clock)
    builder.build(tool, target, ToolProgress("hello", lambda: False))
    return target


@pytest.mark.parametrize(
    ("words", "failing", "count"),
    [
        # Of hundreds of downloads on a busy machine, one times out.
        *((words, 2, 3) for words in OF_THE_MOMENT),
        (OF_THE_MOMENT[0], 99, FETCH_TRIES),
        # What is not there will not be there in a moment.
        ("404 Not Found", 99, 1),
    ],
)
def test_a_download_is_tried_again_where_that_helps(tmp_path: Path, words: str, failing: int, count: int) -> None:
    """Each for the reason above it; it ends, and says why."""
    clock = Pauses()

    if failing < count:
        assert fetch(tmp_path, words, failing, clock).read_text() == "built\n"
        assert clock.all_of_them == [2.0, 4.0]
    else:
        with pytest.raises(StowageError, match=words):
            fetch(tmp_path, words, failing, clock)
    assert (tmp_path / "go-tries").read_text().count("x") == count


def test_a_log_gets_a_line_at_least_every_five_seconds(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CI log that stands still for nine minutes looks like a program that hangs."""
    assert LINE_EVERY_S < 5
    monkeypatch.setattr(progress_module, "LINE_EVERY_S", 0.01)
    lines: list[str] = []

    def seen() -> int:
        lines.extend(capfd.readouterr().err.splitlines())
        return len(lines)

    with saying_for_how_long("compiling"):
        wait_until("two lines", seen, lambda count: count > 1)

    assert lines[-1] == "compiling: 0 s"


SIDE_BY_SIDE_GO = """\
name=$(basename "$PWD")
case $1 in
  list) echo shared; echo "$name" ;;
  build)
    while [ "$1" != -o ]; do shift; done
    echo built >"$2"
    echo "$name begins" >>"{folder}/log"
    if [ "$name" = first ]; then
      echo shared
      echo "$name is compiled" >>"{folder}/log"
      echo "$name"
      read -r line <"{folder}/pipe"
    else
      echo "$name"
      echo >"{folder}/pipe"
    fi ;;
esac
"""


def test_a_tool_is_compiled_while_the_one_before_is_linked(tmp_path: Path) -> None:
    """Linking takes one core; before, both would compile what they share.

    Go links the first one until the second one is compiled.
    """
    os.mkfifo(tmp_path / "pipe")
    file = a_program(tmp_path / "go", SIDE_BY_SIDE_GO.format(folder=tmp_path))
    tools = [a_tool(tmp_path / name, name=name) for name in ("first", "second")]
    builder = GoBuilder(lambda: Go(file, "1.26.4"))

    def build(tool: Tool) -> None:
        builder.build(tool, tmp_path / f"built-{tool.name}", ToolProgress(tool.name, lambda: False))

    threads = [threading.Thread(target=build, args=(tool,), daemon=True) for tool in tools]
    for thread in threads:
        thread.start()
        wait_until("the first one to begin", (tmp_path / "log").exists, bool)
    for thread in threads:
        thread.join(HANG_S)
    assert [thread.is_alive() for thread in threads] == [False, False]
    assert (tmp_path / "log").read_text().splitlines() == ["first begins", "first is compiled", "second begins"]
