"""The pytest plugin; `stowage_testbed.pytest.plugin` is its light front."""
