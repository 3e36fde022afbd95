"""The API server of a cluster: requests, the kinds that it serves, their objects. Begin with `objects.Objects`."""
