"""What can go wrong with the plugin's fixtures, one class a cause."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.errors import StowageError


class SessionBusyError(StowageError):
    """Another session of pytest has the cluster that was to be used again."""

    def __init__(self, cluster: str) -> None:
        super().__init__(
            f"another session of pytest uses the cluster {cluster}; wait for its end, "
            "or leave --stowage-reuse out to get a cluster of your own"
        )


class SharedClusterError(StowageError):
    """Several workers were to share one cluster."""

    def __init__(self, cluster: str, workers: int) -> None:
        super().__init__(
            f"{workers} workers cannot share the cluster {cluster}: each removes what "
            "its tests leave; give --stowage-reuse instead of --stowage-cluster, for a "
            "cluster a worker, or leave -n out"
        )


class ManifestError(StowageError):
    """What was to be applied is no manifest."""

    def __init__(self, place: str, issue: str) -> None:
        super().__init__(
            f"{place}: {issue}; apply() takes paths, YAML text and dicts of Kubernetes "
            "objects, each with apiVersion, kind and metadata.name"
        )


class UnknownKindError(StowageError):
    """The cluster does not serve a kind of object."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(
            f"the cluster serves no {kind} of {api_version}; apply its "
            "CustomResourceDefinition first, or put the release there that brings it"
        )


class NoSchedulerError(StowageError):
    """No scheduler would place the pods of a test."""

    def __init__(self, namespace: str) -> None:
        super().__init__(
            f"no scheduler places the pods of {namespace}: this test asks for none; "
            'call scheduler_arm("default") or stowage_release() in it, or in a fixture '
            "that it uses"
        )


class ScenarioMarkError(StowageError):
    """The mark `scenario` does not say what to run."""

    def __init__(self, test: str, issue: str) -> None:
        super().__init__(
            f'{test}: {issue}; write @pytest.mark.scenario("file.yaml") with a file '
            'beside the test, or a name such as "paper/figure-1" or '
            '"paper/priorities@mixed"'
        )


class ScenarioNotRunError(StowageError):
    """A fixture for the outcome was used by a test without the mark."""

    def __init__(self, test: str) -> None:
        super().__init__(
            f"{test} asks for scenario_outcome, and no scenario was run for it; mark "
            'it with @pytest.mark.scenario("file.yaml")'
        )


class NoFileError(StowageError):
    """A file that a test names is not there."""

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"there is no file {file}; paths are taken from the folder of the test"
        )
