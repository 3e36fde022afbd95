"""Fake nodes for one test."""

from __future__ import annotations

from kubernetes.client import ApiException

from stowage_testbed.api_client import ApiRefusedError
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.cluster.node_spec import parse_node_spec
from stowage_testbed.cluster.nodes import create_nodes
from stowage_testbed.pytest.environment import SessionEnvironment
from stowage_testbed.pytest.plain import plain
from stowage_testbed.run.timeouts import DEFAULT_TIMEOUTS


class FakeNodes:
    """Creates nodes that KWOK plays the kubelet of.

    Parameters
    ----------
    environment
        The session's cluster.
    """

    def __init__(self, environment: SessionEnvironment) -> None:
        self._environment = environment

    @plain
    def __call__(self, *pools: NodePool | str) -> list[str]:
        """Create nodes in this order, and return their names when all are Ready.

        Parameters
        ----------
        pools
            Pools, or what `stowage up --nodes` takes, as in
            ``name=big,count=3,cpu=4,memory=8Gi,label.disk=ssd,zones=a|b``.

        Raises
        ------
        NodeSpecError
            A text is malformed; names every issue.
        ApiRefusedError
            The server refuses a node; the name is taken, say.
        StowageError
            Some were not Ready in time.
        """
        read = [parse_node_spec(one) if isinstance(one, str) else one for one in pools]
        timeout_s = DEFAULT_TIMEOUTS.nodes_s(sum(pool.count for pool in read))
        try:
            return create_nodes(self._environment.api, read, timeout_s=timeout_s)
        except ApiException as error:
            raise ApiRefusedError(
                "create the nodes", error.status or 0, error.body or ""
            ) from error
