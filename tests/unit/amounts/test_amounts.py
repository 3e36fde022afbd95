"""Amounts of resources and prices: exact whole numbers, as people and Kubernetes write them."""

import pytest
from amounts import GPU
from hypothesis import given
from hypothesis import strategies as st

from stowage_testbed.amounts.price import (
    MOST_MICROS,
    exact_column,
    exact_price,
    month_in_words,
    parse_price,
    price_in_words,
)
from stowage_testbed.amounts.resources import (
    QuantityError,
    Resources,
    add_up,
    message_of,
    names_of,
    parse,
    resources_of,
    spell,
)


def test_each_resource_is_spelt_in_its_own_units() -> None:
    """4294967296 of memory is nothing that a person reads; 3 GPUs are."""
    node = Resources({GPU: 3, "hugepages-2Mi": 2**22, "ephemeral-storage": 10**9}, memory=4 * 2**30, cpu=250)

    assert str(node) == ("cpu 250m, memory 4Gi, ephemeral-storage 1G, hugepages-2Mi 4Mi, nvidia.com/gpu 3")
    assert (str(Resources()), spell(GPU, 2**20)) == ("nothing", "1048576")


def test_devices_are_counted_in_thousandths() -> None:
    """A share or a partition is a part of a device, and 6.5 of 8 is what a person reads."""
    room = Resources({"devices/h100": 6500, "devices/t4": 8000, GPU: 2})

    assert str(room) == "devices/h100 6.5, devices/t4 8, nvidia.com/gpu 2"
    assert room == Resources.of_list(room.quantities())
    assert [spell("devices/h100", amount) for amount in (125, 10_000, 6_212_125, -500)] == [
        "0.125",
        "10",
        "6212.125",
        "-0.5",
    ]
    assert parse("devices/h100", "0.125") == 125
    with pytest.raises(QuantityError, match="finer than a thousandth of a device"):
        parse("devices/h100", "0.0625")


def test_what_is_not_asked_for_does_not_matter() -> None:
    """The scheduler places a pod without GPUs where GPUs are overcommitted."""
    left = Resources({GPU: 1}, cpu=4000, pods=1) - Resources({GPU: 2}, memory=1)

    assert Resources(cpu=4000, pods=1).fits(left)
    for more in ({GPU: 1}, {"memory": 1}, {"x.io/other": 1}):
        assert not Resources(more, cpu=1).fits(left)


def test_equal_amounts_are_one_and_can_be_added_up_and_sent() -> None:
    """Equal pods are one kind, wherever and in whatever order they were read."""
    one = Resources({GPU: 2, "hugepages-2Mi": 2**21}, cpu=1500, memory=10**9)
    again = Resources({"memory": 10**9, "x.io/none": 0, GPU: 2, "cpu": 1500})
    again += Resources({"hugepages-2Mi": 2**21})
    whole = add_up([one, again, Resources(pods=1)])

    assert one == again
    assert hash(one) == hash(again)
    assert list(again) == ["cpu", "memory", "hugepages-2Mi", GPU]
    assert whole == one + again + Resources(pods=1)
    assert (whole[GPU], whole["pods"], whole["x.io/none"]) == (4, 1, 0)
    assert whole - one - Resources(pods=1) == one
    assert (Resources(cpu=1) - one)["memory"] == -(10**9)
    assert set(names_of([whole])) == {*one}
    assert set(names_of([])) == {"cpu", "memory"}
    spelt = {name: spell(name, amount) for name, amount in one.items()}
    for read in (
        Resources.of_list(one.quantities()),
        Resources({name: parse(name, text) for name, text in spelt.items()}),
        resources_of(message_of(one)),
    ):
        assert read == one


def test_lists_of_the_api_are_read_with_parts_as_whole_ones() -> None:
    """As the scheduler does: a tenth of a milli-CPU is one."""
    found = Resources.of_list({"cpu": "0.1m", "memory": "1500m", GPU: "2", "pods": 0})

    assert found == Resources({GPU: 2}, cpu=1, memory=2)


@pytest.mark.parametrize(
    ("name", "quantity", "message"),
    [
        ("cpu", "0.1m", "is finer than 1m"),
        ("hugepages-2Mi", "0.1", "is no whole number of bytes; write"),
        (GPU, "1.5", "is no whole number"),
        ("memory", "-1", "'-1' is negative; write 0 or more"),
    ],
)
def test_an_amount_of_a_file_is_exact(name: str, quantity: str, message: str) -> None:
    """Two readers would round it differently, and a negative one would be free room."""
    with pytest.raises(QuantityError, match=message):
        parse(name, quantity)


def test_quantities_are_read_exactly_or_refused_with_the_suffixes() -> None:
    """Kubernetes counts CPU in thousandths, and G and Gi differ by 7 %.

    The commonest mistake is a unit that Kubernetes does not know: GB.
    """
    cpu: dict[str | float, int] = {"4": 4000, "100m": 100, "0.5": 500, 0.1: 100, 2: 2000}
    memory: dict[str | float, int] = {
        "4G": 4_000_000_000, "4Gi": 4_294_967_296, "1.5Ki": 1536, "128e6": 128_000_000,
        "1E3": 1000, "2E": 2 * 10**18, 343966759: 343966759, "1k": 1000,
    }  # fmt: skip

    assert {one: parse("cpu", one) for one in cpu} == cpu
    assert {one: parse("memory", one) for one in memory} == memory
    for text in ("", "4 G", "G", "4GB", "1mi", "1ni", "--1", "1e", "x"):
        with pytest.raises(QuantityError, match="is not a quantity; write a number"):
            parse("memory", text)


def test_an_amount_is_written_as_the_shortest_exact_quantity() -> None:
    """Messages show what an author would write, and never a rounded amount."""
    amounts = (4 * 10**9, 512 * 2**20, 1_500_001, 0)

    assert [spell("memory", one) for one in amounts] == ["4G", "512Mi", "1500001", "0"]
    assert (spell("cpu", 4000), spell("cpu", 250)) == ("4", "250m")


@given(st.integers(1, MOST_MICROS))
def test_what_is_written_is_read_back(micros: int) -> None:
    """The label that a node gets here says to the optimiser what the file said."""
    assert parse_price(exact_price(micros)) == micros


@pytest.mark.parametrize("text", ["", "free", "-0.1", "0", "0.0000001", "9000000000000", "nan"])
def test_what_is_no_price_is_refused(text: str) -> None:
    """A price of 0 means one that is not known; it must not come in by a typo."""
    with pytest.raises(QuantityError):
        parse_price(text)


def test_prices_are_told_to_the_cent() -> None:
    """One of a few cents is told whole: half of it would be lost."""
    for micros, said in (
        (12_384_000, "12.38"),
        (12_385_000, "12.39"),
        (100_000, "0.10"),
        (41_600, "0.0416"),
        (0, "0.00"),
        (-31_000, "-0.031"),
        (1_234_567_891, "1,234.57"),
    ):
        assert price_in_words(micros) == said
    # Cents of an hour times 730 would be off by dollars.
    assert month_in_words(41_600) == "30.37"


def test_prices_below_each_other_have_their_points_below_each_other() -> None:
    """A column of prices is added up by eye."""
    assert exact_column([96_000, 0, 71_200]) == ["0.0960", "", "0.0712"]
