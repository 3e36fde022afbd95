"""Snapshots in a few words: each pod is its own class unless it names one."""

from __future__ import annotations

from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb

GB = 10**9


@dataclass(slots=True)
class SnapshotBuilder:
    """Collects nodes and pods; every method returns the builder."""

    message: pb.Snapshot = field(default_factory=lambda: pb.Snapshot(id="snapshot-1"))

    def node(
        self,
        name: str,
        *,
        cpu_milli: int = 100_000,
        memory_bytes: int = 100 * GB,
        pods: int = 110,
        labels: dict[str, str] | None = None,
        taints: list[pb.Taint] | None = None,
        unschedulable: bool = False,
        extended: dict[str, int] | None = None,
        ephemeral_storage_bytes: int = 0,
    ) -> SnapshotBuilder:
        """Add a node that is roomy unless said otherwise."""
        self.message.nodes.add(
            name=name,
            allocatable=pb.Resources(
                cpu_milli=cpu_milli,
                memory_bytes=memory_bytes,
                pods=pods,
                extended=extended,
                ephemeral_storage_bytes=ephemeral_storage_bytes,
            ),
            labels=labels,
            taints=taints,
            unschedulable=unschedulable,
        )
        return self

    def pod_class(
        self,
        name: str,
        *,
        cpu_milli: int = 0,
        memory_bytes: int = 0,
        priority: int = 0,
        extended: dict[str, int] | None = None,
        ephemeral_storage_bytes: int = 0,
        worth: int = 0,
    ) -> pb.PodClass:
        """Add a class in namespace ``default`` and return its message for more."""
        return self.message.pod_classes.add(
            id=name,
            namespace="default",
            priority=priority,
            worth=worth,
            requests=pb.Resources(
                cpu_milli=cpu_milli,
                memory_bytes=memory_bytes,
                extended=extended,
                ephemeral_storage_bytes=ephemeral_storage_bytes,
            ),
        )

    def pod(
        self,
        name: str,
        *,
        of: str = "",
        node: str = "",
        movable: bool = True,
        cpu_milli: int = 0,
        memory_bytes: int = 0,
        priority: int = 0,
    ) -> SnapshotBuilder:
        """Add a pod, of the class ``of`` or of one of its own."""
        if not of:
            of = f"class-{name}"
            self.pod_class(of, cpu_milli=cpu_milli, memory_bytes=memory_bytes, priority=priority)
        self.message.pods.add(uid=name, namespace="default", name=name, class_id=of, node=node, movable=movable)
        return self

    def gang(
        self, name: str, *classes: str, least: int, whole: bool = False, topology_key: str = ""
    ) -> SnapshotBuilder:
        """Make the pods of ``classes`` a gang."""
        gang = self.message.gangs.add(
            id=f"default/{name}", min_count=least, leaves_whole=whole, topology_key=topology_key
        )
        for one in self.message.pod_classes:
            if one.id in classes:
                one.gang = gang.id
        return self


def figure_1() -> pb.Snapshot:
    """Return the paper's figure 1: two 4 GB nodes, pods of 2 and 2 GB run, 3 waits."""
    builder = SnapshotBuilder()
    builder.node("node-1", memory_bytes=4 * GB).node("node-2", memory_bytes=4 * GB)
    builder.pod("pod-1", memory_bytes=2 * GB, node="node-1")
    builder.pod("pod-2", memory_bytes=2 * GB, node="node-2")
    return builder.pod("pod-3", memory_bytes=3 * GB).message
