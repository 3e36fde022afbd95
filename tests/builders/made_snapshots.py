"""Snapshots that are made: crowded ones by a seed, and small ones for hypothesis."""

from random import Random

from hypothesis import strategies as st
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb

NODES = 6
PODS = 36
SIZE = 3300


def crowded_cluster(
    seed: int, priorities: int = 2, nodes: int = NODES, *, constrained: bool = False, weighed: bool = False
) -> pb.Snapshot:
    """Return a full cluster, filled in order of arrival, with some pods waiting.

    Parameters
    ----------
    seed
        Of everything that is drawn.
    priorities, nodes
        How many there are.
    constrained
        Whether some pods want labelled nodes, listen on a port or keep apart.
    weighed
        Whether pods count for what they request, more or less.
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
        if weighed:
            one.worth = max(1, (wanted[0] + random.randint(-100, 100)) // 10)
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


WORTH = [0, 4]
"""What the pods of a made snapshot count for at most."""

HUGE = [10**18, 2**63 - 1]
"""Sums of these overflow; pods fill only a little of them."""


@st.composite
def tight_snapshots(draw: st.DrawFn, most_pods: int = 6) -> pb.Snapshot:
    """Full nodes and pods that fit only if others move or go; nothing overcommitted."""
    builder = SnapshotBuilder()
    left = {f"n{index}": draw(st.integers(3, 6)) for index in range(3)}
    most_worth = draw(st.sampled_from(WORTH))
    for name, cpu_milli in left.items():
        builder.node(name, cpu_milli=cpu_milli)
    for index in range(draw(st.integers(3, most_pods))):
        cpu_milli = draw(st.integers(1, 4))
        fitting = [name for name, room in left.items() if room >= cpu_milli]
        home = draw(st.sampled_from(fitting)) if fitting and index < 4 else ""
        if home:
            left[home] -= cpu_milli
        name = f"class-p{index}"
        builder.pod_class(
            name, cpu_milli=cpu_milli, priority=draw(st.integers(0, 1)), worth=draw(st.integers(0, most_worth))
        )
        builder.pod(f"p{index}", of=name, node=home)
    return builder.message


@st.composite
def small_snapshots(draw: st.DrawFn, most_nodes: int = 3, most_pods: int = 6) -> pb.Snapshot:
    """Pods of 3 priorities, some replicas, some fixed, some nodes overcommitted.

    Some nodes have as much as their device plugins claim.
    """
    builder = SnapshotBuilder()
    names = [f"n{index}" for index in range(draw(st.integers(1, most_nodes)))]
    for name in names:
        builder.node(
            name,
            cpu_milli=draw(st.integers(1, 6)),
            memory_bytes=draw(st.integers(2, 8) | st.sampled_from(HUGE)),
            pods=draw(st.integers(1, 4)),
        )
    classes: list[str] = []
    most_worth = draw(st.sampled_from(WORTH))
    for index in range(draw(st.integers(1, most_pods))):
        # A replica of the pod before, as often as not.
        if not classes or draw(st.booleans()):
            classes.append(f"class-{index}")
            builder.pod_class(
                classes[-1],
                cpu_milli=draw(st.integers(0, 4)),
                memory_bytes=draw(st.integers(1, 5)),
                priority=draw(st.integers(0, 2)),
                worth=draw(st.integers(0, most_worth)),
            )
        builder.pod(
            f"p{index}",
            of=classes[-1],
            node=draw(st.sampled_from(["", "", *names])),
            movable=draw(st.integers(0, 4)) > 0,
        )
    for name in classes:
        if draw(st.integers(0, 5)) == 0:
            builder.message.forbidden_pairs.add(class_id=name, node=draw(st.sampled_from(names)))
    return builder.message
