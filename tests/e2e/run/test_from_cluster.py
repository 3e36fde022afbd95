"""What a cluster is like is found again in the scenario that is made of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from step_environment import ROUNDS, Served, StepEnvironment

from stowage_testbed.api.client import Manifest
from stowage_testbed.capture.capture import Capture, capture, make_neutral
from stowage_testbed.capture.reading import read_api
from stowage_testbed.capture.writing import write_scenario
from stowage_testbed.observe.pod_body import node_of
from stowage_testbed.run.listener import WindowListener
from stowage_testbed.run.material import Material
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario.load import load_file

pytestmark = pytest.mark.e2e

SHOP = """\
version: 1
name: test/shop
description: A cluster as somebody has it.
nodes:
  - {prefix: std, count: 4, cpu: "4", memory: 8G, zones: [a, b], labels: {disk: hdd}}
  - {prefix: ssd, count: 1, cpu: "4", memory: 8G, zones: [b], labels: {disk: ssd}}
  - prefix: gpu
    count: 1
    cpu: "4"
    memory: 8G
    taints: [{key: team, value: vision, effect: NoSchedule}]
workload:
  - name: agent
    kind: DaemonSet
    replicas: 6
    cpu: 100m
    pod: {tolerations: [{key: team, operator: Exists}]}
  - {name: front, kind: Deployment, replicas: 5, cpu: "1", labels: {app: front}}
  - name: even
    kind: Deployment
    replicas: 4
    cpu: "1"
    labels: {app: even}
    pod:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: even}}
          matchLabelKeys: [pod-template-hash]
  - name: db
    kind: StatefulSet
    replicas: 2
    cpu: 500m
    spec:
      podManagementPolicy: Parallel
      volumeClaimTemplates:
        - metadata: {name: data}
          spec:
            accessModes: [ReadWriteOnce]
            storageClassName: zonal
            resources: {requests: {storage: 1Gi}}
  - {name: huge, kind: Deployment, replicas: 2, cpu: "40"}
  - name: picky
    kind: Deployment
    replicas: 1
    priority: 100
    pod: {nodeSelector: {disk: nvme}}
objects:
  zonal:
    kind: StorageClass
    provisioner: kubernetes.io/no-provisioner
    volumeBindingMode: WaitForFirstConsumer
  volume-a:
    kind: PersistentVolume
    spec: &volume
      capacity: {storage: 1Gi}
      accessModes: [ReadWriteOnce]
      storageClassName: zonal
      hostPath: {path: /data}
      nodeAffinity:
        required:
          nodeSelectorTerms:
            - matchExpressions:
                - {key: topology.kubernetes.io/zone, operator: In, values: [b]}
  volume-b: {kind: PersistentVolume, spec: *volume}
  guard:
    kind: PodDisruptionBudget
    spec: {maxUnavailable: 1, selector: {matchLabels: {app: front}}}
  share: {kind: ResourceQuota, spec: {hard: {pods: "40"}}}
steps:
  - apply: [zonal, volume-a, volume-b, guard, share, agent, front]
  - apply: [even, db, huge, picky]
  - wait: {for: settled}
expect: {allow_unplaceable: true, end: {placed: 17}}
"""


class Captured(Served):
    """Captures the cluster before it is cleared away."""

    def __init__(self, environment: StepEnvironment) -> None:
        super().__init__(environment.context, None, WindowListener())
        self.capture: Capture
        self.pods: list[Manifest]

    def scenario_finished(self, outcome: ScenarioOutcome, material: Material) -> None:
        """Read the cluster as a stranger would."""
        super().scenario_finished(outcome, material)
        self.capture = capture(read_api(self._context.api))


def play(environment: StepEnvironment, path: Path) -> tuple[ScenarioOutcome, Captured]:
    (scenario,) = load_file(path)
    served = Captured(environment)
    return run_scenario(
        environment.context, scenario, next(ROUNDS), served, served
    ), served


def by_kind(pods: list[Manifest]) -> Counter[tuple[str, str]]:
    """Count the pods of each workload on each kind of node."""
    return Counter(
        (
            pod["metadata"]["labels"]["stowage.dev/workload"],
            node_of(pod).rpartition("-")[0],
        )
        for pod in pods
    )


def test_pods_are_on_the_same_kinds_of_node_and_pend_for_the_same_reasons(
    environment: StepEnvironment, tmp_path: Path
) -> None:
    """What went wrong in production fails in CI a minute later."""
    original = tmp_path / "test" / "shop.yaml"
    original.parent.mkdir()
    original.write_text(SHOP)
    outcome, first = play(environment, original)
    assert outcome.error == ""

    again, second = play(environment, write_scenario(first.capture, tmp_path / "again"))

    assert again.error == ""
    assert [one.message for one in again.checks if not one.passed] == []
    assert len(again.checks) >= 4
    assert by_kind(second.pods) == by_kind(first.pods)


def test_other_words_make_no_other_cluster(
    environment: StepEnvironment, tmp_path: Path
) -> None:
    """What is attached to a public issue shows what the cluster shows."""
    original = tmp_path / "test" / "shop.yaml"
    original.parent.mkdir()
    original.write_text(SHOP)
    _, first = play(environment, original)

    path = write_scenario(make_neutral(first.capture), tmp_path / "neutral")
    again, second = play(environment, path)

    assert again.error == ""
    assert [one.message for one in again.checks if not one.passed] == []
    counts = sorted(by_kind(first.pods).values())
    assert sorted(by_kind(second.pods).values()) == counts
