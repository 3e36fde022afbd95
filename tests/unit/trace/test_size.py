"""How large traces become."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from stowage_testbed.trace.format import (
    Header,
    Node,
    NodeSeen,
    PodBound,
    PodCame,
    PodEnded,
    PodTemplate,
    Template,
)
from stowage_testbed.trace.reading import TraceReader
from stowage_testbed.trace.reducing_pods import identify
from stowage_testbed.trace.writing import TraceWriter

PODS, DAY_S, MOST_BYTES = 5000, 86400, 20_000_000


def template(number: int, draw: random.Random) -> PodTemplate:
    """Return a pod of a Job: no two are alike."""
    amounts = {"cpu": f"{draw.randint(1, 4000)}m", "memory": f"{draw.randint(1, 99)}Mi"}
    container = {"name": "main", "image": "pause", "resources": {"requests": amounts}}
    term: dict[str, Any] = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": f"batch-{number % 40}"}},
    }
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    affinity = {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": preferred
        }
    }
    job = f"batch-{number}-{draw.random()}"
    labels = {"app": f"batch-{number % 40}", "job-name": job}
    spec = {"containers": [container], "affinity": affinity, "restartPolicy": "Never"}
    return PodTemplate(labels, {}, spec)


def test_a_day_of_5000_pods_is_below_20_mb(tmp_path: Path) -> None:
    """With a template for every pod, and a hundred nodes that change every hour."""
    draw, path = random.Random(1), tmp_path / "day.jsonl.gz"  # noqa: S311 - no secret
    with TraceWriter(path, Header(1, "2026-11-26T00:00:00Z", "1.37.2")) as writer:
        for hour in range(24):
            t = hour * 3600.0
            for number in range(100):
                labels = {"kubernetes.io/hostname": f"node-{number}", "hour": str(hour)}
                amounts = {"cpu": "64", "memory": "262144000Ki", "pods": "110"}
                node = Node(amounts, amounts, labels)
                writer.write(NodeSeen(t=t, name=f"node-{number}", node=node))
            for number in range(hour * PODS // 24, (hour + 1) * PODS // 24):
                t += DAY_S / PODS
                made = template(number, draw)
                of, name = identify(made), f"batch-{number}-{draw.randint(1, 10**9):x}"
                ns = "batch"
                writer.write(Template(t=t, id=of, template=made))
                writer.write(PodCame(t=t, namespace=ns, name=name, of=of))
                writer.write(
                    PodBound(
                        t=t + 0.2, namespace=ns, name=name, node=f"node-{number % 100}"
                    )
                )
                writer.write(
                    PodEnded(
                        t=t + 9, namespace=ns, name=name, how="succeeded", ran_s=8.5
                    )
                )
                # As the recorder does each second in which there was something.
                writer.flush()
    size = path.stat().st_size
    print(f"a day of {PODS} pods: {size / 1e6:.2f} MB")  # noqa: T201 - a figure

    assert sum(isinstance(line, PodCame) for line in TraceReader(path)) == PODS
    assert size < MOST_BYTES / 4, "a quarter, as other clusters have larger pods"
