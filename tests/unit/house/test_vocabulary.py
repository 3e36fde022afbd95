"""One word, one meaning: what the glossary lists as not used is not used."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
HEADING = "## Words that are not used"
KINDS = (
    "*.py",
    "*.pyi",
    "*.go",
    "*.proto",
    "*.yaml",
    "*.yml",
    "*.tpl",
    "*.md",
    "*.toml",
)
EXCEPT = ("CHANGELOG.md", "docs/reference/glossary.md", "tests/unit/house/")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_in(text: str) -> set[str]:
    """Return the words of a text, those inside identifiers too, in lower case."""
    return {part.lower() for part in PART.findall(text)}


def unused_words(glossary: str) -> dict[str, str]:
    """Return what to say, by each word that is not used and its plural."""
    words: dict[str, str] = {}
    for line in glossary.partition(HEADING)[2].splitlines():
        if line.startswith("| ") and not line.startswith("| not |"):
            left, instead = (cell.strip() for cell in line.strip("|").split("|"))
            for word in left.split(", "):
                words |= {word: instead, f"{word}s": instead, f"{word}es": instead}
    return words


def found(text: str, words: dict[str, str]) -> set[str]:
    """Return the words of a text that are not used."""
    return words_in(text) & words.keys()


@pytest.mark.parametrize(
    "text", ["class Feud:", "a_feud = 1", "theirFeuds()", "FEUD", "the feuds of pods"]
)
def test_a_word_is_found_in_prose_and_in_every_kind_of_name(text: str) -> None:
    """Names outlive the prose around them."""
    assert found(text, {"feud": "rule", "feuds": "rule"})


def test_the_glossary_lists_what_is_not_used() -> None:
    """The check below reads it from there; an empty list would check nothing."""
    words = unused_words(GLOSSARY.read_text(encoding="utf-8"))

    assert words["nursery"] == words["funeral"] == "fork server, reaping"
    assert len(words) > 60


def test_no_word_is_used_that_the_glossary_has_replaced() -> None:
    """A reader who knows Kubernetes and its literature need not learn a dialect."""
    words = unused_words(GLOSSARY.read_text(encoding="utf-8"))
    listing = subprocess.run(
        ["git", "ls-files", *KINDS],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    wrong = []
    for name in listing.stdout.splitlines():
        path = ROOT / name
        if name.startswith(EXCEPT) or "pb2" in name or not path.is_file():
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            wrong += [
                f"{name}:{number}: {word}; use {words[word]}"
                for word in sorted(found(line, words))
            ]
        wrong += [f"{name}: {word}; use {words[word]}" for word in found(name, words)]

    assert wrong == []
