"""The real scheduler as a process beside a cluster, and when it is at rest."""

import http.client
import re
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import Cluster
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.simulate.process import find_profile
from stowage_testbed.toolchain import choose_minor, tool_path

POLL_S = 0.002

_SAMPLE = re.compile(
    r"scheduler_(?:pending_pods|event_handling_duration_seconds_count)"
    r'\{(?:event|queue)="(\w+)"\} (\d+)'
)


class SchedulerProcess:
    """Reads what it has dealt with from its metrics on a port of 127.0.0.1."""

    def __init__(self, port: int) -> None:
        context = ssl.create_default_context()
        # Its certificate is one that it made for itself a moment ago.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=HANG_S, context=context)

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str) -> tuple[int, str]:
        try:
            self._connection.request("GET", path)
            response = self._connection.getresponse()
            return response.status, response.read().decode()
        except OSError as error:
            self._connection.close()
            return 0, str(error)

    def counts(self) -> dict[str, int]:
        """Return pods by queue, and handled events by kind."""
        _, text = self.get("/metrics")
        return {name: int(count) for name, count in _SAMPLE.findall(text)}

    def wait_for_event(self, event: str, count: int) -> None:
        """Return when it has handled ``count`` events of a kind since its start."""
        wait_until(
            f"the scheduler to handle {count} {event} events",
            self.counts,
            lambda counts: counts.get(event, 0) >= count,
            poll_s=POLL_S,
        )

    def wait_for_rest(self, pods: int, bound_before: int) -> None:
        """Return when nothing is in its queues but what no event has woken.

        A pod that is being tried is in no queue. So it is at rest when the pods that
        wait for an event are those that were created and not seen bound.

        Parameters
        ----------
        pods
            Pods created since the counter of bound pods stood at ``bound_before``.
        """

        def at_rest(counts: dict[str, int]) -> bool:
            bound = counts.get("AssignedPodAdd", 0) - bound_before
            waiting = counts.get("unschedulable", 0) + counts.get("gated", 0)
            busy = counts.get("active", 0) + counts.get("backoff", 0)
            return busy == 0 and waiting == pods - bound

        wait_until(f"the scheduler to come to rest after {pods} pods", self.counts, at_rest, poll_s=POLL_S)


@contextmanager
def running_scheduler(cluster: Cluster, folder: Path, profile: str) -> Iterator[SchedulerProcess]:
    """Run the scheduler with a profile while the block lasts, without an optimiser."""
    config = yaml.safe_load(find_profile(profile).read_text())
    config["clientConnection"]["kubeconfig"] = str(cluster.kubeconfig)
    config["leaderElection"] = {"leaderElect": False}
    (folder / "profile.yaml").write_text(yaml.safe_dump(config))
    port = port_beside(cluster.name)
    command = [
        str(tool_path("stowage-scheduler", choose_minor())),
        f"--config={folder / 'profile.yaml'}",
        "--feature-gates=OpportunisticBatching=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--authorization-always-allow-paths=/metrics,/readyz",
    ]
    with (folder / "scheduler.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        scheduler = SchedulerProcess(port)
        try:
            wait_until(
                f"the scheduler to be ready (see {log.name})",
                lambda: (process.poll(), scheduler.get("/readyz")),
                lambda state: state[0] is not None or state[1][0] == 200,
            )
            assert process.poll() is None, (folder / "scheduler.log").read_text()
            yield scheduler
        finally:
            scheduler.close()
            process.terminate()
            process.wait(timeout=HANG_S)
