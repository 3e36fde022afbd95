"""A scheduler of the user's own under comparison: one short YAML file."""

from stowage_testbed.compare.arm_file.load import load_arm_file
from stowage_testbed.compare.arm_file.model import ArmFile

__all__ = ["ArmFile", "load_arm_file"]
