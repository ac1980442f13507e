"""Ports at 1 Gb/s in virtual time, where links are exact: what marks, DCTCP and strictness come to.
Run in the guest `virtual`."""

import re
import time

import pytest

from nets import needs_root
from test_kernels import Fetchers, begun, congestion_experienced, counted
from test_queues import Pump

pytestmark = [needs_root, pytest.mark.guest("virtual")]
LINK = 10**9
FLOOR = LINK // 100
THRESHOLD = 20  # packets: DCTCP's paper at 1 Gb/s
DRIVERS = ("htb", "prio", "ets")


@pytest.fixture
def pump():
    made = Pump()
    try:
        yield made
    finally:
        made.stop()


def fetchers(net, pump, driver):
    made = Fetchers(net, pump, b"dctcp")
    begun(net.agent(net.sw, ports="p3", role="switch", link_bps=LINK, queues=driver, ecn=True))
    return made


def waiting(ns):
    """Packets in the longest of the port's queues that mark."""
    return max(int(re.search(r"(\d+)p", block)[1]) for block in re.findall(r"qdisc red .*?backlog \S+ (\S+)", ns.tc("-s", "qdisc", "show", "dev", "p3"), re.S))


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_queue_stays_about_its_threshold_and_loses_nothing(net, pump, driver):
    made = fetchers(net, pump, driver)
    streams = [made.fetch(4, net.hosts[number % 2]) for number in range(4)]
    time.sleep(0.1)
    assert pump.rate_bps(streams, 0.2) > 0.9 * LINK
    seen = []
    for _ in range(100):
        time.sleep(0.001)
        seen.append(waiting(net.sw))
    for stream in streams:
        pump.pause(stream)
    time.sleep(0.1)  # of the guest's: what is under way arrives
    drops, marked = counted(net.sw, "p3")
    seen.sort()
    print("\n%s: queue: median %d, p99 %d, worst %d packets; %d marked" % (driver, seen[len(seen) // 2], seen[len(seen) * 99 // 100], seen[-1], marked))
    assert drops == 0 and marked == congestion_experienced(made.target) > 100
    assert seen[len(seen) * 99 // 100] <= 2 * THRESHOLD


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_higher_level_has_the_link_and_the_lower_its_floor(net, pump, driver):
    made = fetchers(net, pump, driver)
    low = [made.fetch(4, net.hosts[0]) for _ in range(4)]
    for stream in low:  # opened before: without floors none could be any more
        pump.pause(stream)
    high = made.fetch(1, net.hosts[1])
    time.sleep(0.1)
    alone = pump.rate_bps(high, 0.2)
    for stream in low:
        pump.resume(stream)
    time.sleep(0.2)
    before = sum(pump.got[stream] for stream in low)
    began = time.monotonic()
    beside = pump.rate_bps(high, 0.2)
    trickle = (sum(pump.got[stream] for stream in low) - before) * 8 / (time.monotonic() - began)
    print("\n%s: high alone %.1f, beside %.1f, low %.2f Mb/s" % (driver, alone / 1e6, beside / 1e6, trickle / 1e6))
    assert beside >= 0.95 * alone
    assert driver != "htb" or 0.5 * FLOOR <= trickle <= 3 * FLOOR
