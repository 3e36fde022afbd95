"""The pieces of a soak: each has a cluster and a folder of its own, their figures join.

So a long soak may be made at several times, and one that ends early loses one piece.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from benchmarks.faults.trial import Trial
from benchmarks.soak.slopes import Point
from stowage_testbed.base.journal import Journal
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.toolchain import choose_minor, tool_build
from stowage_testbed.toolchain.environment import fingerprint

LONGEST_S = 45 * 60.0
"""Of one piece."""

PIECE, SAMPLES, TURNS = "piece.json", "samples.jsonl", "turns.jsonl"


@dataclass(frozen=True, slots=True)
class About:
    """What a piece was, written when it is over.

    Parameters
    ----------
    build
        Of scheduler, optimiser, libraries and machine: pieces of another one do not
        join.
    error
        What ended it early; empty if nothing did.
    """

    nodes: int
    seed: int
    length_s: float
    build: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line of the samples: a point of one of the things that are measured."""

    name: str
    at_s: float
    life: int
    value: float


@dataclass(frozen=True)
class Piece:
    """A piece that is over, read from its folder."""

    folder: Path
    about: About

    @cached_property
    def turns(self) -> list[Trial]:
        """Its turns, in their order."""
        return Journal(self.folder / TURNS, Trial).records()

    @cached_property
    def points(self) -> Mapping[str, Sequence[Point]]:
        """What was sampled, by name."""
        points: defaultdict[str, list[Point]] = defaultdict(list)
        for sample in Journal(self.folder / SAMPLES, Sample).records():
            points[sample.name].append(Point(sample.at_s, sample.life, sample.value))
        return points


def lengths_s(whole_s: float) -> list[float]:
    """Return the lengths of the pieces that a soak of so many seconds is made of."""
    count = max(1, -int(-whole_s // LONGEST_S))
    return [whole_s / count] * count


def build_in_use() -> str:
    """Return what decides the figures of a piece, in a word."""
    return f"{fingerprint()}+{tool_build('stowage-scheduler', choose_minor())}"


def end_piece(folder: Path, about: About) -> None:
    """Write down that a piece is over, and what it was."""
    write_whole(folder / PIECE, msgspec.json.encode(about))


def pieces_of(soaks: Path, nodes: int, build: str) -> tuple[list[Piece], list[str]]:
    """Return the pieces that are over and join, and those that do not, in words.

    Parameters
    ----------
    soaks
        The folder of all pieces.
    """
    joining, others = list[Piece](), list[str]()
    for file in sorted(soaks.glob(f"*/{PIECE}")):
        about = msgspec.json.decode(file.read_bytes(), type=About)
        if about.build != build:
            others.append(f"{file.parent.name} is of another build or machine")
        elif about.nodes != nodes:
            others.append(f"{file.parent.name} has {about.nodes} nodes")
        else:
            joining.append(Piece(file.parent, about))
    return joining, others


def write_sample(file: Path, name: str, point: Point) -> None:
    """Add a sample to a file, a JSON object a line."""
    sample = {"name": name, "at_s": point.at_s, "life": point.life}
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({**sample, "value": point.value}) + "\n")
