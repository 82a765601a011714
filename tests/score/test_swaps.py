"""An outdated candidate and its successor change places, and nobody else moves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.supersede import TINY, swaps


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 8))
    score = np.array(draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    ends = draw(st.sets(st.integers(0, n - 1)))
    newer = [draw(st.sampled_from([-1, *sorted(ends)])) if i not in ends else -1 for i in range(n)]
    return score, np.array(newer, dtype=np.int64)


@given(cases())
def test_an_outdated_one_is_strictly_below_and_the_best_score_is_kept(case: tuple[np.ndarray, np.ndarray]) -> None:
    score, newer = case
    lift, by, demotion = swaps(score, newer)
    after = score * lift * demotion
    assert after.max() <= 1.0 + 1e-12
    for old, new in enumerate(newer.tolist()):
        if new < 0:
            assert demotion[old] == 1.0
        elif score[new] > TINY:
            assert after[old] < after[new]
    for new in range(len(score)):
        olds = np.flatnonzero(newer == new)
        if len(olds) and score[new] > TINY:
            assert np.isclose(after[new], max(score[new], score[olds].max()))
        else:
            assert lift[new] == 1.0
            assert by[new] == -1


def test_what_has_no_part_in_it_keeps_its_score() -> None:
    lift, by, demotion = swaps(np.array([0.9, 0.5, 0.3]), np.array([2, -1, -1]))
    assert (np.array([0.9, 0.5, 0.3]) * lift * demotion).round(4).tolist() == [0.8991, 0.5, 0.9]
    assert by.tolist() == [-1, -1, 0]
