"""Queues by other drivers than htb with pfifo leaves, where the kernel has them: strict, and marking by ECN."""

import json
import os

import pytest

from nets import Net, needs_root, wait_for
from test_queues import Bottleneck

pytestmark = needs_root
PORT_TO_RECEIVER = "p3"
LINK = 5_000_000 if os.environ.get("GUEST") == "qemu" else 20_000_000  # what slow guests can fill


@pytest.fixture
def net():
    made = Net(3)
    try:
        yield made
    finally:
        made.remove()


def at_switch(net, monkeypatch, **settings):
    """Agents of role switch have these in their environment; hosts have queues that do not mark."""
    plain = net.agent

    def agent(host, **kw):
        for name, value in settings.items():
            if kw.get("role") == "switch":
                monkeypatch.setenv(name, value)
            else:
                monkeypatch.delenv(name, raising=False)
        return plain(host, link_bps=LINK, **kw)

    monkeypatch.setattr(net, "agent", agent)


def reds(net):
    said = json.loads(net.sw.tc("-s", "-j", "qdisc", "show", "dev", PORT_TO_RECEIVER))
    return [q for q in said if q["kind"] == "red"]


def marked(net):
    return sum(q["marked"] for q in reds(net))


def receiver_ce(net):
    out = net.hosts[2].enter("cat", "/proc/net/netstat")
    lines = [line.split() for line in out.splitlines() if line.startswith("IpExt:")]
    return int(dict(zip(*lines))["InCEPkts"])


@pytest.mark.parametrize("driver,ecn", [
    pytest.param("htb", "1", marks=pytest.mark.guest("host", "uml")),
    pytest.param("prio", "1", marks=pytest.mark.guest("host", "uml")),
    pytest.param("ets", "1", marks=pytest.mark.guest("host", "qemu")),
    ("prio", "0"), ("auto", "1")])
def test_a_higher_level_has_the_link(net, monkeypatch, driver, ecn):
    at_switch(net, monkeypatch, QUEUES=driver, ECN=ecn)
    probe = net.agent(net.sw, ports="p1,p2,p3", role="switch")
    if "does not take the qdisc" in probe.opened:
        pytest.skip(probe.opened)
    probe.kill()  # its queues stay, and are found right by the next
    before = net.sw.tc("qdisc", "show")
    b = Bottleneck(net)
    try:
        assert net.sw.tc("qdisc", "show") == before
        high, low = b.task("high", 0, 7), b.task("low", 4, 0)
        first = b.fetch(high, net.hosts[0])
        alone = wait_for("the link alone", lambda: r if (r := b.pump.rate_bps(first, 0.5)) > 0.8 * LINK else None, 60)
        b.fetch(low, net.hosts[1])
        wait_for("95 % of the link beside a lower level", lambda: b.pump.rate_bps(first, 1.0) >= 0.95 * alone, 60)
        if reds(net):
            wait_for("marks", lambda: marked(net) > 0, 20)
            assert sum(q["early"] + q["pdrop"] for q in reds(net)) == 0, "what can carry ECN is marked, not lost"
    finally:
        b.pump.stop()
    wait_for("as many CE marks at the receiver as the port counts", lambda: receiver_ce(net) == marked(net), 60)
    b.agents[3].do("restore")
    assert "d00:" not in net.sw.tc("qdisc", "show")
