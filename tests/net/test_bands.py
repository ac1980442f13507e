"""Queues by other drivers than htb with pfifo leaves, where the kernel has them: strict, and
marking by ECN."""

import json
import os

import pytest

from nets import needs_root, wait_for
from test_queues import Bottleneck

pytestmark = needs_root
PORT_TO_RECEIVER = "p3"
LINK = 2_000_000 if os.environ.get("GUEST") == "qemu" else 20_000_000  # what slow guests can fill
# A sender's window is two packets at least: these have more than a queue's threshold (15 packets at
# this rate) under way, however slow they are, as long as they fill the link.
SENDERS = 12
# What they all have under way at first fits, also once a standstill of the machine has let windows
# grow.
QUEUE_PACKETS = 1000


def at_switch(net, monkeypatch, **settings):
    """Agents of role switch have these in their environment; hosts have queues that do not mark,
    and links that are faster than the switch's: packets wait there, not at home."""
    plain = net.agent

    def agent(host, **kw):
        for name, value in settings.items():
            if kw.get("role") == "switch":
                monkeypatch.setenv(name, value)
            else:
                monkeypatch.delenv(name, raising=False)
        return plain(host, link_bps=LINK if kw.get("role") == "switch" else 10 * LINK, **kw)

    monkeypatch.setattr(net, "agent", agent)


def reds(net):
    said = json.loads(net.sw.tc("-s", "-j", "qdisc", "show", "dev", PORT_TO_RECEIVER))
    return [q for q in said if q["kind"] == "red"]


def marked(net):
    return sum(q["marked"] for q in reds(net))


def counter(host, file, group, name):
    lines = [line.split() for line in host.enter("cat", "/proc/net/" + file).splitlines() if line.startswith(group + ":")]
    return int(dict(zip(*lines))[name])


def receiver_ce(net):
    return counter(net.hosts[2], "netstat", "IpExt", "InCEPkts")


def lost_ect(net, control):
    """Packets that can carry ECN and were lost all the same: cubic repeats without, and such may
    be."""
    plain = 0 if control == b"dctcp" else sum(counter(h, "snmp", "Tcp", "RetransSegs") for h in net.hosts[:2])
    return max(0, sum(q["early"] + q["pdrop"] for q in reds(net)) - plain)


def marking_control():
    """The congestion control that ECN is for, where the kernel has it."""
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as f:
        return b"dctcp" if "dctcp" in f.read().split() else b"cubic"


@pytest.mark.parametrize("driver,ecn", [
    pytest.param("htb", "1", marks=pytest.mark.guest("host", "uml")),
    pytest.param("prio", "1", marks=pytest.mark.guest("host", "uml")),
    pytest.param("ets", "1", marks=pytest.mark.guest("host", "qemu")),
    ("prio", "0"), ("auto", "1")])
def test_a_higher_level_has_the_link(net, monkeypatch, driver, ecn):
    at_switch(net, monkeypatch, QUEUES=driver, ECN=ecn)
    probe = net.agent(net.sw, ports="p1,p2,p3", role="switch", leaf_packets=QUEUE_PACKETS)
    if "does not take the qdisc" in probe.opened:
        pytest.skip(probe.opened)
    probe.kill()  # its queues stay, and are found right by the next
    before = net.sw.tc("qdisc", "show")
    control = marking_control() if ecn == "1" else b"cubic"
    b = Bottleneck(net, QUEUE_PACKETS, control=control)
    try:
        assert net.sw.tc("qdisc", "show") == before
        high, low = b.task("high", 0, 7), b.task("low", 4, 0)
        first = [b.fetch(high, net.hosts[0]) for _ in range(SENDERS)]
        alone = wait_for("the link alone", lambda: r if (r := b.pump.rate_bps(first, 0.5)) > 0.8 * LINK else None, 60)
        b.fetch(low, net.hosts[1])
        wait_for("95 % of the link beside a lower level", lambda: b.pump.rate_bps(first, 1.0) >= 0.95 * alone, 60)
        if reds(net):
            wait_for("marks", lambda: marked(net) > 0, 60)
            assert lost_ect(net, control) == 0, "what can carry ECN is marked, not lost"
    finally:
        b.pump.stop()
    wait_for("as many CE marks at the receiver as the port counts", lambda: receiver_ce(net) == marked(net), 60)
    b.agents[3].do("restore")
    assert "d00:" not in net.sw.tc("qdisc", "show")
