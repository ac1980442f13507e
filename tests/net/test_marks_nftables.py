"""What the nftables driver leaves in nftables, between namespaces: its table, what others do to it,
and what `nft` lists of it."""

import os
import re
import socket
import subprocess

import pytest

from nets import connection, needs_root, pass_bytes, wait_for
from test_marks import Pair, dscp, last_dscp, net, seen, state_of  # noqa: F401: net is a fixture

pytestmark = needs_root
only_nftables = pytest.mark.parametrize("net", ["nftables"], indirect=True)


@only_nftables
def test_a_table_of_the_same_name_is_refused(net):
    h1 = net.hosts[0]
    h1.enter("nft", "add table inet duopoly-up0")
    before = state_of(h1)[2]
    agent = net.agent(h1, cgroup=net.cgroup("agent"), levels=0)
    assert agent.opened.startswith("error there is a table duopoly-up0 in nftables already"), agent.opened
    assert state_of(h1)[2] == before


@only_nftables
def test_what_somebody_deletes_is_noticed_and_put_right(net):
    """`nft flush ruleset`, as a restart of a distribution's firewall does it; levels, mode and
    lease come back."""
    pair = Pair(net)
    pair.levels(pair.a, 2, 5)
    pair.agent1.do("mode 1")
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    port = listener.getsockname()[1]
    assert pair.agent1.do("compare") == ""
    for change in ("flush ruleset", "flush chain inet duopoly-up0 output", "add rule inet duopoly-up0 level5 accept",
                   "add table inet duopoly-up0 { flags dormant; }", "delete table arp duopoly-up0"):
        pair.h1.enter("nft", change)
        assert "somebody removed or changed our table duopoly-up0" in pair.agent1.do("compare"), change
        pair.agent1.do("reach 2")
        assert pair.agent1.do("compare") == ""
        pair.clear()
        pass_bytes(here, there, 1000)
        assert seen(pair.out1, port, payload_only=True) == {dscp(5)}, change


def listed(host):
    """The rules as nft shows them, in a file, once nft has taken the file as right; without what
    passes with time."""
    text = host.enter("nft", "list", "ruleset")
    path = os.path.join("/tmp", host.name + ".nft")
    try:
        with open(path, "w") as f:
            f.write("flush ruleset\n" + text)
        checked = host.popen("nft", "-c", "-f", path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = checked.communicate()[0]
        assert (checked.returncode, said) == (0, ""), said
        host.enter("nft", "-f", path)
    finally:
        os.unlink(path)
    return re.sub(r" expires \S+|packets \d+ bytes \d+", "", text)


@only_nftables
@pytest.mark.parametrize("role", ["host", "switch"])
@pytest.mark.parametrize("tunnels", [None, "tun0"])
def test_what_nft_lists_of_ours_is_loaded_again_and_is_the_same(net, role, tunnels):
    """As who saves a host's rules does it. With levels, both versions of IP, UDP, and connections
    with levels of their own."""
    h1, h2 = net.hosts
    root, root2 = net.cgroup("agent1"), net.cgroup("agent2")
    a = net.cgroup("a", root)
    agent = net.agent(h1, cgroup=root, role=role, tunnels=tunnels)
    assert agent.opened.startswith("ok") and net.agent(h2, cgroup=root2).opened.startswith("ok")
    agent.do("lease_ms 60000")
    held = []
    if role == "host":
        agent.do(f"levels {a.id} 2 5")
        for family in (socket.AF_INET, socket.AF_INET6):
            here, there, listener = connection(net, h1, h2, a, family=family)
            pass_bytes(here, there, 10_000)
            pass_bytes(there, here, 3000)
            (local, lport), (peer, pport) = here.getsockname()[:2], here.getpeername()[:2]
            agent.do(f"flow {local} {lport} {peer} {pport} {a.id} 3 4")
            held += [here, there, listener]
            with a.inside(), h1.inside():
                datagrams = socket.socket(family, socket.SOCK_DGRAM)
            datagrams.bind(("", 0))
            there.send(b"x")
            with h2.inside():
                socket.socket(family, socket.SOCK_DGRAM).sendto(b"y" * 100, (local, datagrams.getsockname()[1]))
            assert len(datagrams.recv(1000)) == 100
            held.append(datagrams)
        assert int(agent.do(f"received {a.id}")) >= 6200
    before = listed(h1)
    assert before == listed(h1), "loaded it is the same"
    for s in held:
        s.close()


@only_nftables
def test_a_cgroup_that_is_gone_is_listed_no_more(net):
    """nft shows the number of a cgroup that it does not find, and takes it for a name. What the
    cgroup received stays known."""
    pair = Pair(net)
    pair.levels(pair.a, 2, 5)
    pair.levels(pair.b, 3, 5)
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    pass_bytes(there, here, 3000)
    for s in (here, there, listener):
        s.close()
    assert "/a" in listed(pair.h1)
    wait_for("the sockets gone", lambda: not pair.h1.enter("ss", "-Htn", "state", "connected", "exclude", "time-wait"))
    number = pair.a.id
    pair.a.remove()
    pair.agent1.stats()
    text = listed(pair.h1)
    assert str(number) not in text and "/a" not in text and "/b" in text
    assert pair.agent1.do(f"received {number}") == "3000"
    pair.agent1.do(f"levels {number} 1 1")
    assert str(number) not in listed(pair.h1)
    pair.agent1.do(f"forget {number}")
    assert pair.agent1.do(f"received {number}") == "0"
    pair.agent1.kill()
    pair.b.remove()
    again = net.agent(pair.h1, cgroup=pair.root)
    assert again.opened.startswith("ok") and "/b" not in listed(pair.h1)


@only_nftables
def test_other_bits_of_a_connection_s_mark_are_not_ours(net):
    """Accepted connections keep what arrived in four bits of their connection mark; the others stay
    somebody else's."""
    pair = Pair(net)
    pair.levels(pair.a, 2, 5)
    pair.h2.enter("nft", "add table inet theirs; add chain inet theirs in { type filter hook input priority -300; }; "
                  "add rule inet theirs in ct mark set ct mark or 0x80000011; "
                  "add chain inet theirs out { type filter hook output priority 0; }; add counter inet theirs seen; "
                  "add rule inet theirs out ct mark 0x83000011 counter name seen")
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    pass_bytes(here, there, 1000)
    pass_bytes(there, here, 100_000)
    assert last_dscp(pair.out2, listener.getsockname()[1]) == dscp(2)
    assert "packets 0 " not in pair.h2.enter("nft", "list counter inet theirs seen")


@only_nftables
def test_who_observes_has_no_hook(net):
    pair = Pair(net)
    pair.levels(pair.a, 2, 5)
    pair.agent1.do("reach 0")
    assert "hook" not in pair.h1.enter("nft", "list ruleset")
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    pass_bytes(here, there, 1000)
    assert seen(pair.out1, listener.getsockname()[1]) == {0}
    pair.agent1.do("reach 1")
    pair.agent1.do("lease_ms 60000")
    assert "priority set" not in pair.h1.enter("nft", "list ruleset")
    pair.clear()
    pass_bytes(here, there, 1000)
    assert seen(pair.out1, listener.getsockname()[1]) == {dscp(2)}
