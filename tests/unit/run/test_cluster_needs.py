"""The cluster of a run is what its scenarios need, and no two kinds at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.run.cluster_needs import find_missing, make_cluster
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def variants(name: str) -> dict[str | None, Scenario]:
    return {one.variant: one for one in load_file(SCENARIOS / f"{name}.yaml")}


def resolution_s(cluster: Cluster) -> int | None:
    assert isinstance(cluster, KwokBinaryCluster)
    return cluster.resolution_s


def test_scenarios_that_measure_no_usage_pay_nothing_for_it() -> None:
    cluster = make_cluster("one", variants("burst/deployment-200").values())

    assert resolution_s(cluster) is None


def test_a_scenario_s_own_periods_are_the_cluster_s() -> None:
    """Others of the run do not mind that usage is measured."""
    recovery = variants("hpa/recovery")
    plain = variants("burst/deployment-200")[None]

    both = make_cluster("one", [plain, recovery[None]])
    assert resolution_s(both) == 10
    assert resolution_s(make_cluster("one", [recovery["full"]])) == 15


def test_scenarios_with_other_periods_need_a_run_of_their_own() -> None:
    """A cluster's periods are fixed when it comes up."""
    recovery = variants("hpa/recovery")

    with pytest.raises(InputError) as caught:
        make_cluster("one", recovery.values())

    assert "hpa/recovery@full needs usage measured every 15 s" in str(caught.value)
    assert "--variant" in str(caught.value)


def test_a_scenario_is_reported_what_a_backend_lacks() -> None:
    """It is skipped with that reason, instead of failing after minutes."""
    recovery = variants("hpa/recovery")[None]
    plain = variants("burst/deployment-200")[None]

    assert find_missing(Backend.KIND, recovery).startswith("kind has no usage: ")
    assert find_missing(Backend.KIND, plain) == ""
    assert find_missing(Backend.KWOK_BINARY, recovery) == ""


def test_only_processes_of_this_machine_are_interrupted() -> None:
    """A process in a container cannot be stopped from here."""
    interrupted = variants("interruptions/mid-burst")[None]

    assert "has no processes: " in find_missing(Backend.KIND, interrupted)
    assert find_missing(Backend.KWOK_BINARY, interrupted) == ""


def test_a_scenario_that_will_be_skipped_changes_nothing_about_the_cluster() -> None:
    """Else its periods would be asked of a backend that measures nothing."""
    recovery = variants("hpa/recovery")

    cluster = make_cluster("one", recovery.values(), Backend.KIND)

    assert cluster.backend is Backend.KIND
