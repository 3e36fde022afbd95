"""What watches and the audit log report of a cluster, on one clock. Begin with `observer.Observer`."""
