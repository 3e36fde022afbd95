"""A fault of etcd: it has no room left and takes no writes until the fault ends."""

from __future__ import annotations

from testbed.cluster.components import ETCD
from testbed.cluster.etcd import make_room, raise_no_space
from testbed.cluster.supervision import expect_ends, watch_again
from testbed.faults.ground import Ground


def fill_etcd(ground: Ground) -> None:
    """Have etcd refuse every write, whoever's, until the fault ends.

    It is compacted, defragmented and disarmed then, as by whoever looks after it.
    """
    cluster = ground.bench.cluster
    # A full etcd ends every other run.
    expect_ends(cluster, ETCD)
    ground.mend_with(lambda: watch_again(cluster.workdir))
    ground.mend_with(lambda: make_room(cluster.workdir))
    raise_no_space(cluster.workdir)
