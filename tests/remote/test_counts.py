"""Budgets: whatever is held and settled in whatever order, limits are never passed."""

from hypothesis import given
from hypothesis import strategies as st

from memrank.remote.counts import Counts, Held, Limits, Meter, tokens_of


@given(
    limit=st.integers(0, 60),
    asks=st.lists(st.tuples(st.integers(0, 20), st.booleans(), st.floats(0, 1)), max_size=30),
)
def test_calls_on_their_way_count_against_the_limit(limit: int, asks: list[tuple[int, bool, float]]) -> None:
    """Where no call uses more than was held, no more is ever used than the limit allows."""
    meter = Meter(Limits(tokens=limit))
    under_way: list[tuple[Held, int]] = []
    for tokens, finish, share in asks:
        held = Held(tokens=tokens, cost_usd=0.0)
        if meter.hold(held) is None:
            under_way.append((held, int(tokens * share)))
        if finish and under_way:
            held, used = under_way.pop(0)
            meter.settle(held, tokens_in=used)
        assert meter.counts.tokens + sum(used for _, used in under_way) <= limit


def test_limits_are_named_in_turn() -> None:
    meter = Meter(Limits(calls=2, tokens=100, cost_usd=1.0))
    assert meter.hold(Held(tokens=101, cost_usd=0)) == "tokens"
    assert meter.hold(Held(tokens=1, cost_usd=1.1)) == "cost"
    assert meter.counts == Counts()
    assert meter.hold(Held(tokens=1, cost_usd=0.1)) is None
    assert meter.hold(Held(tokens=100, cost_usd=0.1)) == "tokens"
    assert meter.hold(Held(tokens=99, cost_usd=0.1)) is None
    assert meter.hold(Held(tokens=0, cost_usd=0)) == "calls"
    assert meter.calls_left == 0


def test_a_call_that_was_not_sent_is_given_back() -> None:
    meter = Meter(Limits(calls=1))
    held = Held(tokens=5, cost_usd=0.1)
    assert meter.hold(held) is None
    meter.settle(held, sent=False, refused=1)
    assert meter.counts == Counts(refused=1)
    assert meter.calls_left == 1
    assert Meter(Limits()).calls_left is None


def test_tokens_are_counted_by_bytes() -> None:
    assert [tokens_of(n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
