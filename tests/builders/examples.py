"""How many examples a property test tries: all of them at night, a third of them for every change."""

import os

from hypothesis import HealthCheck, settings

AT_NIGHT = os.environ.get("HYPOTHESIS_PROFILE") == "random"


def examples(most: int, *allowed: HealthCheck) -> settings:
    """Return the settings of a test that takes long, and tries ``most`` examples at night: new ones each time."""
    return settings(
        max_examples=most if AT_NIGHT else most // 3, suppress_health_check=[HealthCheck.too_slow, *allowed]
    )
