"""A cluster for steps, which the files of this folder share."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from step_environment import StepEnvironment

from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.release import Wanted, switch_release


@pytest.fixture(scope="package")
def context() -> Iterator[RunContext]:
    cluster = KwokBinaryCluster(f"test-{secrets.token_hex(3)}")
    with running_cluster(cluster), cluster.api_client() as api, Observer(api) as observer:
        context = RunContext(cluster, api, observer, tag="e2e", lasting=True)
        switch_release(context, Wanted("deterministic", optimizer_enabled=False))
        yield context


@pytest.fixture
def environment(context: RunContext, tmp_path: Path) -> StepEnvironment:
    return StepEnvironment(context, tmp_path, [])
