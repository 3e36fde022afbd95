"""A service recovers by the real autoscaler, from a real metrics-server's readings."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import ApiClient
from release_environment import listening

from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster import Cluster
from stowage_testbed.cluster.components import processes_of
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.metrics_server import USAGE, usage_object
from stowage_testbed.hpa.model import steady_state
from stowage_testbed.hpa.recovery import HpaRecord
from stowage_testbed.hpa.settings import Find, Hold
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.request import make_cluster
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.overloading import Overload

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

FILE = Path(__file__).parents[3] / "scenarios" / "hpa" / "recovery.yaml"

IN_A_HURRY: Mapping[str, Any] = {
    "find": Find(start=6, most=6, level_s=2.0),
    "hold": Hold(total_s=90.0, window_s=2.0, whole=False),
    # That it recovers is what counts here, not by how much runs differ.
    "aligned": False,
}


def hurried(scenario: Scenario) -> Scenario:
    """Return the scenario with shorter windows, and without waiting for a scrape."""
    release, step, end = scenario.steps
    assert isinstance(step.action, Overload)
    action = replace(step.action, **IN_A_HURRY)
    return replace(scenario, steps=(release, replace(step, action=action), end))


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return hurried(load_file(FILE)[0])


@pytest.fixture(scope="module")
def cluster(scenario: Scenario) -> Iterator[Cluster]:
    made = make_cluster(f"hpa-{secrets.token_hex(3)}", [scenario])
    with running_cluster(made) as running:
        yield running


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[ApiClient]:
    with cluster.api_client() as client:
        yield client


@pytest.fixture(scope="module")
def outcome(cluster: Cluster, api: ApiClient, scenario: Scenario) -> ScenarioOutcome:
    with Observer(api) as observer:
        context = RunContext(cluster, api, observer, tag="test")
        return run_scenario(context, scenario, 1, Listener())


@pytest.fixture(scope="module")
def record(outcome: ScenarioOutcome) -> HpaRecord:
    assert outcome.recovery is not None, outcome.error
    return outcome.recovery


def test_the_service_recovers(outcome: ScenarioOutcome, record: HpaRecord) -> None:
    """The SLA breaks under the first load, and is kept when replicas have come."""
    assert outcome.failed_checks == ()
    assert record.recovery.outcome == "recovered"
    assert record.clients == 6
    assert not record.hold[0].ok
    assert record.hold[-1].ok


def test_the_autoscaler_read_what_the_model_says(record: HpaRecord) -> None:
    """Nothing is lost from the model over KWOK and metrics-server to it."""
    read = [seen.cpu_percent for seen in record.replicas if seen.cpu_percent]
    service, scaling = record.settings.service, record.settings.autoscaling
    state = steady_state(service, record.clients, scaling.min_replicas)
    expected = 100 * state.cpu_milli / service.request_milli

    # The first reading may be of a span that began before the load.
    assert max(read) == pytest.approx(expected, rel=0.05)


def test_it_scaled_out_because_of_a_reading(record: HpaRecord) -> None:
    """And not because somebody scaled the Deployment by hand."""
    first = record.settings.autoscaling.min_replicas
    # Before its first look the autoscaler desires nothing.
    before = [seen for seen in record.replicas if seen.desired <= first]
    after = [seen for seen in record.replicas if seen.desired > first]

    assert {seen.current for seen in before} == {first}
    assert all(seen.cpu_percent is not None for seen in after)
    assert max(count.ready for count in record.pods) == after[-1].desired


def test_every_new_pod_was_timed(outcome: ScenarioOutcome, record: HpaRecord) -> None:
    """The metrics of the pods are of those that were created in HOLD."""
    found = {metric.name: metric for metric in outcome.metrics}
    new = max(count.total for count in record.pods) - 3

    assert found["t_sched_mean_s"].n == found["t_ready_mean_s"].n == new
    assert found["t_sched_missing_pods"].value == 0
    assert found["ttr_s"].value == record.recovery.ttr_s


def test_nothing_is_left_behind(record: HpaRecord, api: ApiClient) -> None:
    """The next arm's run must not find this one's load."""
    assert record.hold
    objects = Objects(api)

    assert objects.read("ClusterResourceUsage", USAGE)["spec"] == (usage_object({})["spec"])
    assert objects.list_all("HorizontalPodAutoscaler") == []


def test_metrics_server_listens_on_the_loopback_only(cluster: Cluster) -> None:
    found = [process for process in processes_of(cluster.workdir) if process.name() == "metrics-server"]

    assert listening(found) == ["127.0.0.1"]
