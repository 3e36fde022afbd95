"""The evaluation of "Priority Matters" (Christensen, Giallorenzo, Mauro)."""
