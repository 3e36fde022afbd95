"""One placement hash over all rounds."""

from __future__ import annotations

from outcomes import a_stepped_outcome, an_outcome

from stowage_testbed.run.divergence import find_divergences


def test_equal_rounds_do_not_diverge() -> None:
    """The promise that ten rounds keep."""
    rounds = [an_outcome(repeat=1), an_outcome(repeat=2)]

    assert find_divergences(rounds) == ()


def test_the_first_workload_that_differs_is_named() -> None:
    """Two hashes alone would leave the reader to search."""
    rounds = [
        an_outcome(repeat=1, nodes={"a": ["n1"], "b": ["n2"], "c": ["n1"]}),
        an_outcome(repeat=2, nodes={"a": ["n1"], "b": ["n1"], "c": ["n2"]}),
    ]

    (divergence,) = find_divergences(rounds)

    assert divergence.repeat == 2
    assert divergence.workload == "b"
    assert "then on n2, now on n1" in divergence.in_words()


def test_scenarios_are_not_compared_with_each_other() -> None:
    """Each scenario has a placement of its own."""
    outcomes = [
        an_outcome(name="paper/a", nodes={"a": ["n1"]}),
        an_outcome(name="paper/b", nodes={"a": ["n2"]}),
    ]

    assert find_divergences(outcomes) == ()


def test_a_round_that_never_settled_has_no_hash_to_differ() -> None:
    """Its error already fails the run."""
    assert find_divergences([an_outcome(), an_outcome(repeat=2, settled=False)]) == ()


def test_stepped_scenarios_need_not_place_alike() -> None:
    """Arrivals and plans go by the clock; their own expectations judge them."""
    rounds = [
        a_stepped_outcome(repeat=1),
        a_stepped_outcome(repeat=2, nodes={"web": ["n2", ""]}),
    ]

    assert find_divergences(rounds) == ()
