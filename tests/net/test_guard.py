"""What somebody else does to a managed port is noticed by the kernel's own word within a second,
put right or left, and told once."""

import contextlib
import re
import time

import pytest

import tcx
from nets import Net, needs_root, wait_for
from scripted import Agent, Controller

pytestmark = needs_root


class Site:
    def __init__(self, net):
        self.net, self.host = net, net.hosts[0]
        self.controller = Controller(net.hosts[1], f"tcp://{net.hosts[1].address}:7000")
        self.agent = None

    def begin(self, **options):
        self.agent = Agent(self.net, self.host, f"tcp://{self.net.hosts[1].address}:7000", **options)
        wait_for("the session", lambda: self.controller.of("host_state"))
        self.right = self.ports()
        assert "htb" in self.right and tcx.hooked(self.host, "up0") == tcx.BOTH
        return self.agent

    def ports(self):
        text = "".join(self.host.tc(*words) for words in (("qdisc", "show"), ("class", "show", "dev", "up0"), ("filter", "show", "dev", "up0", "egress"),
                                                          ("filter", "show", "dev", "up0", "ingress")))
        return re.sub(r"direct_packets_stat \d+|id \d+|qdisc noqueue .*", "", text)

    def told(self):
        return [m["text"] for m in self.controller.of("host_state") if m["text"]]

    def lines(self, word):
        return [line for line in open(self.agent.log) if word in line]

    def end(self):
        if self.agent:
            if self.agent.process.poll() is None:
                self.agent.kill()
            self.agent.restore()
        self.controller.stop()


@pytest.fixture
def site():
    net = Net(2)
    made = None
    try:
        made = Site(net)
        yield made
    finally:
        try:
            if made:
                made.end()
        finally:
            net.remove()


def test_the_agent_tells_what_makes_its_queues_and_why(site):
    site.begin()
    said = site.controller.of("host_state")[-1]["queues"]
    assert said.startswith("up0: htb: it has floors"), said
    assert ("no ECN marks" in said) == ("qdisc red" not in site.right)


DISTURBED = {
    "root removed": ("qdisc", "del", "dev", "up0", "root"),
    "root replaced": ("qdisc", "replace", "dev", "up0", "root", "handle", "7:", "pfifo", "limit", "9"),
    "class changed": ("class", "change", "dev", "up0", "parent", "d00:ff", "classid", "d00:4", "htb", "rate", "3mbit", "ceil", "4mbit", "prio", "2"),
}


@pytest.mark.parametrize("how", DISTURBED)
def test_a_change_is_noticed_and_repaired(site, how):
    site.begin()
    begin = time.monotonic()
    site.host.tc(*DISTURBED[how])
    wait_for("the repair", lambda: any(text.endswith("repaired") for text in site.told()), 5)
    took = time.monotonic() - begin
    assert took < 1 and site.ports() == site.right
    assert len(site.told()) == len(site.lines("somebody")) == 1, "once"
    print(f"\n{how}: {site.told()[0]}, {1000 * took:.0f} ms")


@pytest.mark.parametrize("way", tcx.BOTH)
def test_a_program_that_somebody_takes_away_comes_back(site, way):
    """Of this the kernel tells nobody."""
    site.begin()
    stood = tcx.standing(site.host, "up0", way)
    tcx.detach(site.host, "up0", way)
    wait_for("the repair", lambda: site.told() and site.told()[-1].endswith("somebody removed or replaced our programs: repaired"), 10)
    assert tcx.standing(site.host, "up0", way) == stood and len(site.told()) == len(site.lines("somebody")) == 1, "once"


@pytest.mark.parametrize("returns", [tcx.PASS, tcx.NEXT])
@pytest.mark.parametrize("way", tcx.BOTH)
def test_what_somebody_puts_in_front_of_ours_is_gone_in_front_of(site, way, returns):
    """Whether it ends processing cannot be seen: what it may keep from ours is not left to it. It
    stays, behind."""
    site.begin()
    ours = tcx.standing(site.host, "up0", way)
    with tcx.in_front(site.host, "up0", way, returns) as theirs:
        wait_for("the repair", lambda: tcx.standing(site.host, "up0", way) == [*ours, theirs], 10)
        wait_for("the word", site.told)
        direction = "is sent" if way == "egress" else "arrives"
        assert site.told() == [f"up0: somebody put the program theirs ({theirs}) in front of ours on what {direction}: repaired"]
    assert len(site.lines("somebody")) == 1, "once"


def test_what_stands_there_before_us_is_behind_us(site):
    with tcx.in_front(site.host, "up0", "egress") as first, tcx.in_front(site.host, "up0", "ingress") as second:
        site.begin()
        for way, theirs in (("egress", first), ("ingress", second)):
            stands = tcx.standing(site.host, "up0", way)
            assert len(stands) == 2 and stands[1] == theirs
    assert not site.told()


def test_who_yields_leaves_what_somebody_puts_in_front(site):
    site.begin(lines=["queues: {on_change: yield}"])
    with tcx.in_front(site.host, "up0", "egress") as theirs:
        wait_for("the word", site.told, 10)
        assert f"the program theirs ({theirs}) in front of ours" in site.told()[0] and "left as it is" in site.told()[0]
        assert tcx.standing(site.host, "up0", "egress")[0] == theirs


def test_who_goes_in_front_of_us_for_ever_is_left_there(site):
    site.begin()
    with contextlib.ExitStack() as put:
        for n in range(1, 7):
            put.enter_context(tcx.in_front(site.host, "up0", "egress"))
            wait_for("the word", lambda: len(site.lines("somebody put")) == n, 10)
        assert "left as it is after 5 repairs in a minute" in site.lines("somebody put")[-1]


def test_rules_that_somebody_flushes_come_back(site):
    """As a distribution's firewall does when it is restarted; and the host says by what it
    marks."""
    def rules():
        return re.sub(r"timeout \S+", "", site.host.enter("nft", "-s", "list", "ruleset"))
    site.agent = Agent(site.net, site.host, f"tcp://{site.net.hosts[1].address}:7000", marks=", driver: nftables")
    wait_for("the session", lambda: site.controller.of("host_state"))
    assert site.controller.of("host_state")[-1]["marks"] == "nftables"
    right = rules()
    for n, change in enumerate(("flush ruleset", "flush chain inet duopoly-up0 output"), 1):
        site.host.enter("nft", change)
        wait_for("the repair", lambda: len([text for text in site.told() if text.endswith("repaired")]) == n, 5)
        assert rules() == right
    assert len(site.told()) == len(site.lines("somebody")) == 2, "once each"


def test_nobody_is_fought_for_ever(site):
    site.begin()
    for n in range(1, 6):
        site.host.tc(*DISTURBED["root removed"])
        wait_for("the repair", lambda: len(site.told()) == n, 5)
        assert site.ports() == site.right
    site.host.tc(*DISTURBED["root removed"])
    wait_for("the end", lambda: len(site.told()) == 6, 5)
    assert "left as it is after 5 repairs in a minute" in site.told()[-1] and "htb" not in site.ports()
    site.controller.do("stance 2")
    site.controller.do("stance 3")
    wait_for("our queues, after a new word", lambda: site.ports() == site.right)


def test_who_yields_leaves_it_and_says_so(site):
    site.begin(lines=["queues: {on_change: yield}"])
    site.host.tc(*DISTURBED["root replaced"])
    wait_for("the word", site.told, 1)
    assert "pfifo" in site.told()[0] and "left as it is" in site.told()[0] and "pfifo" in site.ports()


def test_a_link_that_flaps_is_told(site):
    site.begin()
    site.host.ip("link", "set", "up0", "down")
    wait_for("down", lambda: site.lines("up0 went down"), 1)
    site.host.ip("link", "set", "up0", "up")
    wait_for("up", lambda: site.lines("up0 was down and is up again"), 1)
    assert site.ports() == site.right


@pytest.mark.parametrize("on_change", ["repair", "yield"])
def test_queues_follow_the_mtu_and_no_repair_is_spent(site, on_change):
    site.begin(lines=[f"queues: {{on_change: {on_change}}}"])
    seen = [site.right]
    for mtu in (9000, 1500) * 4:
        site.host.ip("link", "set", "up0", "mtu", str(mtu))
        wait_for("queues for it", lambda: site.ports() != seen[-1], 5)
        wait_for("the word", lambda: len(site.lines("queues follow")) == len(seen), 5)
        seen.append(site.ports())
    assert seen[::2] == [site.right] * 5 and seen[1] != site.right and not site.lines("somebody") and not site.told()
    site.host.tc(*DISTURBED["root replaced"])
    wait_for("what somebody does is noticed all the same", lambda: site.lines("somebody"), 5)
