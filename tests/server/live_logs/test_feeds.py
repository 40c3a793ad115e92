"""How often feeds look at the store: a line is soon on its page, and many feeds cost no more than a hundred."""

import pytest

from rota.server.live_logs.feeds import longest_pause_s


@pytest.mark.parametrize(("feeds", "pause_s"), [(1, 0.1), (100, 0.1), (200, 0.2), (3_000, 3.0)])
def test_all_feeds_together_look_no_more_than_a_thousand_times_a_second(feeds: int, pause_s: float) -> None:
    assert longest_pause_s(feeds) == pause_s
