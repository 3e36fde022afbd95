"""Objects of any kind on a live cluster: made in order, refused in words, cleared."""

from __future__ import annotations

from pathlib import Path

import pytest
from step_environment import StepEnvironment

from stowage_testbed.api.kinds import KindMissingError

pytestmark = pytest.mark.e2e

QUEUE = (
    Path(__file__).parents[3] / "scenarios" / "kubernetes" / "manifests" / "queue.yaml"
)

PLAIN = """\
objects:
  quota: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: "9"}}}
  sorted: {kind: %s, %s}
steps:
  - apply: [quota, sorted, web]
expect: {end: {placed: 0}}
"""


def test_a_kind_of_ones_own_comes_and_goes_with_the_scenario(
    environment: StepEnvironment, tmp_path: Path
) -> None:
    """Twice, since a definition that is left behind would fail the second."""
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "queue.yaml").write_text(QUEUE.read_text("utf-8"), "utf-8")
    text = """\
steps:
  - apply: [web, queue.yaml]
  - scale: {workload: web, to: 1}
  - wait: {for: bound, of: web}
  - check: {objects: {batch: {there: true, status: {state: Open}}}}
  - delete: batch
  - check: {objects: {batch: {there: false}, settings: {there: true}}}
expect: {end: {placed: 1}}
"""

    for _ in range(2):
        outcome = environment.play(text)

        assert (outcome.error, outcome.failed_checks) == ("", ())
    with pytest.raises(KindMissingError, match="serves no Queue"):
        environment.context.objects.list_all("Queue")


def test_a_kind_that_the_cluster_lacks_brings_those_that_are_like_it(
    environment: StepEnvironment,
) -> None:
    """Most are misspelt; the server alone knows what there is."""
    outcome = environment.play(PLAIN % ("ResourceQuotas", "spec: {}"))

    assert "line 9: the cluster serves no ResourceQuotas" in outcome.error
    assert "there are ResourceQuota" in outcome.error


def test_what_the_server_refuses_is_told_before_anything_is_made(
    environment: StepEnvironment,
) -> None:
    """With its line, and in the server's own words."""
    outcome = environment.play(PLAIN % ("ConfigMap", "data: {a: 1}"))

    assert not outcome.steps
    assert "line 9: the API server refused to create ConfigMap sorted" in outcome.error
    assert "cannot unmarshal number" in outcome.error


def test_any_part_of_any_object_can_be_expected(environment: StepEnvironment) -> None:
    """Of those that the scenario brings, and of those that controllers make of them."""
    text = """\
steps:
  - apply: web
  - scale: {workload: web, to: 2}
  - wait: {for: bound, of: web}
  - check:
      objects: {Deployment/web: {spec: {replicas: 2}}, Node/node-0: {spec: {%s: n}}}
      that: ["pods.size() == 2", "pods.map(p, p.spec.nodeName) == nodes.map(n, n.kind)"]
      timeout_s: 0.5
expect: {end: {placed: 2}}
"""

    outcome = environment.play(text % "unschedulable")

    wrong = {one.name: one.message for one in outcome.failed_checks}
    assert len(wrong) == len(outcome.checks) - 3
    assert "found none" in wrong["step 4: spec.unschedulable of Node/node-0"]
    (read,) = (text for name, text in wrong.items() if "nodeName" in name)
    assert "pods.map(p, p.spec.nodeName) is ['node-0', 'node-0']" in read


def test_a_field_of_a_pod_that_the_server_does_not_know_is_refused(
    environment: StepEnvironment,
) -> None:
    """It would be passed over otherwise, and the pods go anywhere."""
    text = PLAIN % ("ConfigMap", "data: {}")
    head = "  - {name: picky, cpu: 10m, pod: {nodeSelektor: {a: b}}}\n"

    outcome = environment.play(head + text.replace("sorted, web", "sorted, picky, web"))

    assert outcome.refused
    assert not outcome.steps
    assert "workload picky: the API server refused" in outcome.error
    assert 'unknown field "spec.template.spec.nodeSelektor"' in outcome.error


def test_a_field_that_the_server_would_drop_is_refused(
    environment: StepEnvironment,
) -> None:
    """Without its group each member of a gang is placed alone, and nothing says so."""
    text = PLAIN % ("ConfigMap", "data: {}")
    head = "  - {name: gang, cpu: 10m, pod: {schedulingGroup: {podGroupName: g}}}\n"

    outcome = environment.play(head + text.replace("sorted, web", "sorted, gang, web"))

    assert outcome.refused
    assert not outcome.steps
    assert "workload gang: the API server would drop" in outcome.error
    assert "spec.template.spec.schedulingGroup" in outcome.error
