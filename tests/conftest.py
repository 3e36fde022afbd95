"""What holds for every test."""

import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings
from offline import OFFLINE, hold_own_tools, naming_the_set_up

# How long an example takes says how busy the machine is, and nothing of what is tested.
# No submission fails for an example that it did not bring: new ones are tried at night.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_configure(config: pytest.Config) -> None:
    """Let no test fetch anything: one that tries fails at once, and not on some day.

    It holds for the processes of pytest-xdist and all that a test starts. What set-up has built stays until the last
    test. Each worker has a folder of clusters, so that none removes what another one has left on purpose.
    """
    os.environ.update(OFFLINE)
    hold_own_tools()
    worker = getattr(config, "workerinput", {}).get("workerid")
    if worker:
        os.environ["STOWAGE_CLUSTERS"] = worker


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests for the night that a change is to run: ``ci/touched-tests``."""
    touched = os.environ.get("TOUCHED_TESTS", "").split()
    for item in items:
        if any(item.nodeid.startswith(one) for one in touched):
            item.add_marker("touched")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Say how it comes what a fixture lacks."""
    with naming_the_set_up():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Say how it comes what a test lacks."""
    with naming_the_set_up():
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def _no_step_summary() -> Iterator[None]:
    """In CI, runs that fail on purpose would stand in the summary as failures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield
