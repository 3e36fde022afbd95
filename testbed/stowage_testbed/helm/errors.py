"""Why a release could not be installed or removed."""

from __future__ import annotations

from stowage_testbed.errors import StowageError

_LOOK_CLOSER = (
    "the last log lines above mostly name the cause; the release is left as it is, for "
    "a closer look"
)


class HelmError(StowageError):
    """The base of this room's errors."""


class HelmFailedError(HelmError):
    """Helm ended with an error of its own."""

    def __init__(self, action: str, output: str) -> None:
        super().__init__(
            f"helm {action} failed: {output.strip()}; is the cluster up and reachable?"
        )


class ChartValuesError(HelmError):
    """The values do not fit the chart."""

    def __init__(self, values_file: object, issues: str) -> None:
        super().__init__(
            f"the chart refuses the values in {values_file}:\n{issues.strip()}\n"
            "charts/stowage/values.yaml explains every value, and "
            "charts/stowage/values.schema.json has their types and limits"
        )


class ReleaseNotReadyError(HelmError):
    """The release was installed, but did not become ready in time."""

    def __init__(self, name: str, timeout_s: float, diagnosis: str) -> None:
        super().__init__(
            f"release {name} was not ready within {timeout_s:g} s; its pods:\n"
            f"{diagnosis}\n{_LOOK_CLOSER}"
        )


class ReleaseCrashedError(HelmError):
    """A container of the release ends again and again."""

    def __init__(self, name: str, container: str, cause: str, diagnosis: str) -> None:
        why = f":\n{cause}\n" if cause else "; "
        super().__init__(
            f"container {container} of release {name} ends again and again{why}"
            f"its pods:\n{diagnosis}\n{_LOOK_CLOSER}"
        )


class OptimizerMissingError(HelmError):
    """The optimiser's command is not installed beside this Python."""

    def __init__(self, file: object) -> None:
        super().__init__(
            f"{file} does not exist; install the project into this environment, as "
            "`make setup` does"
        )
