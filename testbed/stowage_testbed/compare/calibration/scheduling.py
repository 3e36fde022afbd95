"""The stock scheduler in one process, as a piece of work of its own.

Nothing of this project has a part in it but the loop around it: were the scheduler
under test the measure, it could never become slower.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stowage_testbed.simulate import Instance, Simulator

STOCK = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
"""

NODES = 50
PODS = 200


@contextmanager
def scheduling_work() -> Iterator[Callable[[], None]]:
    """Return the work of placing 200 pods on 50 nodes, for as long as the block lasts.

    Raises
    ------
    ToolMissingError
        ``stowage-simulate`` is not installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "stock.yaml"
        config.write_text(STOCK, encoding="utf-8")
        instance = _instance()
        with Simulator(config) as simulator:
            yield lambda: _place(simulator, instance)


def _place(simulator: Simulator, instance: Instance) -> None:
    simulator.place(instance)


def _instance() -> Instance:
    room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    request = {"requests": {"cpu": "100m", "memory": "128Mi"}}
    return Instance(
        id="calibration",
        nodes=tuple(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"node-{number}"},
                "status": {"capacity": room, "allocatable": room},
            }
            for number in range(NODES)
        ),
        pods=tuple(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"pod-{number}", "namespace": "calibration"},
                "spec": {
                    "containers": [
                        {"name": "main", "image": "none", "resources": request}
                    ]
                },
            }
            for number in range(PODS)
        ),
    )
