"""What can go wrong while scenarios run, one class a cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stowage_testbed.errors import StowageError


class UnknownVariantError(StowageError):
    """No chosen scenario has the variant."""

    exit_code = 2

    def __init__(self, variant: str, known: Sequence[str]) -> None:
        there = ", ".join(known) or "none"
        super().__init__(
            f"no chosen scenario has a variant {variant!r}; there are: {there}"
        )


class NothingToRunError(StowageError):
    """The choice of scenarios is empty."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__(
            "no scenario was chosen; name a file, a folder or a name that "
            "`stowage scenario list` prints"
        )


class ClusterNeedsError(StowageError):
    """Scenarios need clusters that differ."""

    exit_code = 2

    def __init__(self, needs: Mapping[str, str]) -> None:
        listed = "; ".join(
            f"{scenario} needs {need}" for scenario, need in needs.items()
        )
        super().__init__(
            f"no cluster suits all of them: {listed}; run them apart, as in "
            "`stowage run SCENARIO --variant VARIANT`"
        )
