"""Amounts of resources as people and Kubernetes write them."""

from __future__ import annotations

import pytest
from amounts import GPU

from stowage_testbed.amounts.quantity import QuantityError
from stowage_testbed.amounts.resources import Resources, parse, parse_all, spell


def test_each_resource_is_spelt_in_its_own_units() -> None:
    """4294967296 of memory is nothing that a person reads; 3 GPUs are."""
    node = Resources(
        {GPU: 3, "hugepages-2Mi": 2**22, "ephemeral-storage": 10**9},
        memory=4 * 2**30,
        cpu=250,
    )

    assert str(node) == (
        "cpu 250m, memory 4Gi, ephemeral-storage 1G, hugepages-2Mi 4Mi, "
        "nvidia.com/gpu 3"
    )
    assert (str(Resources()), spell(GPU, 2**20)) == ("nothing", "1048576")


def test_what_is_not_asked_for_does_not_matter() -> None:
    """The scheduler places a pod without GPUs where GPUs are overcommitted."""
    left = Resources({GPU: 1}, cpu=4000, pods=1) - Resources({GPU: 2}, memory=1)

    assert Resources(cpu=4000, pods=1).fits(left)
    assert not Resources({GPU: 1}, cpu=1).fits(left)
    assert not Resources(memory=1).fits(left)
    assert not Resources({"x.io/other": 1}).fits(left)


def test_lists_of_the_api_are_read_with_parts_as_whole_ones() -> None:
    """As the scheduler does: a tenth of a milli-CPU is one."""
    found = Resources.of_list({"cpu": "0.1m", "memory": "1500m", GPU: "2", "pods": 0})

    assert found == Resources({GPU: 2}, cpu=1, memory=2)


@pytest.mark.parametrize(
    ("name", "quantity", "message"),
    [
        ("cpu", "0.1m", "is finer than 1m"),
        ("hugepages-2Mi", "0.1", "is no whole number of bytes"),
        (GPU, "1.5", "is no whole number"),
        ("memory", "-1", "is negative"),
    ],
)
def test_an_amount_of_a_file_is_exact(name: str, quantity: str, message: str) -> None:
    """Two readers would round it differently."""
    with pytest.raises(QuantityError, match=message):
        parse(name, quantity)
    with pytest.raises(QuantityError, match=message):
        parse_all({name: quantity})
