"""An earlier comparison, kept small, for a later one to be held against.

The two were not interleaved and may be of two machines, so less can be said than inside
one comparison: rounds are not pairs (Welch's interval instead of Student's), and times
are scaled by the speed of the machine. How much of a time is the machine's is not known
- a scheduler that waits for its client's rate limit waits as long on any machine - so
the truth lies between none and all of it, and a verdict has to hold over that range.
Scaling takes times as proportional, which the times of a queue near its limit are not:
of machines more than twice as fast or slow, times and rates are shown and not judged.
"""
