"""The guides to additions: each names the files that its change touches, and no other.

Something of the same sort that is there already tells which these are: all files of the
product that name it. So a place that somebody makes anew, and that whoever adds the
next one must know, fails here until it stands in the guide or is gone again.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GUIDES = ROOT / "docs" / "how-to"
PRODUCT = (
    ".github", "Makefile", "action.yml", "charts", "ci", "optimizer", "pyproject.toml",
    "scheduler", "testbed",
)  # fmt: skip
_NOT_WRITTEN = re.compile(
    r"_test\.go$|_pb2(_grpc)?\.pyi?$|\.pb\.go$|\.sum$|^charts/.*README|/testdata/"
)
"""Tests, and what commands write."""
ALWAYS, SOMETIMES, GENERATED = "always", "sometimes", "generated"
_HEADINGS = {
    "Only where it applies:": SOMETIMES,
    "Written by a command:": GENERATED,
}
_ROW = re.compile(r"^\| `([^`]+)` \|")


@dataclass(frozen=True)
class Example:
    """What was added before, in the way that a guide tells.

    Attributes
    ----------
    names
        What stands in its paths for each word in angle brackets.
    said
        How files name it, as a regular expression.
    uses
        Files that only use it, and why.
    """

    guide: str
    said: str
    names: Mapping[str, str] = field(default_factory=dict)
    uses: Mapping[str, str] = field(default_factory=dict)


EXAMPLES = (
    Example("add-an-arm", r"(?i)yunikorn", {"arm": "yunikorn"}),
    Example("add-a-metric", r"(?i)(?<![a-z])inversions?\b", {"subject": "inversions"}),
    Example(
        "add-a-step",
        r"(?<!os\.)\bInterrupt\b|[\"']interrupt[\"']",
        {"step": "interrupt"},
        {"testbed/stowage_testbed/base/ending.py": "a word of a sentence"},
    ),
    Example(
        "add-a-strategy",
        r"[\"']first-fit-decreasing[\"']|FirstFitDecreasing",
        {"strategy": "first_fit_decreasing"},
        {
            "testbed/stowage_testbed/reproduce/thesis/instances.py": (
                "the thesis asks for its answers"
            )
        },
    ),
    Example("add-a-constraint", r"\b(Get)?(host_ports|HostPorts?)\b"),
    Example(
        "add-a-constraint",
        r"\b(required_node_affinity|RequiredNodeAffinity|id\.NodeAffinity)\b",
        uses={"testbed/stowage_testbed/instances/snapshot.py": "writes snapshots"},
    ),
    Example(
        "add-a-kubernetes-minor",
        r"\bk8s136\b|\"1\.36\"|\}1\.36\{|go-1\.36\.mod",
        {"minor": "1.36", "etcd": "3.6"},
        {
            "testbed/stowage_testbed/cluster/owner.py": (
                "clusters that are older than the choice of a minor"
            ),
            "testbed/stowage_testbed/init/templates/workflow.yaml": "any minor will do",
        },
    ),
)


def name_example(example: Example) -> str:
    return f"{example.guide}-{example.said[-12:]}"


def read_files(guide: str) -> Iterator[tuple[str, str]]:
    """Yield how often each file is touched, and its path, as a guide lists them."""
    text = (GUIDES / f"{guide}.md").read_text("utf-8")
    section = text.partition("\n## Files\n")[2].partition("\n## ")[0]
    when = ALWAYS
    for line in section.splitlines():
        when = _HEADINGS.get(line, when)
        if row := _ROW.match(line):
            yield when, row[1]


def list_files(example: Example) -> dict[str, set[str]]:
    """Return the paths of the example by how often files are touched."""
    paths: dict[str, set[str]] = {ALWAYS: set(), SOMETIMES: set(), GENERATED: set()}
    for when, path in read_files(example.guide):
        paths[when].add(re.sub(r"<(\w+)>", lambda word: example.names[word[1]], path))
    return paths


def find_files(said: str, root: Path = ROOT) -> set[str]:
    """Return the files of the product whose path or text names something."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
         *PRODUCT],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    found = set()
    for name in filter(None, listing.split("\0")):
        file = root / name
        if file.is_file() and not _NOT_WRITTEN.search(name):
            text = f"{name}\n{file.read_text('utf-8', errors='replace')}"
            if re.search(said, text):
                found.add(name)
    return found


@pytest.mark.parametrize("example", EXAMPLES, ids=name_example)
def test_a_guide_names_every_file_that_its_change_touches(example: Example) -> None:
    """Whoever follows it must not have to search for the rest."""
    listed = list_files(example)
    known = listed[ALWAYS] | listed[SOMETIMES]
    folders = tuple(path for path in known if path.endswith("/"))
    found = find_files(example.said)

    assert {
        path for path in found - known - example.uses.keys()
        if not (folders and path.startswith(folders))
    } == set()  # fmt: skip
    needless = {
        path for path in listed[ALWAYS] if not any(f.startswith(path) for f in found)
    }
    assert needless == set()
    assert example.uses.keys() - found == set()


@pytest.mark.parametrize("example", EXAMPLES, ids=name_example)
def test_every_file_of_a_guide_is_there(example: Example) -> None:
    """With the name of the example in place of the one that is to come."""
    paths = set().union(*list_files(example).values())

    assert len(paths) > 1
    assert {path for path in paths if not (ROOT / path).exists()} == set()


def test_every_guide_to_an_addition_lists_its_files() -> None:
    """A guide that comes anew gets an example here."""
    guides = {page.stem for page in GUIDES.glob("add-*.md")}

    assert guides == {example.guide for example in EXAMPLES}


def test_a_file_is_found_by_its_path_and_by_its_text(tmp_path: Path) -> None:
    """Tests and generated files are no places that somebody must know."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name, text in {
        "testbed/a/drain.py": "",
        "ci/names": "wait drain",
        "scheduler/a_test.go": "drain",
        "tests/test_a.py": "drain",
        "testbed/b.py": "drained",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    assert find_files(r"\bdrain\b", tmp_path) == {"testbed/a/drain.py", "ci/names"}
