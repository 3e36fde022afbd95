"""The strategy ``lexicographic``: search and proof side by side, tier by tier."""
