"""Full clusters in which some pods wait, beyond the reach of any oracle."""

from __future__ import annotations

from random import Random

from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb

NODES = 6
PODS = 36
SIZE = 3300


def crowded_cluster(seed: int, priorities: int = 2, nodes: int = NODES, *, constrained: bool = False) -> pb.Snapshot:
    """Return a full cluster, filled in order of arrival, with some pods waiting.

    Parameters
    ----------
    seed
        Of everything that is drawn.
    priorities, nodes
        How many there are.
    constrained
        Whether some pods want labelled nodes, listen on a port or keep apart.
    """
    random = Random(seed)  # noqa: S311 - the same instances each time
    builder = SnapshotBuilder()
    room = {f"n{at}": [SIZE, SIZE] for at in range(nodes)}
    for at, name in enumerate(room):
        labels = {"host": name, "disk": "ssd" if at % 2 else "hdd"}
        builder.node(name, cpu_milli=SIZE, memory_bytes=SIZE, labels=labels)
    for at in range(0, nodes * PODS // NODES, 2):
        wanted = (random.randint(100, 1000), random.randint(100, 1000))
        one = builder.pod_class(
            f"c{at}", cpu_milli=wanted[0], memory_bytes=wanted[1], priority=random.randrange(priorities)
        )
        homes = _constrain(one, random) if constrained else list(room)
        for pod in (at, at + 1):
            fits = [name for name in homes if all(r >= w for r, w in zip(room[name], wanted, strict=True))]
            node = max(fits, key=lambda name: sum(room[name]), default="")
            if node:
                room[node] = [r - w for r, w in zip(room[node], wanted, strict=True)]
            if one.host_ports or one.required_pod_anti_affinity:
                homes = [name for name in homes if name != node]
            builder.pod(f"p{pod}", of=f"c{at}", node=node)
    return builder.message


def _constrain(one: pb.PodClass, random: Random) -> list[str]:
    """Give the class a constraint or none; return the nodes that it leaves."""
    nodes = [f"n{at}" for at in range(NODES)]
    one.labels["app"] = one.id
    match random.randrange(6):
        case 0:
            one.node_selector["disk"] = "ssd"
            return nodes[1::2]
        case 1:
            # No two classes share one, so that every running pod may run there.
            one.host_ports.add(port=int(one.id[1:]) + 1)
        case 2:
            one.required_pod_anti_affinity.add(
                topology_key="host", label_selector=pb.LabelSelector(match_labels={"app": one.id})
            )
    return nodes
