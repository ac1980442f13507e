"""Agents and clients reach their controller over both families, by every address of its name; where
they cannot, they say why."""

import os
import socket
import subprocess
import tempfile

import pytest

from nets import BUILD, Net, needs_root, wait_for
from testbed.guest.kernels import NO_MOUNT
from testbed.net import answers
from testbed.net.system import root_is_mount

pytestmark = needs_root
PORT = 7600
CTL, CTL6 = "10.99.0.1", "fd99::1"


class Site:
    """A controller on h1 and agents that touch nothing on h2, with names that are this test's
    alone."""

    def __init__(self):
        self.net = Net(2)
        self.controller_host, self.agent_host = self.net.hosts
        self.dir, self.children, self.agents = self.net.dir, [], 0
        self.write("nsswitch.conf", "hosts: files\npasswd: files\ngroup: files\n")
        self.names()

    def write(self, name, text):
        """In place: what is mounted is the file, not its name."""
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def names(self, **names):
        if names and not root_is_mount():
            pytest.skip(NO_MOUNT)
        self.write("hosts", "127.0.0.1 localhost\n::1 localhost\n"
                   + "".join(f"{address} {name}\n" for name, addresses in names.items() for address in addresses))

    def popen(self, host, *argv, **kw):
        own = f"mount --bind {self.dir}/hosts /etc/hosts; mount --bind {self.dir}/nsswitch.conf /etc/nsswitch.conf; exec \"$@\""
        process = host.popen(*(["unshare", "-m", "sh", "-ec", own, "sh"] if root_is_mount() else []), *map(str, argv), **kw)
        self.children.append(process)
        return process

    def controller(self, listen, extra="trust: everybody-who-connects\n"):
        """Its log, once it listens."""
        folder = tempfile.mkdtemp(dir=self.dir)
        config = os.path.join(folder, "duopolyd.yaml")
        with open(config, "w") as f:
            f.write(f"listen: {listen}\nsocket: {folder}/s\nstate: {folder}/state\nlog: {{folder: {folder}/log}}\n{extra}")
        log = os.path.join(folder, "log.txt")
        with open(log, "wb") as out:
            process = self.popen(self.controller_host, f"{BUILD}/duopolyd", "--config", config, stderr=out)
        self.socket = folder + "/s"
        wait_for("duopolyd listens", lambda: "agents on" in open(log).read() or process.poll() is not None)
        assert process.poll() is None, open(log).read()
        self.controller_process = process
        return log

    def agent(self, controller, lines="", host=None, name=None, address="", uplink="lo"):
        """A function that reads what it has said. `address`: a line of its configuration, "": one
        of its own."""
        self.agents += 1
        name = name or f"w{self.agents}"
        address = address or f"address: 10.77.0.{self.agents}"
        folder = os.path.join(self.dir, name)
        os.makedirs(folder, exist_ok=True)
        config, log = folder + "/agent.yaml", folder + "/log"
        with open(config, "w") as f:
            f.write(f"name: {name}\ncontroller: {controller}\n{address}\nstate: {folder}/state\nunits: [{{slots: 1}}]\n"
                    f"link: {{uplink: {uplink}, rate: 100 Mbps}}\nqueues: {{driver: none}}\nmarks: {{driver: recorder}}\n"
                    f"tasks: {{cgroup: {self.net.prefix}{name}}}\n{lines}")
        with open(log, "ab") as out:
            self.popen(host or self.agent_host, f"{BUILD}/duopoly-agent", "--config", config, stderr=out)
        return lambda: open(log).read()

    def ctl(self, *argv, host=None):
        with self.popen(host or self.agent_host, f"{BUILD}/duopolyctl", *argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            out, err = p.communicate(timeout=30)
        return p.returncode, out, err

    def end(self, process):
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def remove(self):
        for process in reversed(self.children):
            if process.poll() is None:
                self.end(process)
        self.net.remove()


@pytest.fixture
def site():
    one = Site()
    try:
        yield one
    finally:
        one.remove()


def session(said, times=1):
    return wait_for("a session", lambda: said().count("session with controller tcp") >= times or None, 20)


def unreached(said):
    return [line.split("cannot be reached: ")[1] for line in said().splitlines() if "cannot be reached" in line]


def local_address(host):
    return host.ip("-o", "-6", "addr", "show", "dev", "up0", "scope", "link").split()[3].split("/")[0]


def test_a_star_listens_on_both_families(site):
    site.controller(f"tcp://*:{PORT}")
    said = [site.agent(f"tcp://{address}:{PORT}") for address in (CTL, f"[{CTL6}]", f"[{local_address(site.controller_host)}%up0]")]
    for each in said:
        session(each)
    hosts = answers.read(site.ctl("-j", "hosts", "--socket", site.socket)[1])["hosts"]
    assert {host["name"]: host["state"] for host in hosts} == {f"w{i}": "up" for i in (1, 2, 3)}


@pytest.mark.parametrize("addresses, listen", [
    ([CTL6], f"[{CTL6}]"), ([CTL], CTL), ([CTL6, CTL], CTL), ([CTL6, CTL], f"[{CTL6}]"), (["10.98.0.1", CTL], CTL),
    ([CTL6], "*"), ([CTL6], "up0"), ([CTL], "up0")],
    ids=["AAAA", "A", "both, listens on IPv4", "both, listens on IPv6", "two A", "AAAA and *", "AAAA, no IPv4 at the interface", "A and an interface"])
def test_every_address_of_a_name_is_tried(site, addresses, listen):
    if listen == "up0" and addresses == [CTL6]:
        site.controller_host.ip("-4", "addr", "flush", "dev", "up0")
    site.names(ctrl=addresses)
    site.controller(f"tcp://{listen}:{PORT}")
    session(site.agent(f"tcp://ctrl:{PORT}"))


def test_a_star_works_where_ipv6_is_off(site):
    for host in site.net.hosts:
        with host.inside():
            for which in ("all", "default"):
                with open(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6", "w") as f:
                    f.write("1")
    site.controller(f"tcp://*:{PORT}")
    site.names(ctrl=[CTL6, CTL])
    session(site.agent(f"tcp://ctrl:{PORT}"))


def test_why_none_is_reached_is_said_first_and_rarely(site):
    """An unknown name, one that refuses, one that no route leads to: the address and errno, in one
    line while it stays so."""
    site.names(ctrl=[CTL, CTL6], far=["192.0.2.1"])
    unknown, refused, far = (site.agent(f"tcp://{name}:{PORT}") for name in ("nobody", "ctrl", "far"))
    for said, words in ((unknown, ["nobody has no address that is known here"]), (far, ["tcp://192.0.2.1:7600: Network is unreachable (errno 101)"]),
                        (refused, [f"tcp://{CTL}:{PORT}: Connection refused (errno 111)", f"tcp://[{CTL6}]:{PORT}: Connection refused (errno 111)"])):
        line, = wait_for("it says so", lambda: unreached(said))
        assert all(word in line for word in words), line
    site.controller(f"tcp://{CTL}:{PORT}")
    session(refused)
    site.names(ctrl=[CTL, CTL6], far=[CTL], nobody=[CTL])  # they have moved, and are asked for again
    session(far)
    session(unknown)
    assert [len(unreached(said)) for said in (unknown, refused, far)] == [1, 1, 1]


def test_a_connection_that_nobody_answers_is_said(site):
    """Its packets are dropped on the way: it ends by time."""
    site.controller_host.enter("nft", "add table inet t; add chain inet t c { type filter hook input priority 0; }; add rule inet t c tcp dport 7600 drop")
    said = site.agent(f"tcp://{CTL}:{PORT}")
    line, = wait_for("it says so", lambda: unreached(said), 30)
    assert f"tcp://{CTL}:{PORT}: Connection timed out (errno 110)" in line
    site.controller(f"tcp://{CTL}:{PORT}")
    site.controller_host.enter("nft", "delete table inet t")
    session(said)


def test_who_listens_there_and_is_no_controller_is_said(site):
    """It takes connections, and hangs up."""
    with site.controller_host.inside():
        listener = socket.create_server((CTL, PORT))
    said = site.agent(f"tcp://{CTL}:{PORT}")

    def hang_up():
        listener.settimeout(0.2)
        try:
            listener.accept()[0].close()
        except TimeoutError:
            pass
        return unreached(said)
    line = wait_for("it says so", hang_up, 30)[0]
    assert "the listener there ends the handshake" in line and "no duopolyd" in line
    listener.close()


def test_an_agent_without_a_key_says_that_one_is_asked_for(site):
    keys = os.path.join(site.dir, "keys")
    subprocess.run([f"{BUILD}/duopolyctl", "keys", "make", "controller", "--role", "controller", "--out", keys], check=True, capture_output=True)
    site.controller(f"tcp://*:{PORT}", f"keys: {keys}\n")
    said = site.agent(f"tcp://[{CTL6}]:{PORT}")
    assert "asks for a key and none is configured" in wait_for("it says so", lambda: unreached(said), 30)[0]


def test_a_client_says_why(site):
    """duopolyctl from elsewhere, by a name that is unknown, one with two addresses that refuse, and
    then one of them does not."""
    keys = os.path.join(site.dir, "keys")
    subprocess.run([f"{BUILD}/duopolyctl", "keys", "make", "controller", "--role", "controller", "--out", keys], check=True, capture_output=True)
    site.controller(f"tcp://{CTL}:{PORT}", f"keys: {keys}\n")
    made = site.ctl("keys", "make", "ann", "--role", "admin", "--out", keys, "--socket", site.socket, host=site.controller_host)
    assert made[0] == 0, made
    site.names(ctrl=[CTL6, CTL])
    status, _, words = site.ctl("--controller", f"tcp://nobody:{PORT}", "--key", f"{keys}/ann.key", "status")
    assert status == 3 and "nobody has no address that is known here" in words
    there = ("--controller", f"tcp://ctrl:{PORT}", "--key", f"{keys}/ann.key", "status")
    status, _, words = site.ctl(*there)
    assert status == 0, words
    site.end(site.controller_process)
    status, _, words = site.ctl(*there)
    assert status == 3 and all(f"tcp://{at}:{PORT}: Connection refused (errno 111)" in words for at in (CTL, f"[{CTL6}]")), words


def test_a_framework_that_the_agent_cannot_relay_is_said(site):
    path = os.path.join(site.dir, "frameworks")
    said = site.agent(f"tcp://{CTL}:{PORT}", f"frameworks: {{socket: {path}}}\n")
    wait_for("its socket", lambda: os.path.exists(path))
    with socket.socket(socket.AF_UNIX) as driver:
        driver.connect(path)
        line = wait_for("it says so", lambda: [line for line in said().splitlines() if "is not told to the controller" in line])[0]
    assert f"tcp://{CTL}:{PORT}: Connection refused (errno 111)" in line
