"""The kinds of steps: what each is given in a scenario, and says of itself."""
