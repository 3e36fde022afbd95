"""The pytest plugin; `stowage_testbed.pytest_plugin` is its light front."""
