"""The steps of a scenario: what they are, how they are read, checked and explained."""
