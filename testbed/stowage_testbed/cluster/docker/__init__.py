"""A control plane in containers: its images, its start, its logs."""
