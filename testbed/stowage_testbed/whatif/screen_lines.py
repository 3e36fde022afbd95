"""What a screen of at most 40 lines and 100 columns is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from tabulate import tabulate

from stowage_testbed.text.terminal import plain
from stowage_testbed.whatif.findings import NotJudged

LINES, COLUMNS = 40, 100
"""What fits into a window, and into an issue."""

POD, NODE = 34, 20
"""Columns that names get in tables."""

REASONS = 3
"""How many are shown; what is left out is counted."""

_CENTS = Decimal(10)
"""From here on nobody asks for parts of a cent."""


def page(*blocks: Iterable[str]) -> str:
    """Return blocks of lines with a space between them; no line is too long."""
    texts = ("\n".join(cut(line, COLUMNS) for line in block) for block in blocks)
    return "\n\n".join(filter(None, texts))


def table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], align: Sequence[str]
) -> list[str]:
    """Return the lines of a table."""
    return tabulate(
        rows,
        headers=headers,
        tablefmt="plain",
        disable_numparse=True,
        colalign=align,
    ).split("\n")


def not_judged(found: Iterable[NotJudged]) -> Iterator[str]:
    """Yield what was not judged: the most frequent reasons, each with its number."""
    counts = Counter(one.reason for one in found)
    if not counts:
        return
    first_few = f" ({len(counts):,} reasons, the first {REASONS})"
    yield f"Not judged{first_few if len(counts) > REASONS else ''}:"
    for reason, number in counts.most_common(REASONS):
        yield f"  {reason}{f' ({number:,} times)' if number > 1 else ''}"


def more(number: int, what: str) -> Iterator[str]:
    """Yield that there are more of something than were shown, if there are."""
    if number > 0:
        yield f"... and {count(number, f'further {what}')}"


def first(texts: Sequence[str], most: int) -> str:
    """Return the first of some texts in a row, and how many more there are."""
    rest = len(texts) - most
    return ", ".join(texts[:most]) + (f", and {rest:,} more" if rest > 0 else "")


def cut(text: str, width: int) -> str:
    """Return the text in one line of a width, without its middle if it is longer."""
    line = plain(text).replace("\n", " ")
    if len(line) <= width:
        return line
    begin = (width - 3) // 2
    return f"{line[:begin]}...{line[len(line) - (width - 3 - begin) :]}"


def count(number: int, what: str) -> str:
    """Return how many there are of something."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def money(amount: Decimal, currency: str = "") -> str:
    """Return an amount in hundredths, small ones to four digits after the point."""
    text = f"{amount:,.2f}" if abs(amount) >= _CENTS else f"{amount:,.4f}"
    if abs(amount) < _CENTS:
        text = text[:-2] + text[-2:].rstrip("0")
    return f"{text} {cut(currency, 12)}" if currency else text
