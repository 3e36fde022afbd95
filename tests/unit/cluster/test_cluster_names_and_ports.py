"""Names that can be folders, and ports that are nobody else's."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.claim import check_name
from stowage_testbed.cluster.ports import FIRST, LAST, choose_ports, port_beside


@pytest.fixture
def taken_port() -> Iterator[int]:
    """Return a port that this very process listens on."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


@pytest.mark.parametrize("name", ["a", "stowage", "run-1", "9lives", "a" * 30])
def test_ordinary_names_are_taken(name: str) -> None:
    """What a user types first must work."""
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "A", "a_b", "a.b", "../etc", "a/b", ".lock", "a" * 31]
)
def test_names_that_cannot_be_folders_of_ours_are_refused(name: str) -> None:
    """The folder is removed with everything in it when the cluster ends."""
    with pytest.raises(StowageError, match="lower-case letters"):
        check_name(name)


def test_a_port_in_use_is_named_with_its_holder(taken_port: int) -> None:
    """The way out is to end the holder or to choose another port."""
    with pytest.raises(StowageError) as caught:
        choose_ports(taken_port, taken=(), start=0)

    assert f"port {taken_port} " in str(caught.value)
    assert f"process {os.getpid()} (" in str(caught.value)


def test_the_port_that_was_asked_for_is_the_api_servers() -> None:
    """Scripts rely on it."""
    free = choose_ports(None, taken=(), start=500).kube_apiserver

    assert choose_ports(free, taken=(), start=0).kube_apiserver == free


def test_ports_that_another_cluster_chose_are_left_alone() -> None:
    """It may not have bound them yet."""
    first = choose_ports(None, taken=(), start=0)

    second = choose_ports(None, taken=first.all(), start=0)

    assert not set(first.all()) & set(second.all())


def test_a_port_beside_a_cluster_is_none_of_a_control_planes() -> None:
    """A scheduler that starts later must not find its port taken by an etcd."""
    assert not FIRST <= port_beside("mine") < LAST


def test_a_port_beside_a_cluster_that_is_taken_is_passed_over() -> None:
    """Two schedulers of one cluster run side by side."""
    first = port_beside("mine")
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", first))
        holder.listen()

        assert port_beside("mine") != first


def test_ports_lie_below_those_of_outgoing_connections() -> None:
    """Any connection could take such a port between its choice and its use."""
    ports = choose_ports(None, taken=(), start=LAST - FIRST - 1).all()

    assert len(set(ports)) == len(ports)
    assert all(FIRST <= port < LAST for port in ports)
