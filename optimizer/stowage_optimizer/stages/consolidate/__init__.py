"""The objective `CONSOLIDATE`: as few nodes in use as possible, then as few moves."""
