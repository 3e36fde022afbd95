"""The objective `CONSOLIDATE`: as few nodes in use, or as cheap ones, as possible."""
