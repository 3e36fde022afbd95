"""Putting the parts of a sweep together that machines made on their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from stowage_testbed.base.errors import StowageError
from stowage_testbed.reproduce.sweep.folder import Header, SweepFolder, differences, no_sweep, other_sweep
from stowage_testbed.reproduce.sweep.shard import Shard


def merge(parts: Sequence[Path], into: Path) -> Header:
    """Write the journals of all parts to the folder ``into``, and return its header.

    Raises
    ------
    StowageError
        A part is none, parts do not belong together, a shard is not among them, or
        ``into`` holds something already.
    """
    if not parts:
        raise no_sweep(into)
    headers = [SweepFolder(part).header() for part in parts]
    first = headers[0]
    for part, header in zip(parts, headers, strict=True):
        found = differences(first.program, header.program)
        if (header.kind, header.scope) != (first.kind, first.scope):
            found.append(f"{parts[0]} was asked for something else")
        if found:
            raise other_sweep(part, found)
    _refuse_holes(shard for header in headers for shard in header.shards)
    target = SweepFolder(into)
    with target.alone():
        if any(into.glob("*.jsonl")):
            raise other_sweep(into, ["there are results in it already"])
        for part in parts:
            for journal in sorted(part.glob("*.jsonl")):
                with (into / journal.name).open("ab") as file:
                    file.write(_whole_lines(journal.read_bytes()))
        machines = dict.fromkeys(one for each in headers for one in each.machines)
        header = Header(first.kind, first.program, first.scope, (str(Shard()),), tuple(machines))
        target.write_header(header)
    return header


def _refuse_holes(names: Iterable[str]) -> None:
    shards = {Shard.parse(name) for name in names}
    wanted = {Shard(number, count) for count in {shard.count for shard in shards} for number in range(1, count + 1)}
    missing = sorted(wanted - shards, key=lambda one: (one.count, one.number))
    if missing:
        raise StowageError(
            f"the parts do not make a whole; missing: {', '.join(map(str, missing))}; name their folders too"
        )


def _whole_lines(content: bytes) -> bytes:
    """Return the content without a last line that was never finished."""
    whole, end, _ = content.rpartition(b"\n")
    return whole + end
