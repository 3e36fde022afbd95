"""The service: gRPC on a Unix socket, one child process a solve."""
