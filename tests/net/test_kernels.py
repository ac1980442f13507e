"""What a machine's own kernel may lack: queues that mark, prio, ets, DCTCP, VLANs, a data path of Open vSwitch. Run in guests (tests/guest)."""

import json
import os
import shutil

import pytest

from nets import BUILD, Capture, connection, needs_root, pass_bytes, run, wait_for
from test_queues import CLASSES, Pump, dscp, rose

pytestmark = needs_root
LINK = 3_000_000  # as much as passes through a guest without KVM


@pytest.fixture
def pump():
    made = Pump()
    try:
        yield made
    finally:
        made.stop()


def counted(ns, dev):
    """Of a port's qdiscs: packets that they dropped, and that they marked."""
    shown = json.loads(ns.tc("-s", "-j", "qdisc", "show", "dev", dev))
    return sum(q["drops"] for q in shown), sum(q.get("marked", 0) for q in shown)


def congestion_experienced(host):
    """Packets with CE that came to a host."""
    with host.inside(), open("/proc/thread-self/net/netstat") as file:
        names, values = [line.split() for line in file if line.startswith("IpExt:")]
    return int(values[names.index("InCEPkts")])


class Fetchers:
    """Tasks on h3 fetch from h1 and h2, and their levels meet at the switch's port to h3."""

    def __init__(self, net, pump, control):
        self.net, self.pump, self.control, self.target = net, pump, control, net.hosts[2]
        self.root = net.cgroup("root")
        self.here = net.agent(self.target, cgroup=self.root, levels=0)
        begun(self.here, *(net.agent(host, cgroup=net.cgroup(host.name), levels=0) for host in net.hosts[:2]))

    def fetch(self, level, source):
        """The stream that a task of this level fetches."""
        task = self.net.cgroup(f"level{level}", self.root)
        self.here.do(f"levels {task.id} {level} {level}")
        opened, accepted, listener = connection(self.net, self.target, source, task, control=self.control)
        listener.close()
        return self.pump.add(accepted, opened)

    def has_the_link(self, high, low):
        """low: one stream, or several."""
        lows = [low] if isinstance(low, int) else low

        def taken():
            before = sum(self.pump.got[stream] for stream in lows)
            rate = self.pump.rate_bps(high, 1)
            return rate > 0.85 * LINK and (sum(self.pump.got[stream] for stream in lows) - before) * 8 < 0.1 * LINK
        wait_for("the higher level to have the link", taken, 60)


def begun(*agents):
    for agent in agents:
        assert agent.opened.startswith("ok"), agent.opened
        agent.do("lease_ms 600000")


@pytest.mark.parametrize("driver", [pytest.param(driver, marks=pytest.mark.guest(*kernels))
                                    for driver, kernels in (("htb", ("uml", "virtual")), ("prio", ("uml", "virtual")), ("ets", ("qemu", "virtual")))])
def test_dctcp_hears_each_mark_and_loses_nothing(net, pump, driver):
    """Also where a higher level takes the link, which it gets.

    Of one slow stream TCP lets no more than some packets wait below it, in all queues on this machine (TSQ): eight fill one until it marks."""
    fetchers = Fetchers(net, pump, b"dctcp")
    begun(net.agent(net.sw, ports="p3", role="switch", link_bps=LINK, queues=driver, ecn=True))
    lows = [fetchers.fetch(4, net.hosts[0]) for _ in range(8)]
    wait_for("the link", lambda: pump.rate_bps(lows, 0.5) > 0.85 * LINK, 60)
    wait_for("marks", lambda: counted(net.sw, "p3")[1] > 0, 60)
    high = fetchers.fetch(1, net.hosts[1])
    fetchers.has_the_link(high, lows)
    for stream in (*lows, high):
        pump.pause(stream)
    wait_for("the receiver to have all that the port marked",
             lambda: counted(net.sw, "p3")[1] == congestion_experienced(fetchers.target), 60)
    drops, marked = counted(net.sw, "p3")
    assert marked > 10 and drops == 0


class OpenVSwitch:
    """In the place of the bridge in `sw`: real servers with a folder of their own, and the data path of the kernel (system) or none (netdev)."""

    def __init__(self, net, datapath):
        self.folder, self.database = net.dir, f"unix:{net.dir}/db.sock"
        self.env = dict(os.environ, OVS_RUNDIR=net.dir, OVS_LOGDIR=net.dir)
        self.began = []
        net.sw.ip("link", "delete", "br0")
        run("ovsdb-tool", "create", net.dir + "/conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        self.start(net.sw, "ovsdb-server", net.dir + "/conf.db", "--remote=p" + self.database, "--unixctl=database.ctl")
        wait_for("the database", lambda: os.path.exists(net.dir + "/db.sock"), 30)
        self.vsctl("--no-wait", "init")
        self.start(net.sw, "ovs-vswitchd", self.database, "--unixctl=vswitchd.ctl")
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=" + datapath,
                   *(word for port in ("p1", "p2", "p3") for word in ("--", "add-port", "br0", port)))

    def start(self, ns, *argv):
        with open(f"{self.folder}/{os.path.basename(argv[0])}.log", "w") as log:
            self.began.append(ns.popen(*argv, env=self.env, stdout=log, stderr=log))

    def vsctl(self, *words):
        return run("ovs-vsctl", "--db=" + self.database, *words)

    def flows(self):
        return run("ovs-ofctl", "--no-stats", "dump-flows", f"unix:{self.folder}/br0.mgmt")

    def end(self):
        for process in reversed(self.began):
            process.kill()
            process.wait()


@pytest.fixture
def ovs(net, request):
    if not shutil.which("ovs-vswitchd"):
        pytest.skip("no Debian package openvswitch-switch")
    if request.param == "system":
        run("modprobe", "openvswitch")
    for host in net.hosts:
        host.enter("ethtool", "-K", "up0", "tx", "off")  # a data path outside the kernel takes checksums as they are
    made = OpenVSwitch(net, request.param)
    try:
        yield made
    finally:
        made.end()


def begin_switch_agent(net, ovs, link_bps, driver="ovs", link=""):
    """duopoly-agent, role switch, beside it: ended by ovs.end()."""
    config = net.dir + "/switch.yaml"
    where = f', at: "{ovs.database}", bridge: br0' if driver == "ovs" else ""
    with open(config, "w") as file:
        file.write(f"""name: s
controller: tcp://10.99.0.2:7000
state: {net.dir}/switch
role: switch
marks: {{members: [10.99.0.0/24]}}
link: {{rate: {link_bps // 1_000_000} Mbps{link}}}
switch: {{driver: {driver}{where}}}
""")
    ovs.start(net.sw, BUILD + "/duopoly-agent", "--config", config)

    def said():
        with open(net.dir + "/duopoly-agent.log") as log:
            return log.read()
    wait_for("queues", lambda: "linux-htb" in ovs.vsctl("list", "qos") if driver == "ovs" else "manages 3 ports" in said(), 60)


@pytest.mark.parametrize("ovs,link,driver", [
    pytest.param("system", "", "ovs", marks=pytest.mark.guest("uml")),
    pytest.param("system", ", bridge: ovs-system", "linux", marks=pytest.mark.guest("uml")),
    pytest.param("netdev", ', ports: ["p[1-3]"]', "linux", marks=pytest.mark.guest("host"))], indirect=["ovs"])
def test_an_open_vswitch_is_strict_by_dscp(net, pump, ovs, link, driver):
    """By its own queues, or by the kernel's on its ports, which leave all of Open vSwitch alone."""
    flows = ovs.flows()
    try:
        begin_switch_agent(net, ovs, LINK, driver, link)
        fetchers = Fetchers(net, pump, b"cubic")
        low = fetchers.fetch(4, net.hosts[0])
        wait_for("the link", lambda: pump.rate_bps(low, 0.5) > 0.85 * LINK, 60)
        high = fetchers.fetch(1, net.hosts[1])
        fetchers.has_the_link(high, low)
        assert driver == "ovs" or (ovs.flows(), ovs.vsctl("list", "qos")) == (flows, "")
    except AssertionError:
        print(open(net.dir + "/duopoly-agent.log").read(), ovs.vsctl("list", "qos"), net.sw.tc("-s", "class", "show", "dev", "p3"))
        raise


@pytest.mark.guest("uml")
@pytest.mark.parametrize("reorder", ["on", "off"], ids=["tag beside the frame", "tag in the frame"])
def test_what_leaves_by_a_vlan_is_marked_and_classified(net, reorder):
    h1, h2, _ = net.hosts
    for number, host in enumerate((h1, h2), 1):
        host.ip("link", "add", "link", "up0", "name", "up0.7", "type", "vlan", "id", "7", "reorder_hdr", reorder)
        host.ip("link", "set", "up0.7", "up")
        host.ip("addr", "add", f"10.97.0.{number}/24", "dev", "up0.7")
    roots = [net.cgroup("root1"), net.cgroup("root2")]
    task = net.cgroup("task", roots[0])
    agents = [*(net.agent(host, cgroup=root, members="10.97.0.0/24") for host, root in zip((h1, h2), roots)),
              net.agent(net.sw, ports="p1,p2", role="switch", members="10.97.0.0/24")]
    begun(*agents)
    agents[0].do(f"levels {task.id} 2 2")
    here, there, listener = connection(net, h1, h2, task, address="10.97.0.2")
    arrived = {h1: Capture(h1, "up0.7"), h2: Capture(h2, "up0.7")}
    for source, target, sender, receiver, port in ((here, there, h1, h2, "p2"), (there, here, h2, h1, "p1")):
        assert rose(sender, "up0", lambda: pass_bytes(source, target, 50_000)) == {CLASSES[3]}
        assert rose(net.sw, port, lambda: pass_bytes(source, target, 50_000)) == {CLASSES[3]}
        data = [p for p in arrived[receiver].read() if p.payload]
        assert data and {p.dscp for p in data} == {dscp(2)} and all(p.checksum_right for p in data)
    for sock in (here, there, listener):
        sock.close()
