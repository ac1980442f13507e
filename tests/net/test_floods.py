"""duopolyd under peers that send too much, too large, never finish, or never read: it cuts them
off, the others get through, memory.

Each test prints what it measured (pytest -s). How much longer the others' round trip may take is
`make bench-live PARTS=floods`: nothing here depends on how busy the machine is, and nothing needs
root."""
import resource
import struct
import time

import pytest

import floods
from controller import wait_until

SECONDS = 2.0  # quiet, then attacked


@pytest.fixture(autouse=True)
def descriptors():
    """Enough of them for the half-open ones in this process, too."""
    before = floods.allow_descriptors()
    if not before:
        pytest.skip("no more than %d files may be open here" % resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
def under(cluster):
    """Makes a daemon, who measures, and the attack, all gone when the test is over."""
    made = []

    def make(kind):
        daemon = cluster.daemon(log=None, config=kind.CONFIG)
        probe = floods.Probe(daemon)
        made.append(probe.close)
        before = memory(daemon)
        attack = kind(daemon)
        made.append(attack.end)
        return daemon, probe, attack, before
    yield make
    for end in reversed(made):
        end()


def memory(daemon):
    """Bytes that the daemon has in memory."""
    with open("/proc/%d/statm" % daemon.process.pid) as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def others_get_through(probe, attack):
    probe.begin(attacked=False)
    time.sleep(SECONDS)  # what is measured
    probe.begin(attacked=True)
    attack.switch(True)
    time.sleep(SECONDS)
    quiet, attacked = probe.take()
    assert attacked["n"] >= 10, "the others get through"
    print("\n" + floods.words(attack.WHAT, quiet, attacked))


def test_who_sends_too_much_is_cut_off(under):
    daemon, probe, attack, before = under(floods.Messages)
    others_get_through(probe, attack)
    wait_until(lambda: daemon.counters()["agents.shut_out"] >= 1, "who comes back is shut out")
    print("%d messages sent, %d connections cut at once or after 10 000 messages; %.1f MB more memory" % (
        attack.sent, attack.cut, (memory(daemon) - before) / 1e6))
    assert daemon.counters()["agents.floods"] >= 1
    assert "sends more messages a second than bounds.agent_messages" in daemon.words()
    assert memory(daemon) - before < 16e6


def test_who_never_speaks_costs_nothing(under):
    daemon, probe, attack, before = under(floods.Silent)
    others_get_through(probe, attack)
    assert attack.connections() < 10 and memory(daemon) - before < 1e6
    attack.switch(False)


def test_half_open_connections_cost_little(under):
    daemon, probe, attack, before = under(floods.HalfOpen)
    others_get_through(probe, attack)
    wait_until(lambda: attack.connections() >= floods.HALF_OPEN, "all are counted")
    each = (memory(daemon) - before) / floods.HALF_OPEN
    print("%.1f kB each" % (each / 1e3))
    assert each < 16e3
    attack.switch(False)


def test_no_more_connect_than_memory_allows(cluster):
    """Each may have five messages of 64 KiB here: so many connections as `incoming` has room for,
    and what these send stays within it."""
    allowed = 64_000_000
    daemon = cluster.daemon(log=None, config="bounds: {incoming: 64 MB, hosts: 100}")
    most = allowed // (5 * 65536)
    assert "%d connections of agents" % most in daemon.words()
    before, peers = memory(daemon), []
    try:
        for i in range(most - 2):
            peers.append(floods.Peer(daemon, source="127.1.0.%d" % (1 + i)))
        large = b"\x02" + struct.pack(">Q", 65536) + bytes(65000)  # all but its end
        for peer in peers:
            peer.socket.sendall(large)
        wait_until(lambda: daemon.counters()["agents.connections"] >= most - 2, "all are accepted")
        grown = wait_until(lambda: memory(daemon) - before, "memory")
        print("\n%d connections with a message of 64 KiB each half sent: %.1f MB of %.0f MB" % (len(peers), grown / 1e6, allowed / 1e6))
        assert grown < allowed
        more = [floods.Peer(daemon, greet=False, source="127.2.0.%d" % (1 + i)) for i in range(4)]
        peers += more
        for peer in more:
            peer.socket.sendall(floods.GREETING[:1])
        wait_until(lambda: daemon.counters()["agents.pauses"] >= 1, "no more are taken")
    finally:
        for peer in peers:
            peer.close()


def test_oversize_parts_end_their_connection(under):
    daemon, probe, attack, before = under(floods.Oversize)
    others_get_through(probe, attack)
    wait_until(lambda: attack.ended > 10, "their connections end")
    print("%d connections ended; %.1f MB more memory" % (attack.ended, (memory(daemon) - before) / 1e6))
    assert memory(daemon) - before < 16e6


def test_who_never_ends_a_message_is_cut_off(under):
    daemon, probe, attack, before = under(floods.Endless)
    most = 0

    def is_cut():  # WHY no bound of its memory: it is what a busy machine sends before the next look
        nonlocal most
        most = max(most, memory(daemon) - before)
        return daemon.counters()["agents.endless"] >= 1
    attack.switch(True)
    wait_until(is_cut, "who does not end is cut off", 0.01)
    others_get_through(probe, attack)
    print("%.1f MB sent, %.1f MB more memory at most" % (attack.sent / 1e6, most / 1e6))
    assert "sends a message that does not end: it is cut off" in daemon.words()


def test_who_never_reads_holds_little(under):
    daemon, probe, attack, before = under(floods.Mute)
    others_get_through(probe, attack)
    wait_until(lambda: daemon.counters()["messages.unanswered_strangers"] > 0, "answers are kept back")
    grown = memory(daemon) - before
    print("%d answers kept back; %.1f MB more memory" % (daemon.counters()["messages.unanswered_strangers"], grown / 1e6))
    assert grown < 32e6
