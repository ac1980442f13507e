"""duopoly on Mininets of others: the examples, mn's own tests, what is found and what is refused; nothing is left behind.

Each runs in a network namespace of its own with an Open vSwitch of its own."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from testbed.net import attached, mininets, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TREE, os.environ.get("BUILD", "build"))
MININET = os.path.join(TREE, "testbed", "mininet")
PYTHON = "/usr/bin/python3"
SECONDS = 120

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(subprocess.run([PYTHON, "-c", "import mininet"], capture_output=True, check=False).returncode != 0, reason="mininet is not installed"),
    pytest.mark.skipif(not shutil.which("brctl"), reason="bridge-utils is not installed"),
]
CHROOT = r"""
mount -t tmpfs tmpfs "$1"; mkdir "$1/root"
for entry in /*; do
    if [ -L "$entry" ]; then cp -a "$entry" "$1/root"; elif [ -d "$entry" ]; then mkdir "$1/root$entry"; mount --rbind "$entry" "$1/root$entry"; fi
done
folder=$1; shift; exec chroot "$folder/root" "$@"
"""


@pytest.fixture(autouse=True)
def whole_root(request):
    if not system.root_is_mount() and "in_a_chroot" not in request.node.name:
        pytest.skip(mininets.NO_MOUNT)


@pytest.fixture
def jobs(tmp_path):
    path = str(tmp_path / "jobs.jsonl")
    subprocess.run([os.path.join(BUILD, "duopoly-workload"), "generate", "--jobs=3", "--hosts=4", "--link=50M", "--scale=100", "--output=" + path], check=True)
    return path


def alone(folder, *words):
    """Runs a command for Mininet; its end and words. What it started ends with it."""
    return subprocess.run([PYTHON, "-B", "-m", "testbed.mininet.alone", *words], cwd=str(folder), capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": TREE, "BUILD": BUILD}, timeout=SECONDS, check=False)


def script(folder, text):
    path = str(folder / "script.py")
    with open(path, "w") as out:
        out.write("from mininet.net import Mininet\nfrom mininet.link import TCLink\nfrom mininet.nodelib import LinuxBridge\n"
                  "from mininet.node import Node\nfrom testbed.mininet import Duopoly\nfrom testbed.net import system, topos\n" + text)
    return alone(folder, PYTHON, "-B", path)


def test_the_whole_script_of_the_page_runs_as_it_stands(jobs, tmp_path):
    with open(os.path.join(TREE, "docs", "tutorial", "mininet.md"), encoding="utf-8") as page:
        text = re.findall(r"```python\n(.*?)```", page.read(), re.S)[1]
    assert os.path.dirname(jobs) == str(tmp_path) and "jobs.jsonl" in text
    (tmp_path / "office.py").write_text(text.replace("DUOPOLY_TREE", TREE))
    done = alone(tmp_path, PYTHON, "-B", "office.py")
    assert done.returncode == 0, done.stderr
    assert "4 ports, 50 Mb/s" in done.stdout and " 0 wrong" in done.stdout, done.stdout


@pytest.mark.parametrize("name, hops, found", [
    ("star", 1, "s1 (LinuxBridge): 3 ports, 50 Mb/s, hosts h1 h2 h3"),
    ("leafspine", 3, "l2 (Router): 4 ports, 25/50 Mb/s, hosts w3 w4"),
    ("plain", 2, "s2 (LinuxBridge): 3 ports, 50/100 Mb/s, hosts h3 h4"),
])
def test_an_example_replays_and_every_packet_is_explained(tmp_path, jobs, name, hops, found):
    done = alone(tmp_path, PYTHON, "-B", os.path.join(MININET, "examples", name + ".py"), jobs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found in done.stdout
    assert re.search(r"^[1-9][0-9]* payload packets checked: .* 0 wrong, 0 unattributed", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^hop by hop .* 0 unexplained;", done.stdout, re.MULTILINE) and "out hop %d" % hops in done.stdout
    assert os.listdir(tmp_path) == ["jobs.jsonl"], "no logs are left in the working folder"


def test_mn_runs_it_as_a_test_of_any_topology(tmp_path, jobs):
    mn = shutil.which("mn")
    done = subprocess.run([PYTHON, "-B", "-m", "testbed.mininet.alone", PYTHON, mn, "--custom", os.path.join(MININET, "custom.py"), "--topo", "tree,2",
                           "--switch", "lxbr", "--link", "tc,bw=50", "--controller", "none", "--test", "duopoly"],
                          cwd=str(tmp_path), capture_output=True, text=True, timeout=SECONDS, check=False,
                          env={**os.environ, "PYTHONPATH": TREE, "BUILD": BUILD, "DUOPOLY": "jobs=%s policy=duopoly" % jobs})
    assert done.returncode == 0 and "0 unexplained;" in done.stdout, done.stdout + done.stderr
    assert os.listdir(tmp_path) == ["jobs.jsonl"]


@pytest.mark.skipif(not shutil.which("ovs-vswitchd"), reason="openvswitch-switch is not installed")
@pytest.mark.parametrize("kind, words, rule", [("OVSBridge", "", ""), ("OVSSwitch", ", failMode='secure'", "net['s1'].dpctl('add-flow', 'actions=normal')")],
                         ids=["bridge", "told-by-another"])
def test_an_open_vswitch_outside_the_kernel(tmp_path, jobs, kind, words, rule):
    """It loses some packets between its port and its queue, uncounted: those alone may be unexplained."""
    done = script(tmp_path, """
from mininet.node import OVSBridge, OVSSwitch
from mininet.topo import SingleSwitchTopo
net = Mininet(topo=SingleSwitchTopo(3), switch=lambda name, **words: %s(name, datapath="user"%s, **words), controller=None)
net.start()
%s
with Duopoly(net, rate="50M") as d:
    d.replay(%r)
net.stop()
""" % (kind, words, rule, jobs))
    assert done.returncode == 0 and "s1 (%s): 3 ports, 50 Mb/s, hosts h1 h2 h3" % kind in done.stdout, done.stdout + done.stderr
    assert re.search(r"^[1-9][0-9]* payload packets checked: .* 0 wrong, 0 unattributed", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^hop by hop .* (0 unexplained;|unexplained \(0 came in nowhere, 0 changed their mark, [0-9]+ vanished, 0 are not)", done.stdout,
                     re.MULTILINE), done.stdout


def test_the_network_is_as_it_was_afterwards(tmp_path):
    done = script(tmp_path, """
def state():
    return [node.cmd("tc qdisc show; tc class show; ethtool -k %s; ip -br address; sysctl net.ipv4.tcp_congestion_control" % one)
            for node in [*net.hosts, *net.switches] for one in node.intfNames() if one != "lo"]
def links_up():  # the kernel tells of a carrier, and gives its address, in its own time
    said = [line for node in [*net.hosts, *net.switches] for line in node.cmd("ip -br address").splitlines() if "@" in line]
    return all(" UP " in line and " fe80:" in line for line in said)
net = Mininet(topo=topos.Star(hosts=2, bps=20e6), controller=None)
net.start()
system.wait_for(links_up, 30, "all links being up")
before = state()
with Duopoly(net) as d:
    assert d.ask("status")["hosts_up"] == 2
    assert "htb" in net["s1"].cmd("tc qdisc show")
    assert "cubic" in net["w1"].cmd("sysctl net.ipv4.tcp_congestion_control")
assert state() == before, (before, state())
print("as it was")
net.stop()
""")
    assert done.returncode == 0 and "as it was" in done.stdout, done.stdout + done.stderr


def test_switches_whose_names_begin_alike_are_told_apart(tmp_path):
    done = script(tmp_path, """
net = Mininet(controller=None)
switches = [net.addSwitch(name, cls=LinuxBridge) for name in ("s1", "s1-b", "s1-eth", "s10")]
for i, switch in enumerate(switches):
    net.addLink(net.addHost("h%d" % i), switch, cls=TCLink, bw=50)
for one, other in zip(switches, switches[1:]):
    net.addLink(one, other, cls=TCLink, bw=50)
net.build()
net.start()
with Duopoly(net) as d:
    assert d.ask("status")["hosts_up"] == 4
    for switch in switches:
        shown = [line for line in switch.cmd("tc qdisc show").splitlines() if "htb d00:" in line]
        assert len(shown) == len(switches) + 6, shown
    print("told apart")
net.stop()
""")
    assert done.returncode == 0 and "told apart" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("names, patterns", [
    (["s1-eth1", "s1-eth2", "s1-eth3"], ["s1-eth[1-3]"]),
    (["s1-eth9", "s1-eth10", "s1-eth12", "up"], ["up", "s1-eth[9-10]", "s1-eth12"]),
    (["s1-eth01", "s1-eth02", "s1-eth1"], ["s1-eth0[1-2]", "s1-eth1"]),
    (["eth0"], ["eth0"]),
])
def test_patterns_name_ports_exactly(names, patterns):
    assert attached.exactly(names) == patterns


@pytest.mark.parametrize("text, words", [
    ("net = Mininet(controller=None)\nh = [net.addHost('h%d' % i) for i in (1, 2)]\ns = [net.addSwitch('s%d' % i, cls=LinuxBridge) for i in (1, 2, 3)]\n"
     "for a, b in ((h[0], s[0]), (h[1], s[1]), (s[0], s[1]), (s[1], s[2]), (s[2], s[0])): net.addLink(a, b)\nnet.build()\n",
     "closes a loop of switches without a spanning tree"),
    ("net = Mininet(controller=None)\nnet.addLink(net.addHost('h1', ip=None), net.addSwitch('s1', cls=LinuxBridge))\nnet.build()\n", "h1 has no address"),
    ("net = Mininet(controller=None)\ns = net.addSwitch('s1', cls=LinuxBridge)\n"
     "for i in (1, 2): net.addLink(net.addHost('h%d' % i, ip='10.%d.0.1/16' % i), s)\nnet.build()\n", "which is in another prefix"),
    ("net = Mininet(topo=topos.Star(hosts=2, bps=1e7), controller=None)\nnet['w1'].defaultIntf().params['delay'] = '5ms'\n",
     "w1-eth0 has delay=5ms, which is netem's"),
    ("net = Mininet(controller=None)\nnet.addLink(net.addHost('c'), net.addSwitch('s1', cls=LinuxBridge))\nnet.build()\n", "no node may be called \"c\""),
    ("net = Mininet(controller=None, build=False)\n", "this Mininet was not started"),
    ("net = Mininet(topo=topos.Star(hosts=2, bps=1e7), controller=None)\nrate = '0'\n", "rate is \"0\""),
    ("net = Mininet(topo=topos.Star(hosts=2, bps=1e7), controller=None)\npolicy = 'best'\n", "unknown policy \"best\""),
])
def test_what_cannot_be_is_one_sentence(tmp_path, text, words):
    done = script(tmp_path, "rate, policy = '100M', 'joint'\n" + text + "with Duopoly(net, rate=rate, policy=policy):\n    print('on')\n")
    assert done.returncode == 1 and "on\n" not in done.stdout, done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("duopoly: ")]
    assert len(said) == 1 and words in said[0] and "Traceback" not in done.stderr, done.stderr


def test_in_a_chroot_it_is_one_sentence(tmp_path):
    """Mininet would wait there forever: its mnexec cannot make / private."""
    into = ["unshare", "--mount", "sh", "-c", CHROOT, "sh", str(tmp_path)] if system.root_is_mount() else []
    done = subprocess.run([*into, "sh", "-c", 'cd "$0" && exec "$@"', TREE, PYTHON, "-B", "-m", "testbed.mininet.alone", "true"],
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 1 and done.stderr.splitlines() == ["alone: " + mininets.NO_MOUNT], done.stdout + done.stderr


def test_another_python_is_told_what_is_missing():
    code = "import sys\nsys.modules['mininet'] = None\nfrom testbed.net import mininets\nmininets.Star(None, 2, 10**7)\n"
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=TREE, capture_output=True, text=True, check=False)
    assert "has no mininet: make deps-mininet" in done.stderr.splitlines()[-1]
