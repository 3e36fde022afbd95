"""The strategies, the stages after them (`pipeline`), and what they share."""
