"""The steps of a scenario: each kind stands in one place of this folder."""
