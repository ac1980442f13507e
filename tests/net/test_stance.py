"""Stances: how far agents reach into their hosts, changed while they run, by duopolyctl for all, a
rack or one, and on a host itself."""

import os
import re
import subprocess
import time

import pytest

import tcx
from controller import Agent as Fake, Daemon, pb
import kills
from nets import BUILD, Capture, Net, connection, needs_root, pass_bytes, run, wait_for
from testbed.net import answers, system
from scripted import Agent, FIRST, STARTED, Controller

OBSERVE, MARK, ENFORCE = 1, 2, 3


def state_of(agent, stance):
    agent.send(numbered=True, host_state=pb.HostState(stance=stance, queues="up0: htb: it has floors"))


def take(agent):
    """The stance that the agent is told next."""
    while True:
        envelope = agent.receive()
        if envelope.HasField("take_stance"):
            return envelope.take_stance.stance


class Racked(Fake):
    def __init__(self, daemon, name, rack, host):
        super().__init__(daemon, name, host=host)
        self.rack = rack

    def hello(self):
        self.send(hello=pb.Hello(version_min=1, version_max=1, name=self.name, rack=self.rack, boot=1, hello_sequence=self.hello_sequence,
                                 units=[pb.Resources(slots=1)], address=b"\0" * 10 + b"\xff\xff\x0a\x4d" + self.host.to_bytes(2, "big"),
                                 uplink_bps=10 ** 8, downlink_bps=10 ** 8))


def assert_kept(daemon, agents):
    """What was said counts after a kill of the controller, in its order."""
    for words in (("enforce", "--host", "h0"), ("mark", "--rack", "r0"), ("enforce", "--host", "h1")):
        subprocess.run([BUILD + "/duopolyctl", "-s", daemon.socket, "stance", *words], capture_output=True, timeout=10, check=False)
    daemon.kill()
    daemon.start()
    for agent, stance in zip(agents, (MARK, ENFORCE, OBSERVE, OBSERVE)):
        agent.close()
        agent.__init__(daemon, agent.name, agent.rack, agent.host)
        agent.hello_sequence = 2
        agent.hello()
        assert agent.expect("welcome").welcome.stance == stance, agent.name


def test_the_controller_tells_whom_it_concerns_and_who_comes_later():
    daemon = Daemon()
    agents = [Racked(daemon, f"h{i}", f"r{i // 2}", i + 1) for i in range(4)]
    try:
        for agent in agents:
            assert agent.join().stance == ENFORCE
            state_of(agent, ENFORCE)

        def ctl(*words):
            return subprocess.Popen([BUILD + "/duopolyctl", "-s", daemon.socket, "-j", "stance", *words], stdout=subprocess.PIPE, text=True)
        waits = ctl("mark", "--rack", "r1")
        for agent in agents[2:]:
            assert take(agent) == MARK
            state_of(agent, MARK)
        said = answers.read(waits.communicate(timeout=10)[0])
        assert (said["stance"], said["hosts"], said["there"]) == ("mark", 2, 2)
        assert [h["stance"] for h in daemon.ctl("hosts")["hosts"]] == ["enforce", "enforce", "mark", "mark"]
        shown = daemon.ctl("queues")["queues"]
        assert [(h["name"], h["stance"], h["queues"]) for h in shown][:3:2] == [
            ("h0", "enforce", "up0: htb: it has floors"), ("h2", "mark", "up0: htb: it has floors")]
        waits = ctl("observe", "--all")
        for agent in agents:
            assert take(agent) == OBSERVE
            state_of(agent, OBSERVE)
        said = answers.read(waits.communicate(timeout=10)[0])
        assert waits.returncode == 0 and said["there"] == 4 and said["took_ns"] < 10 ** 9
        print(f"\nobserve --all: 4 agents after {said['took_ns'] / 1e6:.1f} ms")
        late = Racked(daemon, "h9", "r1", 9)
        agents.append(late)
        assert late.join().stance == OBSERVE, "who comes later hears it"
        assert_kept(daemon, agents)
        for words in (("--host", "nobody"), ("--rack", "r9")):
            assert "there is no" in daemon.ctl("stance", "mark", *words, expect=5)
        for words in (("sleep", "--all"), ("mark",), ("mark", "--all", "--host", "h1"), ("mark", "--host", "a/b")):
            daemon.ctl("stance", *words, expect=2)
    finally:
        for agent in agents:
            agent.close()
        daemon.remove()


def test_hosts_that_have_not_taken_it_are_counted():
    """Of many the first are named, and how many there are besides."""
    daemon = Daemon()
    agents = [Racked(daemon, "a-host-with-a-long-name-%d" % i, "r0", i + 1) for i in range(6)]
    try:
        for agent in agents:
            agent.join()
            state_of(agent, ENFORCE)
        said = daemon.ctl("stance", "observe", "--all", expect=6)
        assert "a-host-with-a-long-name-3 and 2 more" in said, said
    finally:
        for agent in agents:
            agent.close()
        daemon.remove()


class Site:
    """duopolyd and an agent in one namespace; a task of the agent fetches from the other host."""

    def __init__(self, net, state_kb=0):
        self.net = net
        if state_kb:
            state = os.path.join(net.dir, "h1")
            os.mkdir(state)
            run("mount", "-t", "tmpfs", "-o", f"size={state_kb}k,mode=755", "duopoly-test", state)
        self.h1, self.h2 = net.hosts
        self.before = self.ports()
        self.controller = Controller(self.h2, f"tcp://{self.h2.address}:7000")
        self.agent = Agent(net, self.h1, f"tcp://{self.h2.address}:7000")
        wait_for("the session", lambda: self.controller.of("inventory_end"))
        self.controller.do(f"start {FIRST + 1} 1 0 0 sleep 1 2 5")
        self.controller.wait_phase(FIRST + 1, STARTED)
        self.out = Capture(net.sw, "p1")
        self.task = self.agent.cgroup + f"/{FIRST + 1:016x}/task"

    def ports(self):
        text = "".join(self.h1.tc(*words) for words in (("qdisc", "show"), ("class", "show", "dev", "up0"), ("filter", "show", "dev", "up0", "egress"),
                                                        ("filter", "show", "dev", "up0", "ingress")))
        return re.sub(r"direct_packets_stat \d+|id \d+", "", text)

    def marks(self):
        """Those that the task's packets bear now: 11 is its own."""
        here, there, listener = connection(self.net, self.h1, self.h2, self)
        try:
            port = listener.getsockname()[1]
            self.out.clear()
            pass_bytes(here, there, 20_000)
            return {p.dscp for p in self.out.read() if p.dport == port and p.payload}
        finally:
            for s in (here, there, listener):
                s.close()

    def inside(self):
        from nets import Cgroup
        return Cgroup(self.task).inside()

    def say(self, word):
        begin = time.monotonic()
        with self.h1.popen(BUILD + "/duopoly-agent", "--config", self.agent.config, "--stance", word, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True) as p:
            out = p.communicate(timeout=20)[0]
        assert p.returncode == 0, out
        return time.monotonic() - begin

    def has(self):
        return "htb" in self.ports(), tcx.hooked(self.h1, "up0") == tcx.BOTH

    def end(self):
        self.out.close()
        if self.agent.process.poll() is None:
            self.agent.kill()
        self.agent.restore()
        self.controller.stop()


@pytest.fixture
def site(request):
    net = Net(2)
    made = None
    try:
        made = Site(net, getattr(request, "param", 0))
        yield made
    finally:
        try:
            if made:
                made.end()
        finally:
            net.remove()


@needs_root
def test_a_host_reaches_no_further_than_it_is_told(site):
    assert site.has() == (True, True) and site.marks() == {11}
    enforced = site.ports()
    took = site.say("observe")
    assert site.ports() == site.before and site.marks() == {0}, "nothing of ours is on the port"
    print(f"\nduopoly-agent --stance observe: {1000 * took:.0f} ms")
    assert took < 1
    assert [m["stance"] for m in site.controller.of("host_state")][-1] == OBSERVE
    site.say("mark")
    assert site.has() == (False, True)
    wait_for("marks", lambda: site.marks() == {11})
    site.controller.do("stance 1")
    wait_for("the controller's word", lambda: site.ports() == site.before)
    site.say("enforce")
    assert site.ports() == site.before, "the lower one of the two is in force"
    site.controller.do("stance 3")
    wait_for("our queues", lambda: site.ports() == enforced)
    wait_for("marks", lambda: site.marks() == {11})


@needs_root
def test_the_stop_works_without_controller_and_without_agent_and_lasts(site):
    site.controller.process.kill()
    assert site.say("observe") < 1 and site.ports() == site.before
    site.say("enforce")
    assert site.has() == (True, True)
    site.agent.kill()
    assert site.say("observe") < 1 and site.ports() == site.before, "what a killed agent left"
    site.agent.start()
    wait_for("the agent to run", lambda: "manages" in open(site.agent.log).read().split("in force")[-1])
    assert site.ports() == site.before, "the next agent begins as it was told"
    site.say("enforce")
    assert site.has() == (True, True)


def fill(folder):
    """Leaves no room at all there."""
    with open(os.path.join(folder, "filled"), "wb", buffering=0) as filled:
        try:
            while True:
                filled.write(bytes(4096))
                filled.flush()
        except OSError:
            pass


@needs_root
@pytest.mark.parametrize("site", [512], indirect=True, ids=["of 512 KiB"])
def test_the_stop_works_on_a_full_disk(site):
    """By the operator without a controller, by the controller, and with what a killed agent
    left."""
    fill(site.agent.state)
    site.controller.do("stance 1")
    wait_for("the controller's word", lambda: site.ports() == site.before)
    os.unlink(site.agent.state + "/filled")
    site.controller.do("stance 3")
    wait_for("our queues", lambda: site.has() == (True, True))
    fill(site.agent.state)
    site.controller.process.kill()
    took = site.say("observe")
    assert site.ports() == site.before
    print(f"\nduopoly-agent --stance observe on a full disk without a controller: {1000 * took:.0f} ms")
    os.unlink(site.agent.state + "/filled")
    site.say("enforce")
    assert site.has() == (True, True)
    fill(site.agent.state)
    site.agent.kill()
    site.say("observe")
    assert site.ports() == site.before, "what a killed agent left"
    os.unlink(site.agent.state + "/filled")


class Many(kills.Site):
    hosts = 8


@needs_root
def test_observe_all_stops_real_agents_within_a_second(begin):
    site = begin(kills.REAL, Many)

    def queues():
        """On how many hosts ours stand."""
        return sum("htb" in system.run(*site.net.enter(f"w{i}", "tc", "qdisc", "show")) for i in range(1, site.hosts + 1))
    site.submit(kills.job("transfers", 5, 20_000_000, maps=site.hosts))
    site.wait_running(site.hosts, stage=1)
    marks = site.marks("w1")
    site.wait("marks", marks.flows)
    assert queues() == site.hosts
    said = site.running.ask("stance", "observe", "--all")
    stopped = time.time()
    assert said["there"] == said["hosts"] >= site.hosts and queues() == 0
    assert {row["stance"] for row in site.running.ask("hosts")["hosts"]} == {"observe"}
    kills.until(stopped + 1)
    assert not marks.between(stopped + 0.2, time.time(), True) and marks.between(stopped + 0.2, time.time(), False)
    print(f"\nobserve --all: {said['there']} agents under load after {said['took_ns'] / 1e6:.1f} ms")
    assert said["took_ns"] < 10 ** 9
