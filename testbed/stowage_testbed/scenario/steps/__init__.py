"""The steps of a scenario: each kind in one place, and what must hold among them."""
