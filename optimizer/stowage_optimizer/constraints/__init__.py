"""What Kubernetes demands of a placement: of nodes, of the pods of one, of several."""
