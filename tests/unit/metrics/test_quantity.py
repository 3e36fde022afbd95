import pytest

from stowage_testbed.amounts.quantity import (
    QuantityError,
    format_cpu,
    format_memory,
    parse_count,
    parse_cpu,
    parse_memory,
)


@pytest.mark.parametrize(
    ("quantity", "cpu_milli"),
    [("4", 4000), ("100m", 100), ("0.5", 500), (0.1, 100), (2, 2000)],
)
def test_cpu_is_read_as_exact_milli_cpu(quantity: str | float, cpu_milli: int) -> None:
    """Kubernetes counts CPU in thousandths; floats would drift from that."""
    assert parse_cpu(quantity) == cpu_milli


@pytest.mark.parametrize(
    ("quantity", "memory_bytes"),
    [
        ("4G", 4_000_000_000),
        ("4Gi", 4_294_967_296),
        ("0.1Gi", None),
        ("1.5Ki", 1536),
        ("128e6", 128_000_000),
        ("1E3", 1000),
        ("2E", 2 * 10**18),
        (343966759, 343966759),
        ("1k", 1000),
    ],
)
def test_memory_is_read_as_exact_bytes(
    quantity: str | float, memory_bytes: int | None
) -> None:
    """G and Gi differ by 7 %; an amount that is no whole number of bytes is refused."""
    if memory_bytes is None:
        with pytest.raises(QuantityError, match="no whole number of bytes; write"):
            parse_memory(quantity)
    else:
        assert parse_memory(quantity) == memory_bytes


@pytest.mark.parametrize(
    "text", ["", "4 G", "G", "4GB", "1mi", "1ni", "--1", "1e", "x"]
)
def test_what_is_no_quantity_is_refused_with_the_suffixes(text: str) -> None:
    """The commonest mistake is a unit that Kubernetes does not know: GB."""
    with pytest.raises(
        QuantityError, match="is not a quantity; write a number and one"
    ):
        parse_memory(text)


def test_amounts_that_cannot_be_kept_exactly_are_refused() -> None:
    """Rounding up or down would make the scheduler and the checks disagree."""
    with pytest.raises(QuantityError, match="finer than 1m"):
        parse_cpu("0.0001")
    with pytest.raises(QuantityError, match="no whole number"):
        parse_count("1.5")


def test_negative_amounts_are_refused() -> None:
    """A negative request would count as free room."""
    with pytest.raises(QuantityError, match="'-1' is negative; write 0 or more"):
        parse_cpu("-1")


@pytest.mark.parametrize(
    ("memory_bytes", "text"),
    [(4 * 10**9, "4G"), (512 * 2**20, "512Mi"), (1_500_001, "1500001"), (0, "0")],
)
def test_bytes_are_written_as_the_shortest_exact_quantity(
    memory_bytes: int, text: str
) -> None:
    """Messages show what an author would write, and never a rounded amount."""
    assert format_memory(memory_bytes) == text
    assert parse_memory(text) == memory_bytes


def test_cpu_is_written_in_cores_or_milli_cores() -> None:
    """Both forms are what Kubernetes itself prints."""
    assert (format_cpu(4000), format_cpu(250)) == ("4", "250m")
