"""The folder of a comparison: every table and picture can be made from it again.

::

    compare.json                          what was compared, and the verdicts at the end
    records/<limits>/round-001-<arm>.json.gz    one run each, as soon as it is over
    configurations/<limits>-<arm>.txt     what the scheduler read
"""

from stowage_testbed.compare.bundle.comparison import (
    ArmEntry,
    Comparison,
    PreflightRow,
    ScenarioText,
)
from stowage_testbed.compare.bundle.folder import BundleFolder
from stowage_testbed.compare.bundle.reading import Bundle, read_bundle

__all__ = [
    "ArmEntry",
    "Bundle",
    "BundleFolder",
    "Comparison",
    "PreflightRow",
    "ScenarioText",
    "read_bundle",
]
