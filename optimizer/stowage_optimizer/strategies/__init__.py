"""The strategies, one file or folder each, and their register."""
