"""Whether an arm is better or worse than the baseline, and how sure that is.

The question asked is strict: if an arm is compared with itself, then in 19 of 20
comparisons not one headline may be called better or worse. Five decisions follow.

**The sample is the round.** Pods of one run wait in one queue, so that two hundred of
their latencies say little more than one. Runs of one round follow each other and share
the machine's mood, so the change from baseline to arm is taken inside each round: as a
ratio where all values are above zero, else as a difference.

**Few rounds need Student's statistic.** Resampling three changes gives ten means, and
the percentile interval of them is at most their range, which covers in 3 of 4 cases
instead of 19 of 20 (Hesterberg, "What Teachers Should Know About the Bootstrap", The
American Statistician 69, 2015, section 4); bootstrap-t divides by the spread of a
resample, which is zero in one of nine. Adding pods as a second level does not help:
what is missing are rounds. Student's t on the logarithms is exact for normal changes at
every number of rounds (it is what Georges, Buytaert and Eeckhout, "Statistically
Rigorous Java Performance Evaluation", OOPSLA 2007, recommend below 30 runs). For
changes that are not normal its error in the far tail grows with the integral of
``|x|^(n-1) f(x)^n`` (Bradley, Annals of Mathematical Statistics 23, 1952), which is
small for what a comparison of an arm with itself gives: changes of two like runs are
symmetric and have their mode at zero. Runs of uniform speed have 1.09 times the normal
error at three rounds, heavy tails less than it. The one bad case, the very same change
in every round, is met by counting a metric's resolution as part of its spread.

**Verdicts are on few headlines.** They are named before anything runs, at most six,
and share the allowed error among themselves: with fifty metrics in the share, three
rounds could not show that a scheduler takes five times as long. What is shown hands its
share on to the rest, step by step (Holm, Scandinavian Journal of Statistics 6, 1979).
Headlines that hang together, mean and tail above all, pay more than they would have to:
that costs rounds, and never the promise. The other metrics have intervals, each right
in 19 of 20 cases by itself, and no verdict.

**Who looks more than once spends the error in parts.** To look after each round and
stop at the first verdict is many tests, and at the full rate each of them an arm would
differ from itself far too often. So each look, from the fourth round on, has a share
(`spending.share_of_look`). Together they hold for all looks, which is why an interval
is what those of all looks have in common.

**A verdict is an interval that leaves out "no change".** There is no second rule, so
that table, plot and verdict cannot disagree. Where nothing is shown the reason tells
how large a change these rounds could have shown, and how many would show this one.

What it rests on: rounds that do not influence each other, and an order of arms that
changes from round to round, else the first place in a round becomes part of an arm.
"""
