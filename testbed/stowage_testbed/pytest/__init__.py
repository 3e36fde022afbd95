"""What the pytest plugin is made of; `stowage_testbed.pytest_plugin` is its light front."""
