"""The cluster of a run is what its scenarios need, and no two kinds at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.cluster.metrics.settings import MetricsSettings
from testbed.run.cluster_needs import cluster_for
from testbed.run.errors import ClusterNeedsError
from testbed.scenario.load import load_file
from testbed.scenario.model import Scenario

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def variants(name: str) -> dict[str | None, Scenario]:
    return {one.variant: one for one in load_file(SCENARIOS / f"{name}.yaml")}


def test_scenarios_that_measure_no_usage_pay_nothing_for_it() -> None:
    cluster = cluster_for("one", variants("burst/deployment-200").values())

    assert cluster.metrics is None


def test_a_scenario_s_own_periods_are_the_cluster_s() -> None:
    """Others of the run do not mind that usage is measured."""
    recovery = variants("hpa/recovery")
    plain = variants("burst/deployment-200")[None]

    assert cluster_for("one", [plain, recovery[None]]).metrics == MetricsSettings(10)
    assert cluster_for("one", [recovery["full"]]).metrics == MetricsSettings(15)


def test_scenarios_with_other_periods_need_a_run_of_their_own() -> None:
    """A cluster's periods are fixed when it comes up."""
    recovery = variants("hpa/recovery")

    with pytest.raises(ClusterNeedsError) as caught:
        cluster_for("one", recovery.values())

    assert "hpa/recovery@full needs usage measured every 15 s" in str(caught.value)
    assert "--variant" in str(caught.value)
