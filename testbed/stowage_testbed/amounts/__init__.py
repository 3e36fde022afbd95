"""Quantities of Kubernetes as integers, and the resources that they are of. Begin with `resources.Resources`."""
