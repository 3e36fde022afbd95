"""Several schedulers, one scenario, one result: begin with `session.compare`, or `comparison.read_bundle`.

What both return, a `comparison.Comparison`, has its runs and verdicts; `tables`, `page` and `baseline` show them.
"""
