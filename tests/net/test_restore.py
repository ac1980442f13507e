"""After `duopoly-agent --restore` a host is as it was before the agent, byte for byte, at whatever
moment the agent was killed, and its restore, too."""

import os
import random
import signal
import time

import pytest

import tcx
from nets import BUILD, cgroup2_root, needs_root, run, wait_for

pytestmark = needs_root


def snapshot(net, state):
    """Links, queues, filters, rules, settings, cgroups, mounts and pins."""
    host = net.hosts[0]
    settings = host.enter("sysctl", "-a", "-r", r"^net\.").splitlines()
    shown = {"links": host.ip("-d", "link", "show"), "rules": host.enter("nft", "list", "ruleset"),
             "sysctls": [line for line in settings if "nf_conntrack_count" not in line]}
    for what in (("qdisc", "show"), ("class", "show", "dev", "up0"), ("filter", "show", "dev", "up0", "ingress"), ("filter", "show", "dev", "up0", "egress")):
        shown[" ".join(what)] = host.tc("-d", *what)
    shown["cgroups"] = sorted(name for name in os.listdir(cgroup2_root()) if name.startswith(net.prefix))
    with open("/proc/mounts") as f:
        shown["mounts"] = [line for line in f if net.dir in line]
    shown["hooks"] = tcx.hooked(host, "up0")
    for what, folder in (("state", state), ("pins", os.path.join(state, "bpf"))):
        shown[what] = sorted(os.listdir(folder)) if os.path.isdir(folder) else None
    return shown


def differences(before, after):
    """By name; of lists only the lines that differ, as before and after."""
    found = {}
    for what, was in before.items():
        now = after[what]
        if isinstance(was, list) and isinstance(now, list):
            was, now = [line for line in was if line not in now], [line for line in now if line not in was]
        if was != now:
            found[what] = (was, now)
    return found


def runs(agent, times):
    def there():
        assert agent.process.poll() is None, open(agent.log).read()
        return open(agent.log).read().count("manages") == times
    wait_for("the agent to run", there)


def is_as(before, net, state):
    assert not differences(before, snapshot(net, state))


@pytest.mark.parametrize("kills,driver", [(12, "ebpf"), (12, "nftables"), pytest.param(150, "ebpf", marks=pytest.mark.faults),
                                          pytest.param(150, "nftables", marks=pytest.mark.faults)])
def test_killed_at_any_moment_it_is_as_before(site, kills, driver):
    net, begin = site
    seed = int(os.environ.get("TEST_SEED", time.time_ns() % 10 ** 6))
    rng = random.Random(seed)
    net.hosts[0].tc("qdisc", "add", "dev", "up0", "root", "handle", "77:", "tbf", "rate", "93mbit", "burst", "17kb", "limit", "123kb")
    net.hosts[0].enter("nft", "add table inet theirs; add chain inet theirs out { type filter hook output priority 0; }; "
                       "add rule inet theirs out oifname up0 meta mark 7 drop")
    state = os.path.join(net.dir, "h1")
    before = snapshot(net, state)
    agent = begin("host", flags=["--replace"], marks=f", driver: {driver}")
    for _ in range(kills):
        for _ in range(rng.randrange(1, 3)):
            if agent.process.poll() is not None:
                agent.start()
            time.sleep(rng.uniform(0, 0.15))  # where it is then is what is tried out
            agent.kill()
        if rng.random() < 0.5:
            with agent.host.popen(os.path.join(BUILD, "duopoly-agent"), "--config", agent.config, "--restore") as restore:
                time.sleep(rng.uniform(0, 0.05))
                restore.kill()
        agent.restore()
        assert not differences(before, snapshot(net, state)), seed
    print(f"\n{kills} kills at random moments (seed {seed}), as before after each")


def test_one_killed_while_it_tries_queues_out_leaves_nothing(site):
    """Before it has noted anything of a port: the interface that it tried them on stands there
    alone."""
    net, begin = site
    state = os.path.join(net.dir, "h1")
    agent = begin("host")
    agent.kill()
    agent.restore()
    before = snapshot(net, state)
    net.hosts[0].ip("link", "add", "duopoly-try", "type", "bridge")
    agent.restore()
    is_as(before, net, state)


def test_what_was_there_before_stays(site):
    """A clsact, a bpf file system and a cgroup of somebody else's."""
    net, begin = site
    state, bpffs, cgroup = (os.path.join(net.dir, name) for name in ("h1", "bpf", "h1"))
    cgroup = os.path.join(cgroup2_root(), net.prefix + "h1")
    net.hosts[0].tc("qdisc", "add", "dev", "up0", "clsact")
    os.mkdir(bpffs)
    run("mount", "-t", "bpf", "none", bpffs)
    os.mkdir(cgroup)
    try:
        before = snapshot(net, state)
        agent = begin("host", marks=f', bpffs: "{bpffs}"')
        runs(agent, 1)
        assert "count-1" in os.listdir(bpffs) and "htb" in net.hosts[0].tc("qdisc", "show")
        agent.kill()
        agent.restore()
        is_as(before, net, state)
        assert not [name for name in os.listdir(bpffs) if not name.endswith(".debug")]
        agent.start()
        runs(agent, 2)
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(10) == 0
        after = snapshot(net, state)
        assert set(differences(before, after)) <= {"state"}, "at its own end, too"
    finally:
        run("umount", bpffs)
        os.rmdir(cgroup)
