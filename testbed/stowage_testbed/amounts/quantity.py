"""Kubernetes quantities as exact integers: milli-CPU and bytes.

Binary suffixes (Ki to Ei) count in powers of 1024, decimal ones (k to E) in powers of
1000; `4G` is 4,000,000,000 bytes. Nothing is rounded: an amount that is not a whole
number of milli-CPU or bytes is refused, since two readers would round it differently.
"""

import re
from decimal import Decimal

from stowage_testbed.base.errors import StowageError

_SUFFIXES: dict[str, Decimal] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{suffix: Decimal(1000) ** (i + 1) for i, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Decimal(1024) ** (i + 1) for i, suffix in enumerate("KMGTPE")},
}

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))(?:(?P<suffix>[numkKMGTPE]i?)|"
    r"[eE](?P<exponent>[+-]?\d{1,3}))?"
)


class QuantityError(StowageError, ValueError):
    """A text is not an amount of the resource that was asked for."""


def parse_cpu(quantity: str | float) -> int:
    """Return an amount of CPU in milli-CPU: `4`, `0.5`, `100m`."""
    return _whole(amount(quantity) * 1000, quantity, "is finer than 1m; write whole milli-CPU, as in 100m")


def parse_memory(quantity: str | float) -> int:
    """Return an amount of memory in bytes: `4G`, `512Mi`, `128e6`."""
    return _whole(amount(quantity), quantity, "is no whole number of bytes; write 2G or 512Mi")


def parse_count(quantity: str | float) -> int:
    """Return an amount of something that is counted: pods, GPUs."""
    return _whole(amount(quantity), quantity, "is no whole number")


def amount(quantity: str | float) -> Decimal:
    """Return the exact value of a quantity; a QuantityError if the text does not follow Kubernetes' grammar."""
    match = _QUANTITY.fullmatch(str(quantity).strip())
    suffix = match["suffix"] if match else None
    if match is None or (suffix or "") not in _SUFFIXES:
        raise QuantityError(f"{quantity!r} is not a quantity; write a number and one of m, k, M, G, T, Ki, Mi, Gi, Ti")
    exponent = int(match["exponent"] or 0)
    return Decimal(match["number"]).scaleb(exponent) * _SUFFIXES[suffix or ""]


def format_cpu(cpu_milli: int) -> str:
    """Return milli-CPU as a quantity: `4`, `250m`."""
    cores, rest = divmod(cpu_milli, 1000)
    return f"{cpu_milli}m" if rest else str(cores)


def format_memory(memory_bytes: int) -> str:
    """Return bytes as the shortest exact quantity: `4G`, `512Mi`, `1500001`."""
    candidates = [str(memory_bytes)]
    for suffix in ("k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"):
        number, rest = divmod(memory_bytes, int(_SUFFIXES[suffix]))
        if not rest and number:
            candidates.append(f"{number}{suffix}")
    return min(candidates, key=len)


def _whole(value: Decimal, quantity: str | float, why_not: str) -> int:
    if value < 0:
        raise QuantityError(f"{quantity!r} is negative; write 0 or more")
    if value != value.to_integral_value():
        raise QuantityError(f"{quantity!r} {why_not}")
    return int(value)
