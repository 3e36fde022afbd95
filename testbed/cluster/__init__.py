"""Clusters with fake nodes: a real control plane, and nodes that run nothing."""

from testbed.cluster.kwok_binary import KwokBinaryCluster
from testbed.cluster.node_pool import NodePool, Taint
from testbed.cluster.nodes import create_nodes
from testbed.cluster.protocol import Cluster

__all__ = ["Cluster", "KwokBinaryCluster", "NodePool", "Taint", "create_nodes"]
