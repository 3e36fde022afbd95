"""`pytest scenarios/`: every scenario of this folder is a test."""

from stowage_testbed.pytest.collection import pytest_collect_file

__all__ = ["pytest_collect_file"]
