"""The web service in numbers: clients and replicas in, latency and CPU out. ../README.md has the assumptions."""
