"""README's lines for a Mininet leave nothing behind, whatever ends the script, nor does what keeps
a script's switches apart; and what the latter demands. Each script runs in a network namespace that
the test made."""

import os
import re
import shutil
import signal
import subprocess
import uuid

import pytest

from testbed.net import instance as instances
from testbed.net import mininets, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TREE, os.environ.get("BUILD", "build"))
PYTHON = "/usr/bin/python3"
SECONDS = 120
LEFT_SECONDS = 30
BEFORE = """
from mininet.net import Mininet
from mininet.node import OVSBridge
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo
net = Mininet(topo=SingleSwitchTopo(3), switch=%s, controller=None)
"""
STAR = BEFORE % "LinuxBridge"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(not shutil.which("mnexec"), reason="mininet is not installed"),
    pytest.mark.skipif(not shutil.which("brctl"), reason="bridge-utils is not installed"),
    pytest.mark.skipif(not system.root_is_mount(), reason=mininets.NO_MOUNT),
]


def readmes_lines():
    with open(os.path.join(TREE, "README.md"), encoding="utf-8") as readme:
        return re.search(r"^```python\n(.*?)^```$", readme.read(), re.MULTILINE | re.DOTALL).group(1).replace("DUOPOLY_TREE", TREE)


class Script:
    """A script in a folder and a network namespace of its own; what it starts is known by a
    variable that all inherit."""

    def __init__(self, folder):
        self.folder, self.mark = folder, "DUOPOLY_TEST=" + uuid.uuid4().hex
        self.space = "dmn-" + self.mark[-8:]
        self.child, self.tokens = None, set()
        system.run("ip", "netns", "add", self.space)
        self.enter("ip", "link", "set", "lo", "up")

    def enter(self, *words):
        return system.run("nsenter", "--net=/run/netns/" + self.space, *words)

    def start(self, *words, path=os.environ["PATH"], **variables):
        name, value = self.mark.split("=")
        environment = {**os.environ, "BUILD": BUILD, "PYTHONPATH": TREE, "PATH": path, name: value, **variables}
        self.child = subprocess.Popen(["nsenter", "--net=/run/netns/" + self.space, *words], cwd=self.folder, env=environment, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, text, around=(), **options):
        with open(self.folder / "script.py", "w") as out:
            out.write(text)
        self.start(PYTHON, "-B", *around, *([PYTHON, "-B"] if around else []), "script.py", **options)

    def ended(self):
        """(exit status, its words)."""
        said = self.child.communicate(timeout=SECONDS)[0]
        return self.child.returncode, said

    def processes(self):
        """{pid: name} of what it started and still lives."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as environ, open("/proc/%s/comm" % pid) as name:
                    if self.mark.encode() in environ.read() and system.start_time(int(pid)) is not None:
                        found[int(pid)] = name.read().strip()
            except OSError:
                continue
        return found

    def wait_for(self, name):
        """Until a program of that name runs; then what testbeds it has made are known."""
        def runs():
            if self.child.poll() is not None:
                raise AssertionError("ended with %d: %s" % self.ended())
            return name in self.processes().values()
        system.wait_for(runs, SECONDS, "the start of " + name)
        mine = self.processes()
        self.tokens = {one.state["token"] for one in instances.instances() if one.state["owner"] and one.state["owner"][0] in mine}
        assert self.tokens

    def left(self, files=()):
        """What of it is still there, in words."""
        links = re.findall(r"^\d+: ([^:@]+)", self.enter("ip", "-o", "link"), re.MULTILINE)
        made = set(os.listdir(self.folder)) - {"script.py", "jobs.jsonl", *files}
        testbeds = {one.directory for one in instances.instances() if one.state["token"] in self.tokens}
        return ["process %d %s" % one for one in self.processes().items()] + ["link " + one for one in links if one != "lo"] + sorted(made | testbeds)

    def check_nothing_left(self, **options):
        try:
            system.wait_for(lambda: not self.left(**options), LEFT_SECONDS, "the end of all")
        except system.Failure:
            pytest.fail("left behind: %s" % ", ".join(self.left(**options)))

    def remove(self):
        system.stop([system.identify(pid) for pid in self.processes()])
        instances.end_abandoned()
        system.run("ip", "netns", "del", self.space)


@pytest.fixture
def script(tmp_path):
    made = Script(tmp_path)
    yield made
    made.remove()


def jobs(script, count):
    subprocess.run([os.path.join(BUILD, "duopoly-workload"), "generate", "--jobs=%d" % count, "--hosts=4", "--link=50M", "--scale=100",
                    "--output=%s" % (script.folder / "jobs.jsonl")], check=True)


ALONE = ("-m", "testbed.mininet.alone")
AROUND = pytest.mark.parametrize("around", [(), ALONE], ids=["plain", "alone"])


@AROUND
def test_readmes_lines_leave_nothing_at_their_end(script, around):
    jobs(script, 3)
    script.run(STAR + readmes_lines(), around)
    status, said = script.ended()
    assert status == 0 and re.search("^joint +3 jobs in", said, re.MULTILINE) and " 0 unexplained;" in said, said
    script.check_nothing_left()


@AROUND
@pytest.mark.parametrize("number, to_all", [(signal.SIGINT, True), (signal.SIGHUP, True), (signal.SIGTERM, False), (signal.SIGKILL, False)],
                         ids=["ctrl-c", "hangup", "kill", "kill-9"])
def test_readmes_lines_leave_nothing_when_they_are_stopped(script, around, number, to_all):
    jobs(script, 500)
    script.run(STAR + readmes_lines(), around)
    script.wait_for("duopoly-replay")
    os.killpg(script.child.pid, number) if to_all else script.child.send_signal(number)
    status, said = script.ended()
    assert status != 0, said
    script.check_nothing_left()


@AROUND
def test_ctrl_c_in_a_nodes_command_leaves_nothing(script, around):
    """Mininet's own stop() fails then: that node takes no other command."""
    jobs(script, 3)
    script.run(STAR + readmes_lines().split("    d.replay")[0] + "    net['s1'].cmd('sleep 1000')\nnet.stop()\n", around)
    script.wait_for("sleep")
    os.killpg(script.child.pid, signal.SIGINT)
    assert script.ended()[0] != 0
    script.check_nothing_left()


@pytest.mark.skipif(not shutil.which("ovs-vswitchd"), reason="openvswitch-switch is not installed")
def test_ctrl_c_leaves_no_open_vswitch(script):
    jobs(script, 500)
    script.run((BEFORE % "lambda name, **words: OVSBridge(name, datapath='user', **words)") + readmes_lines(), ALONE)
    script.wait_for("duopoly-replay")
    os.killpg(script.child.pid, signal.SIGINT)
    assert script.ended()[0] == 130
    script.check_nothing_left()


def test_a_script_that_is_refused_leaves_no_network(script):
    script.run(STAR + "net['h1'].defaultIntf().params['delay'] = '5ms'\n" + readmes_lines())
    status, said = script.ended()
    assert status == 1 and "which is netem's" in said, said
    script.check_nothing_left()


def test_logs_stay_where_they_were_asked_for(script):
    jobs(script, 3)
    script.run(STAR + readmes_lines().replace("Duopoly(net)", "Duopoly(net, logs='kept')"))
    status, said = script.ended()
    assert status == 0 and "duopoly: logs and results are in %s" % (script.folder / "kept" / "joint") in said, said
    assert (script.folder / "kept" / "joint" / "results.jsonl").stat().st_size > 0
    script.check_nothing_left(files=["kept"])


def test_the_end_of_a_script_is_waited_for(script):
    """Ctrl-C is the script's too: what it does then is not cut short."""
    script.run("import subprocess\ntry:\n    subprocess.run(['sleep', '1000'])\nexcept KeyboardInterrupt:\n"
               "    subprocess.run(['sleep', '1'])\n    print('put away')\n", ALONE)
    script.wait_for("sleep")
    os.killpg(script.child.pid, signal.SIGINT)
    assert script.ended() == (130, "put away\n")
    script.check_nothing_left()


# ---- what is demanded ----

def without(folder, *programs):
    """A PATH on which all is but those."""
    os.mkdir(folder)
    for place in os.environ["PATH"].split(":"):
        for name in os.listdir(place) if os.path.isdir(place) else []:
            if not name.startswith(programs) and not os.path.lexists(os.path.join(folder, name)):
                os.symlink(os.path.join(place, name), os.path.join(folder, name))
    return str(folder)


def test_linux_bridges_need_no_open_vswitch(script, tmp_path_factory):
    jobs(script, 3)
    script.run(STAR + readmes_lines(), ALONE, path=without(tmp_path_factory.mktemp("path") / "bin", "ovs"))
    status, said = script.ended()
    assert status == 0 and " 0 unexplained;" in said, said


@pytest.mark.parametrize("switch, program, sentence", [
    ("OVSBridge", "ovs", "OVSSwitch and OVSBridge need openvswitch-switch"),
    ("LinuxBridge", "brctl", "LinuxBridge needs bridge-utils"),
])
def test_a_switchs_package_is_named_where_it_is_missing(script, tmp_path_factory, switch, program, sentence):
    script.run(BEFORE % switch + "net.start()\n", ALONE, path=without(tmp_path_factory.mktemp("path") / "bin", program))
    status, said = script.ended()
    assert status == 1 and said.splitlines()[-1] == "alone: the script ended with status 1; packages that are not installed here: " + sentence
    script.check_nothing_left()


def test_without_mininet_it_is_one_sentence(script, tmp_path_factory):
    script.run("import mininet\n", ALONE, path=without(tmp_path_factory.mktemp("path") / "bin", "mn"))
    assert script.ended() == (1, "alone: Mininet is not installed: make deps-mininet\n")
