"""Prices as exact whole numbers: millionths of whatever currency.

The label of a node, the contract with the optimiser and every sum count in them. Only
what people read is rounded, at the very end.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from stowage_testbed.amounts.resources import QuantityError, amount

MICROS = 10**6  # Parts of a unit of the currency
MOST_MICROS = 2**43  # The most that the optimiser takes for an hour of a node
HOURS_A_MONTH = 730  # As the clouds count: 365 days of 24 hours, by 12

_CENT = Decimal("0.01")


def parse_price(text: str) -> int:
    """Return a price in millionths: ``0.384``; a QuantityError if it is 0 or less, too fine, or too much."""
    micros = amount(text) * MICROS
    if not 0 < micros <= MOST_MICROS:
        raise QuantityError(
            f"{text!r} is no price of an hour; write more than 0, and no more than {MOST_MICROS // MICROS}"
        )
    if micros != micros.to_integral_value():
        raise QuantityError(f"{text!r} is finer than a millionth; write 6 decimals")
    return int(micros)


def exact_price(micros: int, decimals: int = 2) -> str:
    """Return all of a price, with so many decimals at least: ``12.384``, ``0.10``; with none ``0.1``."""
    whole, part = divmod(abs(micros), MICROS)
    rest = f"{part:06}".rstrip("0").ljust(decimals, "0")
    return f"{'-' if micros < 0 else ''}{whole}.{rest}".rstrip(".")


def exact_column(prices: Sequence[int]) -> list[str]:
    """Return prices that stand below each other, all of each; nothing where it is 0."""
    ends = (exact_price(micros).partition(".")[2] for micros in prices)
    decimals = max(map(len, ends), default=2)
    return [exact_price(micros, decimals) if micros else "" for micros in prices]


def price_in_words(micros: int) -> str:
    """Return a price to the cent: ``12.38``; all of it where cents say little."""
    if abs(micros) < MICROS // 10:
        return exact_price(micros)
    return f"{_unit(micros).quantize(_CENT, ROUND_HALF_UP):,}"


def month_in_words(micros: int) -> str:
    """Return what a month comes to, to the cent, by the price of an hour."""
    month = _unit(micros * HOURS_A_MONTH)
    return f"{month.quantize(_CENT, ROUND_HALF_UP):,}"


def _unit(micros: int) -> Decimal:
    return Decimal(micros) / MICROS
