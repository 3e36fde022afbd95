"""A cluster of kind: one node that is a container, beside nodes that are fake."""
