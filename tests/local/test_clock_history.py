"""What a stamp of the machine's time means in virtual time: exact, in order, and the same both ways."""

from math import floor

from hypothesis import example, given
from hypothesis import strategies as st

from local.clock_history import ClockHistory

BEGIN = 1_800_000_000.0

#: For how long a rate holds in real seconds, how far the clock jumps after it, and the rate from then on.
Stretch = tuple[float, float, float]
stretches = st.lists(
    st.tuples(
        st.floats(0.01, 5, allow_subnormal=False),
        st.sampled_from([0.0, 0.0, 0.5, 30.0, 3600.0, 86400.0]),
        st.sampled_from([1.0, 2.0, 30.0, 60.0]),
    ),
    max_size=12,
)
seconds = st.integers(int(BEGIN) - 5, int(BEGIN) + 40)


def lived(course: list[Stretch]) -> ClockHistory:
    history = ClockHistory()
    real, virtual, rate = BEGIN, BEGIN + 1000.25, 1.0
    history.begin(real, virtual, rate)
    for lasts, jump, following in course:
        real, virtual = real + lasts, virtual + lasts * rate + jump
        rate = following
        history.begin(real, virtual, rate)
    return history


def test_an_instant_of_the_machine_is_one_of_the_virtual_clock():
    history = lived([(2, 0, 60), (1, 3600, 1)])
    assert history.virtual(BEGIN + 1) == BEGIN + 1001.25
    assert history.virtual(BEGIN + 2.5) == BEGIN + 1002.25 + 30
    assert history.virtual(BEGIN + 4) == BEGIN + 1002.25 + 60 + 3600 + 1


def test_what_was_jumped_over_belongs_to_the_jump():
    history = lived([(2, 3600, 1)])
    assert history.real(BEGIN + 1002.25 + 1800) == BEGIN + 2
    assert history.real(BEGIN + 1002.25 + 3600 + 5) == BEGIN + 7


def test_a_stamp_of_a_second_in_which_the_clock_jumped_is_not_before_the_jump():
    history = lived([(2.5, 3600, 2)])
    assert history.virtual_of_second(int(BEGIN) + 1) == BEGIN + 1001.25
    assert history.virtual_of_second(int(BEGIN) + 2) == BEGIN + 1002.75 + 3600
    assert history.virtual_of_second(int(BEGIN) + 3) == BEGIN + 1003.75 + 3600


@given(stretches, st.tuples(seconds, seconds))
def test_order_is_kept(course: list[Stretch], both: tuple[int, int]):
    history = lived(course)
    early, late = sorted(both)
    assert history.virtual(early) <= history.virtual(late)
    assert history.virtual_of_second(early) <= history.virtual_of_second(late)
    assert history.virtual(early) <= history.virtual_of_second(early) <= history.virtual(early + 1)


@given(stretches, seconds)
def test_the_way_there_and_back_ends_where_it_began(course: list[Stretch], second: int):
    history = lived(course)
    assert abs(history.real(history.virtual(second + 0.3)) - (second + 0.3)) < 1e-5


@given(stretches, seconds)
@example([(2.75, 0.5, 1.0)], int(BEGIN) + 2)
@example([(2.9, 3600.0, 1.0)], int(BEGIN) + 2)
def test_two_seconds_never_have_the_same_stamp(course: list[Stretch], second: int):
    history = lived(course)
    assert floor(history.virtual_of_second(second)) < floor(history.virtual_of_second(second + 1))
