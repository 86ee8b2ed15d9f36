"""Token buckets."""

from reasonblocks.server import limiter
from reasonblocks.server.limiter import Limiter, neighbourhood


class Clock:
    """A time that passes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_passes_and_then_the_rate_counts() -> None:
    """So many at once, then one for each token that has come since."""
    clock = Clock()
    bucket = Limiter(rate=2.0, burst=3, clock=clock)
    assert [bucket.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    clock.now += 0.5
    assert bucket.take("a") == 0.0
    assert bucket.take("a") == 0.5


def test_callers_do_not_share_a_bucket() -> None:
    """What one has used up, another still has."""
    bucket = Limiter(rate=1.0, burst=1, clock=Clock())
    assert bucket.take("a") == 0.0
    assert bucket.take("a") > 0.0
    assert bucket.take("b") == 0.0


def test_a_bucket_never_holds_more_than_a_burst() -> None:
    """A long silence is no credit."""
    clock = Clock()
    bucket = Limiter(rate=10.0, burst=2, clock=clock)
    bucket.take("a")
    clock.now += 3_600
    assert [bucket.take("a") == 0.0 for _ in range(3)] == [True, True, False]


def test_the_number_of_buckets_is_bounded() -> None:
    """Callers that come and go leave nothing behind, and one that has just been limited stays so."""
    clock = Clock()
    bucket = Limiter(rate=1.0, burst=1, clock=clock)
    for number in range(limiter.MOST_BUCKETS):
        bucket.take(f"visitor {number}")
    clock.now += 10
    bucket.take("greedy")
    assert len(bucket._buckets) == 1
    assert bucket.take("greedy") > 0.0


def test_an_ipv6_customer_is_one_caller() -> None:
    """Whoever has a whole network of addresses does not have that many buckets."""
    assert neighbourhood("2001:db8:1:2::5") == neighbourhood("2001:db8:1:2:ffff::9")
    assert neighbourhood("2001:db8:1:2::5") != neighbourhood("2001:db8:1:3::5")
    assert neighbourhood("fe80::1%eth0") == "fe80::/64"
    assert neighbourhood("192.0.2.7") == "192.0.2.7"
    assert neighbourhood("not:an:address") == "not:an:address"
