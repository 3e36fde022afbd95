"""Clusters with fake nodes: a real control plane, and nodes that run nothing."""

from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.node_pool import NodePool, Taint, create_nodes

__all__ = ["Cluster", "KwokBinaryCluster", "NodePool", "Taint", "create_nodes"]
