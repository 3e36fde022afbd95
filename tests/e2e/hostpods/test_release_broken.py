"""A release that cannot come up says why, and soon."""

import shutil
from pathlib import Path

import pytest
from release_environment import ReleaseEnvironment

from stowage_testbed.base.errors import StowageError
from stowage_testbed.helm import Release, install_release, uninstall_release
from stowage_testbed.helm.install import CHART
from stowage_testbed.helm.release import merge_values

pytestmark = pytest.mark.e2e


@pytest.fixture
def broken(environment: ReleaseEnvironment) -> Release:
    """Return a release that does not share paths with the good one."""
    return Release(environment.cluster, "broken", "stowage-broken")


def attempt(release: Release, chart: Path = CHART, timeout_s: float = 60.0, **scheduler: object) -> None:
    """Install a release that will fail, and remove what is left of it."""
    paths = {part: str(release.cluster.workdir / "mnt" / "broken" / part) for part in ("config", "credentials")}
    try:
        install_release(
            release.cluster,
            profile="deterministic",
            optimizer_enabled=False,
            values=merge_values({"paths": paths}, {"scheduler": scheduler}),
            namespace=release.namespace,
            name=release.name,
            timeout_s=timeout_s,
            chart=chart,
        )
    finally:
        uninstall_release(release)


def chart_with_profile(folder: Path, old: str, new: str) -> Path:
    """Return a copy of the chart, in which the deterministic profile is changed."""
    chart = folder / "stowage"
    shutil.copytree(CHART, chart)
    profile = chart / "profiles" / "deterministic.yaml"
    text = profile.read_text("utf-8")
    assert old in text
    profile.write_text(text.replace(old, new), "utf-8")
    return chart


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["/no/such/scheduler"], "CreateContainerError: cannot start"),
        (["sh", "-c", "echo the reason; exit 3"], "    the reason"),
    ],
)
def test_a_time_out_shows_states_and_words(broken: Release, command: list[str], expected: str) -> None:
    """A time-out alone would send its reader searching for logs."""
    with pytest.raises(StowageError, match="was not ready within 3 s") as failed:
        attempt(broken, timeout_s=3, command=command)

    assert expected in str(failed.value)
    assert "container scheduler" in str(failed.value)


def test_a_profile_that_the_scheduler_refuses_is_named_with_its_line(broken: Release, tmp_path: Path) -> None:
    """A misspelt key is the most common fault of a profile."""
    chart = chart_with_profile(tmp_path, "\nparallelism: 1\n", "\nparallelsm: 1\n")
    profile = chart / "profiles" / "deterministic.yaml"
    lines = profile.read_text("utf-8").splitlines()
    line = lines.index("parallelsm: 1") + 1

    with pytest.raises(StowageError, match="ends again and again") as failed:
        attempt(broken, chart)

    assert (f'{profile}:{line}: strict decoding error: unknown field "parallelsm"; fix the profile') in str(
        failed.value
    )


def test_a_profile_that_is_not_yaml_is_named_with_its_line(broken: Release, tmp_path: Path) -> None:
    """Nothing is started for it."""
    chart = chart_with_profile(tmp_path, "parallelism: 1", "parallelism: [1")

    with pytest.raises(StowageError, match="refuses the values") as refused:
        attempt(broken, chart)

    assert "profiles/deterministic.yaml is not YAML" in str(refused.value)
    assert "yaml: line" in str(refused.value)
