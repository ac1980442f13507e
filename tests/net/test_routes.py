"""DCTCP towards members by a metric of their routes: hostagent/routes, through duopoly-agent."""

import json
import os
import re
import socket
import subprocess

import pytest

from nets import BUILD, Net, needs_root, wait_for

pytestmark = needs_root
FAR = "192.0.2.0/24"


@pytest.fixture
def net():
    made = Net(2)
    try:
        yield made
    finally:
        made.remove()


class Agent:
    """duopoly-agent on a host, with no controller."""

    def __init__(self, net, host):
        self.ns, self.folder = host, f"{net.dir}/{host.name}"
        group = net.cgroup("agent-" + host.name)
        os.mkdir(self.folder)
        with open(self.folder + "/agent.yaml", "w") as file:
            file.write(f"""name: a
state: {self.folder}/state
controller: tcp://127.0.0.1:7
units: [{{slots: 1}}]
link: {{uplink: up0, rate: 100 Mbps}}
queues: {{dctcp: yes}}
marks: {{members: [10.99.0.0/24, "fd99::/64", {FAR}]}}
tasks: {{cgroup: {os.path.basename(group.path)}, commands: [{{name: x, argv: [/bin/true]}}]}}
""")

    def run(self, *words):
        return subprocess.run(["nsenter", "--net=/run/netns/" + self.ns.name, BUILD + "/duopoly-agent", "--config", self.folder + "/agent.yaml",
                               *words], capture_output=True, text=True, check=False)

    def start(self):
        self.log = open(self.folder + "/agent.log", "a+")
        self.process = self.ns.popen(BUILD + "/duopoly-agent", "--config", self.folder + "/agent.yaml", stderr=self.log)
        wait_for("the agent", lambda: "manages" in self.said())

    def said(self):
        assert self.process.poll() is None, open(self.log.name).read()
        return open(self.log.name).read()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def routes(host):
    return host.ip("-d", "route", "show") + host.ip("-d", "-6", "route", "show")


def with_dctcp(host):
    return {line.split()[1] for line in routes(host).splitlines() if "congctl dctcp" in line}


@pytest.fixture
def agents(net):
    made = [Agent(net, host) for host in net.hosts]
    try:
        yield made
    finally:
        for agent in made:
            if hasattr(agent, "process") and agent.process.poll() is None:
                agent.kill()
            agent.run("--restore")
            subprocess.run(["umount", agent.folder + "/state/bpf"], capture_output=True, check=False)


def used(net, address, family=socket.AF_INET):
    """The congestion control of a connection that asks for none."""
    here, there, listener = None, None, None
    with net.hosts[1].inside():
        listener = socket.create_server((address, 0), family=family)
    with net.hosts[0].inside():
        here = socket.create_connection(listener.getsockname()[:2], 10)
    there, _ = listener.accept()
    found = here.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    for sock in (here, there, listener):
        sock.close()
    return found


def planned(agent):
    return {change["where"] for change in json.loads(agent.run("--plan", "--json").stdout)["changes"] if change["kind"] == "route"}


@pytest.mark.guest("uml")
def test_connections_to_members_use_dctcp_and_no_others(net, agents):
    agent, other = agents
    h1, other_before = net.hosts[0], routes(net.hosts[1])
    h1.ip("route", "add", FAR, "via", "10.99.0.2", "metric", "7", "mtu", "1400", "advmss", "1000")
    h1.ip("route", "add", "192.0.2.64/26", "dev", "up0", "congctl", "reno")
    h1.ip("route", "add", "default", "via", "10.99.0.2")
    before, plain = routes(h1), used(net, "10.98.0.2")
    assert plain != "dctcp"
    ours = {"10.99.0.0/24", "fd99::/64", FAR}
    assert planned(agent) == ours and routes(h1) == before
    agent.start()
    assert with_dctcp(h1) == ours and planned(agent) == set()
    assert used(net, "10.99.0.2") == "dctcp-reno", "the other end does not answer to its ECN yet"
    other.start()
    assert used(net, "10.99.0.2") == used(net, "fd99::2", socket.AF_INET6) == "dctcp"
    assert used(net, "10.98.0.2") == plain
    assert re.sub(" congctl dctcp", "", routes(h1)).split() == before.split(), "all else stays"
    agent.kill()
    agent.start()  # knows them as its own
    agent.kill()
    assert agent.run("--restore").returncode == 0
    assert routes(h1) == before and not os.path.exists(agent.folder + "/state/routes")
    other.process.terminate()
    assert other.process.wait(30) == 0
    assert routes(net.hosts[1]) == other_before


@pytest.mark.guest("uml")
def test_what_the_owner_changed_stays_and_what_comes_back_is_taken_up(net, agents):
    agent, h1 = agents[0], net.hosts[0]
    h1.ip("route", "add", FAR, "via", "10.99.0.2")
    agent.start()
    assert FAR in with_dctcp(h1)
    h1.ip("route", "replace", FAR, "via", "10.99.0.3", "mtu", "1300")
    h1.ip("route", "add", FAR, "via", "10.99.0.2", "metric", "5", "congctl", "dctcp")
    assert agent.run("--restore").returncode != 0, "one runs"
    h1.ip("link", "set", "up0", "down")
    h1.ip("link", "set", "up0", "up")
    wait_for("the new route of the interface", lambda: "10.99.0.0/24" in with_dctcp(h1))
    h1.ip("route", "add", FAR, "via", "10.99.0.2", "congctl", "dctcp")
    agent.kill()
    assert agent.run("--restore").returncode == 0
    assert with_dctcp(h1) == {FAR}, "which its owner wants so"


def test_a_kernel_without_it_is_told_and_loses_nothing(net, agents):
    """Where it has it, the routes come back all the same."""
    agent, before = agents[0], routes(net.hosts[0])
    agent.start()
    assert "tcp_dctcp" in agent.said() or with_dctcp(net.hosts[0])
    agent.kill()
    assert agent.run("--restore").returncode == 0
    assert routes(net.hosts[0]) == before


@pytest.mark.parametrize("put,instead,why", [
    ("dctcp: yes", "dctcp: yes, ecn: no", "needs queues that mark"),
    ('members: [10.99.0.0/24, "fd99::/64", 192.0.2.0/24]', "members: []", "needs marks.members")])
def test_what_makes_no_sense_is_refused(net, agents, put, instead, why):
    agent, before = agents[0], routes(net.hosts[0])
    with open(agent.folder + "/agent.yaml", "r+") as file:
        text = file.read().replace(put, instead)
        file.seek(0)
        file.truncate()
        file.write(text)
    said = agent.run("--check")
    assert instead in text and said.returncode == 1 and why in said.stderr and said.stderr.count("\n") == 1
    assert routes(net.hosts[0]) == before
