"""What stood on a port comes back whatever it was, with classes and filters, also when the agent
and its restore are killed."""

import os
import random
import time

import pytest

import foreign
from nets import BUILD, PATIENCE, needs_root

pytestmark = needs_root


def running(agent):
    """As far as it has its queues, or has ended."""
    end = time.monotonic() + 20 * PATIENCE
    while time.monotonic() < end and agent.process.poll() is None and "manages" not in open(agent.log).read():
        time.sleep(0.005)


def restore_killed(agent, after_s):
    with agent.host.popen(os.path.join(BUILD, "duopoly-agent"), "--config", agent.config, "--restore") as restore:
        time.sleep(after_s)  # where it is then is what is tried out
        restore.kill()


@pytest.mark.parametrize("driver,schedules", [
    pytest.param("htb", 10, marks=pytest.mark.guest("host")), pytest.param("prio", 2, marks=pytest.mark.guest("uml")),
    *(pytest.param(driver, 200, marks=[pytest.mark.faults, pytest.mark.guest(*kernels)])
      for driver, kernels in (("htb", ["host", "uml", "qemu"]), ("prio", ["uml", "qemu"]), ("ets", ["qemu"])))])
def test_random_trees_come_back_byte_for_byte(site, driver, schedules):
    net, begin = site
    seed = int(os.environ.get("TEST_SEED", 79446))
    kinds = foreign.kinds_of(net.sw, "br0")
    print(f"\nseed {seed}, kinds {', '.join(kinds[0])}, filters {', '.join(kinds[1])}")
    agent = None
    for n in range(schedules):
        rng = random.Random(f"{seed} {n}")
        trees = [foreign.Tree(net.sw, port, rng, *kinds) for port in ("p1", "p2")]
        before = [foreign.snapshot(net.sw, tree.dev) for tree in trees]
        what = "\n".join([f"schedule {n} of seed {seed}", *trees[0].made, *trees[1].made])
        agent = agent or begin(flags=["--replace"], lines=[f"queues: {{driver: {driver}}}"])
        for _ in range(rng.randrange(1, 3)):
            if agent.process.poll() is not None:
                open(agent.log, "w").close()
                agent.start()
            if rng.random() < 0.5:
                running(agent)
                assert agent.process.poll() is None, open(agent.log).read() + what
            else:
                time.sleep(rng.uniform(0, 0.1))
            agent.kill()
        for _ in range(rng.randrange(0, 3)):
            restore_killed(agent, rng.uniform(0, 0.03))
        agent.restore()
        for tree, was in zip(trees, before):
            assert foreign.snapshot(net.sw, tree.dev) == was, what
            net.sw.tc("qdisc", "delete", "dev", tree.dev, "root")


def mininet_link(net, dev):
    """As Mininet's TCLink has it, where this kernel has no netem below its HTB."""
    net.sw.tc("qdisc", "add", "dev", dev, "root", "handle", "5:0", "htb", "default", "1")
    net.sw.tc("class", "add", "dev", dev, "parent", "5:0", "classid", "5:1", "htb", "rate", "10Mbit", "burst", "15k")


def test_a_shaped_link_of_mininet_comes_back(site):
    net, begin = site
    mininet_link(net, "p1")
    before = foreign.snapshot(net.sw, "p1")
    agent = begin(flags=["--replace"])
    running(agent)
    assert any("htb d00:" in line for line in foreign.snapshot(net.sw, "p1")["qdiscs"]), open(agent.log).read()
    agent.kill()
    agent.restore()
    assert foreign.snapshot(net.sw, "p1") == before


@pytest.mark.guest("qemu")
def test_a_foreign_ets_comes_back(site):
    """With leaves, filters, and a table of priorities; the agent is killed, and so is a restore."""
    net, begin = site
    for words in ("qdisc add dev p1 root handle 7: ets bands 4 strict 2 quanta 3000 4500 priomap 3 2 1 0",
                  "qdisc add dev p1 parent 7:3 handle 8: pfifo limit 7",
                  "qdisc add dev p1 parent 7:1 handle 9: tbf rate 30mbit burst 20kb limit 50kb",
                  "filter add dev p1 parent 7: protocol ip prio 5 u32 match ip dport 80 0xffff flowid 7:2"):
        net.sw.tc(*words.split())
    before = foreign.snapshot(net.sw, "p1")
    assert any(line.startswith("qdisc ets 7: root") for line in before["qdiscs"])
    agent = begin(flags=["--replace"])
    running(agent)
    assert not any("ets 7:" in line for line in foreign.snapshot(net.sw, "p1")["qdiscs"]), open(agent.log).read()
    agent.kill()
    restore_killed(agent, 0.1)
    agent.restore()
    assert foreign.snapshot(net.sw, "p1") == before


def test_what_an_operator_puts_there_meanwhile_stays(site):
    net, begin = site
    mininet_link(net, "p1")
    agent = begin(flags=["--replace"])
    running(agent)
    agent.kill()
    net.sw.tc("qdisc", "replace", "dev", "p1", "root", "handle", "6:", "pfifo", "limit", "9")
    now = foreign.snapshot(net.sw, "p1")
    agent.restore()
    assert foreign.snapshot(net.sw, "p1")["qdiscs"] == now["qdiscs"]


def test_what_cannot_come_back_stays_and_all_others_are_served(site):
    """A filter by a program: the kernel tells of it in part."""
    net, begin = site
    mininet_link(net, "p1")
    net.sw.tc("filter", "add", "dev", "p1", "parent", "5:", "prio", "3", "bpf", "bytecode", "1,6 0 0 4294967295", "flowid", "5:1")
    before = foreign.snapshot(net.sw, "p1")
    agent = begin(flags=["--replace"])
    running(agent)
    said = [line for line in open(agent.log).read().splitlines() if "nothing is done on this port" in line]
    assert len(said) == 1 and "p1" in said[0] and "bpf filter" in said[0]
    now = foreign.snapshot(net.sw, "p1")
    assert [q for q in now["qdiscs"] if "clsact" not in q] == before["qdiscs"] and "htb d00:" in net.sw.tc("qdisc", "show", "dev", "p2")
    agent.terminate()
    assert foreign.snapshot(net.sw, "p1") == before
