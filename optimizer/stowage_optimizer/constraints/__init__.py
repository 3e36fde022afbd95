"""What Kubernetes demands of a placement, one file a constraint."""
