"""The checker's own search for the most valuable content, against trying every one."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from stowage_optimizer.verify.certificate.knapsack import Choice, most_valuable

choices_of_a_node = st.lists(
    st.builds(
        Choice,
        st.integers(-3, 12),
        st.tuples(st.integers(0, 5), st.integers(0, 5)),
        st.integers(0, 3),
    ),
    max_size=5,
)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    choices=choices_of_a_node,
    room=st.tuples(st.integers(0, 14), st.integers(0, 14)),
    slack=st.integers(0, 4),
)
def test_no_content_is_worth_more_than_is_said(
    choices: list[Choice], room: tuple[int, int], slack: int
) -> None:
    """A content overlooked here would let a false certificate pass."""
    best = 0
    for numbers in product(*(range(one.most + 1) for one in choices)):
        taken = [
            sum(n * one.need[d] for n, one in zip(numbers, choices, strict=True))
            for d in range(2)
        ]
        if taken[0] <= room[0] and taken[1] <= room[1]:
            worth = sum(n * one.value for n, one in zip(numbers, choices, strict=True))
            best = max(best, worth)

    said = most_valuable(choices, room, slack)

    assert said is not None
    assert best <= said <= best + slack
