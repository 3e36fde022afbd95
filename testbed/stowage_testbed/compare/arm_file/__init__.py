"""A scheduler of the user's own under comparison: one short YAML file."""
