"""What came and went in a cluster over time: recorded, read, and made again. Begin with `record.record`."""
