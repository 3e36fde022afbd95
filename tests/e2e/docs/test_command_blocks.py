"""Every command of the tutorial and the how-to guides, as a reader would run them."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from offline import OFFLINE

from docs.tooling.command_blocks import CommandBlock, command_blocks, missing, pages
from stowage_testbed.base import layout
from stowage_testbed.toolchain import choose_minor, tool_path

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
TIMEOUT_S = 150.0
"""Of a page: many times what one needs, and below that of a test."""

_UP = re.compile(r"^stowage up (?:--\S+ \S+ )*([a-z][-a-z0-9]*)", re.M)
_MINOR = re.compile(r"(?:--kubernetes |@)(1\.\d+)")
_ENDED = re.compile(r"^--- end of block (\d+), exit code (\d+)$", re.M)


EVERY_CHANGE = {
    "how-to/ask-what-would-fit.md",
    "how-to/defragment-a-cluster.md",
    "how-to/install-the-chart.md",
    "how-to/test-with-pytest.md",
    "how-to/write-a-scenario.md",
}
"""The pages that every change is tried with, beside the tutorial."""


def runnable() -> list[Path]:
    """Return the pages with a block that can be run."""
    return [page for page in pages(DOCS) if any(block.norun is None for block in command_blocks(page))]


def waits(page: Path) -> bool:
    """Return whether a page waits for the night."""
    return page.parent.name != "tutorial" and name(page) not in EVERY_CHANGE


def name(page: Path) -> str:
    return str(page.relative_to(DOCS))


def script(blocks: list[CommandBlock]) -> str:
    """Return all blocks as one script, which ends at the first that fails.

    A variable or a folder of one block is there in the next, as on a reader's terminal.
    """
    ended = 'code=$?; echo; echo "--- end of block $block, exit code $code"'
    parts = [f"trap '{ended}' EXIT"]
    for number, block in enumerate(blocks):
        parts += [f"block={number}", "set -eo pipefail", block.text, "set +e"]
        parts.append(f'echo; echo "--- end of block {number}, exit code 0"')
    return "\n".join([*parts, "trap - EXIT"])


def environment(home: Path) -> dict[str, str]:
    """Return what a reader's terminal has, and nothing of this test's."""
    kept = ("LANG", "LC_ALL", "PATH", "PYTHONPATH", "TMPDIR", "GOFLAGS", *OFFLINE)
    variables = {key: os.environ[key] for key in kept if key in os.environ}
    programs = Path(sys.executable).parent
    kubectl = tool_path("kubectl", choose_minor()).parent
    return {
        **variables,
        "HOME": str(home),
        "PATH": f"{programs}:{kubectl}:{variables.get('PATH', '/usr/bin:/bin')}",
        # The tools are built; nothing else of the reader's home is.
        "STOWAGE_CACHE": str(layout.cache_folder()),
        "COLUMNS": "200",
        "PYTHONUTF8": "1",
    }


@pytest.fixture
def terminal(tmp_path: Path) -> Path:
    """Return an empty folder beside an empty home."""
    (tmp_path / "home").mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=name(page), marks=[pytest.mark.nightly] * waits(page)) for page in runnable()]
)
def test_a_page_does_what_it_says(page: Path, terminal: Path) -> None:
    """Whoever copies a command finds what the page promises."""
    blocks = [block for block in command_blocks(page) if block.norun is None]
    for minor in _MINOR.findall(script(blocks)):
        tool_path("kube-apiserver", minor)
        tool_path("stowage-scheduler", minor)

    code, said = run(script(blocks), terminal, [block.text for block in blocks])

    outputs = outputs_of(said)
    for number, block in enumerate(blocks):
        where = f"{name(page)}:{block.line}"
        ended, output = outputs.get(number, (code, said))
        assert ended == 0, f"{where} ended with {ended}:\n{block.text}\n{output}"
        gone = missing(block.expected, output)
        assert gone == [], f"{where} did not print {gone}:\n{output}"
    assert code == 0, said


def run(text: str, folder: Path, blocks: list[str]) -> tuple[int, str]:
    """Run a script in bash, and return its exit code and all it printed."""
    variables = environment(folder.parent / "home")
    process = subprocess.Popen(
        ["bash", "-c", text],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        # What `stowage` started is ended by `stowage`, if it is asked politely.
        os.killpg(process.pid, signal.SIGTERM)
        said, _ = process.communicate(timeout=TIMEOUT_S)
        return -signal.SIGTERM, f"{said}\nnot done after {TIMEOUT_S:.0f} s"
    finally:
        for cluster in _UP.findall("\n".join(blocks)):
            subprocess.run(["stowage", "down", cluster], env=variables, capture_output=True, check=False)
    return process.returncode, said


def outputs_of(said: str) -> dict[int, tuple[int, str]]:
    """Return exit code and output of each block that was begun."""
    found, start = {}, 0
    for match in _ENDED.finditer(said):
        found[int(match[1])] = (int(match[2]), said[start : match.start()])
        start = match.end()
    return found
