"""A cluster without a scheduler, which the files of this folder share."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from agreement_instances import PRIORITIES

from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.cluster import Cluster, KwokBinaryCluster
from stowage_testbed.cluster.interruption import running_cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with running_cluster(KwokBinaryCluster(f"agree-{uuid4().hex[:6]}")) as running:
        with running.api_client() as api:
            for value in range(1, PRIORITIES + 1):
                manifest = make_manifest("scheduling.k8s.io/v1", "PriorityClass", f"p{value}", value=value)
                Objects(api).create(manifest)
        yield running
