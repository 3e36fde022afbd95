"""The session's cluster with a release, for the steps of scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from step_environment import StepEnvironment

from stowage_testbed.cluster import Cluster
from stowage_testbed.helm import Release
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.context import RunContext


@pytest.fixture(scope="module")
def context(
    stowage_cluster: Cluster, stowage_release: Callable[..., Release]
) -> Iterator[RunContext]:
    stowage_release("deterministic")
    with stowage_cluster.api_client() as api, Observer(api) as observer:
        yield RunContext(stowage_cluster, api, observer, tag="e2e", lasting=True)


@pytest.fixture
def environment(context: RunContext, tmp_path: Path) -> StepEnvironment:
    return StepEnvironment(context, tmp_path, [])
