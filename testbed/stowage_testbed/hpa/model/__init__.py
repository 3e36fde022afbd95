"""The web service in numbers: clients and replicas in, latency and CPU out.

Pure functions of the number of clients and of ready replicas. README.md, one folder up,
says what they assume and where they stop being true.
"""
