"""A scheduler of one's own is tested like the others."""

import pytest
import yaml

from stowage_testbed.toolchain import choose_minor, tool_path


@pytest.fixture
def tight(tmp_path):
    """Return an arm file: it fills the fullest node first."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": "{kubeconfig}"},
        "profiles": [
            {
                "schedulerName": "tight",
                # It would spread the replicas over the nodes.
                "plugins": {"score": {"disabled": [{"name": "PodTopologySpread"}]}},
                "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}],
            }
        ],
    }
    arm = {
        "name": "tight",
        # Here would be a program of yours; the stock scheduler is one that is there.
        "binary": str(tool_path("kube-scheduler", choose_minor())),
        "arguments": [
            "--config={config}",
            "--bind-address=127.0.0.1",
            "--secure-port={port}",
            "--authorization-always-allow-paths=/readyz",
        ],
        "configuration": yaml.safe_dump(configuration),
        "schedulerName": "tight",
        "ready": "https://127.0.0.1:{port}/readyz",
        "settings": {"version": "v1"},
    }
    file = tmp_path / "tight.yaml"
    file.write_text(yaml.safe_dump(arm))
    return file


def test_a_tight_scheduler_leaves_a_node_empty(tight, stowage_arm, stowage_nodes, stowage_apply, stowage_placements):
    """Four cores hold the three pods, so that the other node can be switched off."""
    stowage_nodes("{count: 2, cpu: 4, memory: 8Gi}")
    arm = stowage_arm(tight)

    stowage_apply("web/shop.yaml")

    assert arm.scheduler_name == "tight"
    assert len(set(stowage_placements().values())) == 1
