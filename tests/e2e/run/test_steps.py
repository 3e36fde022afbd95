"""Steps on a live cluster: what they do, and what is left when one fails."""

from __future__ import annotations

import pytest
from step_environment import StepEnvironment

from stowage_testbed.observe.receipt import Receipt, ReceiptClock
from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.listener import WindowListener

pytestmark = pytest.mark.e2e


def test_a_step_that_fails_says_where_and_what_was_seen_last(
    environment: StepEnvironment,
) -> None:
    """Number, kind, file and line, and the reason of the pods that wait."""
    outcome = environment.play(
        """\
steps:
  - apply: web
  - scale: {workload: web, to: 3}
  - wait: {for: bound, of: web, timeout_s: 2}
  - scale: {workload: web, to: 0}
catch: [events, {describe: web}, {objects: Node}, {objects: ReplicaSet}]
expect: {end: {placed: 0}}
"""
    )

    assert outcome.error.startswith("step 3 (wait, line 10) of ")
    assert "test/case.yaml failed: waited 2 s for it to hold that all pods of web" in (
        outcome.error
    )
    assert "2 of 3 pods are bound" in outcome.error
    assert "Insufficient cpu" in outcome.error
    assert [record.step.number for record in outcome.steps] == [0, 1, 2, 3]
    assert outcome.checks == ()
    assert len(outcome.checkpoints[-1].state.bound) == 2


def test_what_a_scenario_catches_is_there_when_it_failed(
    environment: StepEnvironment,
) -> None:
    """As it was at the failure: the cluster is cleared right after."""
    outcome = environment.play(
        """\
steps:
  - apply: web
  - scale: {workload: web, to: 3}
  - wait: {for: settled, of: web}
  - check: {placed: 3, timeout_s: 0.2}
  - scale: {workload: web, to: 2}
  - wait: {for: bound, of: web}
catch: [events, {describe: web}, {objects: Node}, {objects: ReplicaSet}]
expect: {end: {placed: 2}}
"""
    )

    assert outcome.error == ""
    assert [(one.name, one.passed) for one in outcome.checks] == [
        ("step 4: placed", False), ("placed", True),
    ]  # fmt: skip
    assert set(outcome.evidence) == {
        "events.txt", "describe-web.txt", "objects-Node.yaml",
        "objects-ReplicaSet.yaml",
    }  # fmt: skip
    assert "FailedScheduling" in outcome.evidence["events.txt"]
    assert "kind: Deployment" in outcome.evidence["describe-web.txt"]
    assert "FailedScheduling" in outcome.evidence["describe-web.txt"]
    assert "name: node-0" in outcome.evidence["objects-Node.yaml"]


def test_nothing_is_caught_when_nothing_failed(environment: StepEnvironment) -> None:
    """Evidence of a success would be read as a failure."""
    outcome = environment.play(
        "steps: [{burst: {workload: task, pods: 1}}, {wait: {for: ready}}]"
        "\ncatch: [events]\nexpect: {end: {placed: 1}}\n"
    )

    assert outcome.error == ""
    assert outcome.failed_checks == ()
    assert outcome.evidence == {}


def test_every_pod_gets_the_schedulers_overrides(
    environment: StepEnvironment,
) -> None:
    """Pods of controllers and of bursts; else another scheduler would place them."""
    pod_overrides = PodOverrides(
        "default-scheduler", {"queue": "root"}, {"overridden": "yes"}
    )

    outcome = environment.play(
        """\
steps:
  - apply: web
  - scale: {workload: web, to: 1}
  - burst: {workload: task, pods: 3}
  - wait: {for: ready}
expect: {end: {placed: 4}}
""",
        pod_overrides,
    )

    assert (outcome.error, outcome.failed_checks) == ("", ())
    assert len(environment.pods) == 4
    assert environment.facts("labels", "queue") == {"root"}
    assert environment.facts("annotations", "overridden") == {"yes"}


class Stopwatch(WindowListener):
    """Notes when it was opened and closed."""

    def __init__(self, clock: ReceiptClock) -> None:
        self._clock = clock
        self.at: list[Receipt] = []

    def open(self) -> None:
        """Note the moment."""
        self.at.append(self._clock.now())

    def close(self) -> None:
        """Note the moment."""
        self.at.append(self._clock.now())


def test_the_window_lies_inside_the_calls_of_a_window_listener(
    environment: StepEnvironment, context: RunContext
) -> None:
    """What reading memory and CPU time costs is not measured."""
    window_listener = Stopwatch(context.observer.clock)

    outcome = environment.play(
        "steps: [{measure: start}, {burst: {workload: task, pods: 1}}, "
        "{wait: {for: bound}}, {measure: stop}]\nexpect: {end: {placed: 1}}\n",
        window_listener=window_listener,
    )

    assert outcome.window is not None
    opened, closed = window_listener.at
    assert opened < outcome.window.start < outcome.window.stop < closed


def test_pods_no_scheduler_wants_are_waited_for_in_vain(
    environment: StepEnvironment,
) -> None:
    """The pod overrides decide which scheduler places them."""
    outcome = environment.play(
        "steps: [{burst: {workload: task, pods: 1}}, "
        "{wait: {for: bound, timeout_s: 1}}]\nexpect: {end: {placed: 1}}\n",
        PodOverrides("nobody"),
    )

    assert "not tried by a scheduler yet" in outcome.error


def test_pods_are_done_after_their_lifetime(
    environment: StepEnvironment, context: RunContext
) -> None:
    """They give their room back without anybody deleting them."""
    outcome = environment.play(
        """\
steps:
  - burst:
      workload: task
      pods: 4
      arrival: {process: constant, rate_per_s: 20}
      lifetime: {distribution: constant, mean_s: 1}
  - wait: {for: bound}
  - wait: {for: gone}
expect: {end: {placed: 0, pending: {}}}
"""
    )

    lived, gone = outcome.steps[1], outcome.steps[3]
    assert (outcome.error, outcome.failed_checks) == ("", ())
    assert lived.facts["pods"] == 4
    # The last came after 0.2 s and has run for a second when it is gone.
    assert sum(record.duration_s for record in outcome.steps) >= 1.2
    assert gone.duration_s > 0.5
    assert {pod["status"]["phase"] for pod in environment.pods} == {"Succeeded"}


def test_usage_is_given_to_kwok_pod_by_pod(environment: StepEnvironment) -> None:
    """Its metrics are read from these annotations."""
    outcome = environment.play(
        """\
steps:
  - apply: web
  - scale: {workload: web, to: 2}
  - wait: {for: ready, of: web}
  - usage: {workload: web, cpu: 250m, memory: 64Mi}
expect: {end: {placed: 2}}
"""
    )

    assert outcome.steps[4].facts == {"pods": 2}
    assert environment.facts("annotations", "kwok.x-k8s.io/usage-cpu") == {"250m"}
    assert environment.facts("annotations", "kwok.x-k8s.io/usage-memory") == {
        str(64 * 2**20)
    }


def test_an_eviction_that_a_budget_forbids_fails_its_step(
    environment: StepEnvironment,
) -> None:
    """The API server's own words say which budget."""
    outcome = environment.play(
        """\
objects:
  all-stay:
    kind: PodDisruptionBudget
    spec: {maxUnavailable: 0, selector: {matchLabels: {stowage.dev/workload: web}}}
steps:
  - apply: [web, all-stay]
  - scale: {workload: web, to: 1}
  - wait: {for: ready, of: web}
  - check: {objects: {all-stay: {status: {currentHealthy: 1}}}}
  - evict: {workload: web}
expect: {end: {placed: 1}}
"""
    )

    assert outcome.error.startswith("step 5 (evict, line 16)")
    assert "429" in outcome.error
    assert "all-stay" in outcome.error


@pytest.mark.parametrize(
    ("demand", "error"),
    [("maxUnavailable: 1", ""), ("maxUnavailable: 0", "all-stay")],
)
def test_a_drain_evicts_what_budgets_allow(
    environment: StepEnvironment, demand: str, error: str
) -> None:
    """One pod at a time, as each is replaced; or none, and the step says why."""
    outcome = environment.play(
        f"""\
objects:
  all-stay:
    kind: PodDisruptionBudget
    spec: {{{demand}, selector: {{matchLabels: {{stowage.dev/workload: web}}}}}}
steps:
  - apply: [web, all-stay]
  - scale: {{workload: web, to: 2}}
  - wait: {{for: ready, of: web}}
  - check: {{objects: {{all-stay: {{status: {{currentHealthy: 2}}}}}}}}
  - add-nodes: {{prefix: late, count: 1, cpu: "1", memory: 1G}}
  - drain: {{nodes: node-0, timeout_s: 5}}
  - wait: {{for: ready, of: web}}
expect: {{end: {{placed: 2, placements: {{web: [late-0, late-0]}}}}}}
"""
    )

    assert bool(outcome.error) is bool(error)
    if error:
        assert error in outcome.error
        assert outcome.error.startswith("step 6 (drain, line 17)")
        assert "evict Pod web-" in outcome.error


def test_nodes_come_and_go_with_their_pods_and_taints(
    environment: StepEnvironment,
) -> None:
    """Steps change the world that expectations count."""
    outcome = environment.play(
        """\
steps:
  - taint: {nodes: node-0, key: busy, value: "yes", effect: NoSchedule}
  - taint: {nodes: node-0, key: other, effect: PreferNoSchedule}
  - burst: {workload: task, pods: 2}
  - wait: {for: unschedulable}
  - untaint: {nodes: node-0, key: busy, effect: NoExecute}
  - check: {placed: 0, stable_s: 0.5}
  - untaint: {nodes: node-0, key: busy}
  - wait: {for: ready}
  - add-nodes: {prefix: late, count: 2, cpu: "1", memory: 1G}
  - cordon: [node-0, late-1]
  - uncordon: late-1
  - remove-nodes: [node-0, late-0]
  - wait: {for: gone}
  - burst: {workload: task, pods: 2}
  - wait: {for: ready, count: 2}
expect: {end: {placed: 2, placements: {task: [late-1, late-1]}}}
"""
    )

    assert (outcome.error, outcome.failed_checks) == ("", ())
    assert [node.name for node in outcome.checkpoints[-1].state.nodes] == ["late-1"]
    assert sorted(pod["metadata"]["name"] for pod in environment.pods) == [
        "task-00002", "task-00003",
    ]  # fmt: skip


def test_placed_pods_are_where_they_are_to_be_and_the_rest_is_the_schedulers(
    environment: StepEnvironment,
) -> None:
    """What was found on a cluster is begun with, however a scheduler came to it."""
    outcome = environment.play(
        """\
  - {name: db, kind: StatefulSet, replicas: 3, spec: {podManagementPolicy: Parallel}}
  - {name: lone, kind: Pod, replicas: 3, cpu: 400m}
steps:
  - add-nodes: {prefix: more, count: 2, cpu: "1", memory: 1G}
  - cordon: [more-1, node-0]
  - place: {db: [more-1, "", more-1], lone: {more-1: 2}}
expect:
  end:
    placed: 6
    placements: {db: [more-1, more-1, more-0], lone: [more-1, more-1, more-0]}
"""
    )

    assert outcome.error == ""
    assert [one for one in outcome.checks if not one.passed] == []
