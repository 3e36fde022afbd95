"""A part of a sweep, for machines that know nothing of each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from stowage_testbed.base.errors import InputError

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``number``-th of ``count`` parts, counted from 1."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard that ``i/n`` stands for.

        Raises
        ------
        InputError
            It stands for none.
        """
        match = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
        number, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= count:
            raise InputError(f"--shard {text!r}: must be i/n with i from 1 to n, as in 2/8")
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, items: Sequence[ItemT]) -> Sequence[ItemT]:
        """Return this part: every ``count``-th, so that the parts take alike long."""
        return items[self.number - 1 :: self.count]


WHOLE = Shard()
"""The only part of one."""
