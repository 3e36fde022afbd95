"""One file an arm: a scheduler, how it is started, and what it differs in."""
