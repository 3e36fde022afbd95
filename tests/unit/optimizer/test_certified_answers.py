"""What the default strategy claims with prices, its prices prove."""

from __future__ import annotations

from random import Random

import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import answer_to

from optimizer.contract import optimizer_pb2 as pb
from optimizer.model.encode import encode_plan
from optimizer.verify import verify_plan
from optimizer.verify.certificate import verify_certificates

NODES = 6
PODS = 36


def _crowded(seed: int, priorities: int) -> pb.Snapshot:
    """Return a full cluster, filled in order of arrival, with some pods waiting."""
    random = Random(seed)  # noqa: S311 - the same instances each time
    builder = SnapshotBuilder()
    room = {f"n{at}": [3300, 3300] for at in range(NODES)}
    for name in room:
        builder.node(name, cpu_milli=3300, memory_bytes=3300)
    for at in range(0, PODS, 2):
        cpu, memory = random.randint(100, 1000), random.randint(100, 1000)
        builder.pod_class(
            f"c{at}",
            cpu_milli=cpu,
            memory_bytes=memory,
            priority=random.randrange(priorities),
        )
        for one in (at, at + 1):
            fits = [n for n, (c, m) in room.items() if c >= cpu and m >= memory]
            node = max(fits, key=lambda name: sum(room[name]), default="")
            if node:
                room[node][0] -= cpu
                room[node][1] -= memory
            builder.pod(f"p{one}", of=f"c{at}", node=node)
    return builder.message


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("priorities", [1, 3])
def test_the_answers_own_prices_prove_its_limits(seed: int, priorities: int) -> None:
    """From search to file, nothing on the way may bend what was proved."""
    snapshot = _crowded(seed, priorities)

    answer = answer_to(
        snapshot, strategy="lexicographic", time_limit_s=1.0, deterministic=True
    )

    plan = encode_plan(answer.plan)
    assert verify_plan(snapshot, plan, pb.POLICY_STRICT) == []
    checked = verify_certificates(snapshot, plan, pb.POLICY_STRICT)
    assert checked.violations == ()
