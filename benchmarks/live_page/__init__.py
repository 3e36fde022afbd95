"""The live page of a large cluster, in a browser."""
