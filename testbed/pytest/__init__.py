"""What the pytest plugin is made of; `testbed.pytest_plugin` is its light front."""
