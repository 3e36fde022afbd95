"""Several schedulers, one scenario, one result: `session.compare` runs a comparison, `bundle.read_bundle` reads one.

What both return, a `comparison.Comparison`, has its runs and verdicts; `tables`, `page` and `baseline` show them.
"""
