"""A start before the machine is ready: the daemons wait for interfaces and addresses, say for what,
and end when they are asked to."""

import contextlib
import os
import re
import subprocess

import pytest

from nets import BUILD, needs_root, wait_for
from scripted import FIRST, REFUSED, Agent, Controller, site  # noqa: F401: a fixture
from test_fastpath import PROGRAM
from test_fastpath import site as fastpath_site  # noqa: F401: a fixture
from test_units import Manager

pytestmark = needs_root
SLOW_S = 60  # a start of an agent beside everything else that runs
WAITS = "there is no interface late0 in this network namespace: waiting for it"


def read(path):
    with open(path) as text:
        return text.read()


def late(space):
    space.ip("link", "add", "late0", "type", "veth", "peer", "name", "late1")
    for name in ("late0", "late1"):
        space.ip("link", "set", name, "up")


def session(site, n=1):  # noqa: F811
    def there():
        assert site.agent.process.poll() is None, read(site.agent.log)
        return len(site.controller.of("inventory_end")) >= n
    wait_for("a session", there, SLOW_S)


def agent_without_interface(site, **options):  # noqa: F811
    site.controller = Controller(site.net.hosts[1], site.address)
    site.agent = Agent(site.net, site.net.hosts[0], site.address, link="{uplink: late0, rate: 100 Mbps}", **options)
    wait_for("it waits", lambda: WAITS in read(site.agent.log) or site.agent.process.poll() is not None, SLOW_S)
    assert site.agent.process.poll() is None, read(site.agent.log)


def test_an_agent_waits_for_its_uplink(site):  # noqa: F811
    agent_without_interface(site)
    late(site.net.hosts[0])
    session(site)
    assert read(site.agent.log).count(WAITS) == 1 and "it is there: going on" in read(site.agent.log)


def test_an_agent_that_waits_ends_when_asked_and_lives_meanwhile(site, tmp_path, monkeypatch):  # noqa: F811
    """It is ready for its service manager, whose time for a start is bounded, and feeds its
    watchdog."""
    manager = Manager(str(tmp_path / "notify"))
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC"):
        monkeypatch.setenv(name, manager.environment[name])
    agent_without_interface(site)
    manager.check(site.agent.process)
    assert any(WAITS in word for word in manager.words)
    late(site.net.hosts[0])


def test_an_agent_waits_for_its_address(site):  # noqa: F811
    host = site.net.hosts[0]
    host.ip("addr", "flush", "dev", "up0")
    site.controller = Controller(site.net.hosts[1], site.address)
    site.agent = Agent(site.net, host, site.address, begins=False)
    config = re.sub(r"(?m)^address:.*\n", "", read(site.agent.config))
    with open(site.agent.config, "w") as out:
        out.write(config)
    site.agent.start()
    wait_for("its queues", lambda: "manages" in read(site.agent.log), SLOW_S)
    host.ip("addr", "add", host.address + "/24", "dev", "up0")
    session(site)
    assert f"others fetch from this host at {host.address}" in read(site.agent.log)


@pytest.mark.skipif(not os.path.exists(PROGRAM), reason="no DPDK")
def test_a_fastpath_waits_for_its_devices(fastpath_site, tmp_path):  # noqa: F811
    log = os.path.join(fastpath_site.dir, "fastpath.log")
    config = tmp_path / "fastpath.yaml"
    config.write_text(f"socket: {fastpath_site.dir}/fastpath.sock\nhost: {{device: \"net_af_packet0,iface=in0\"}}\n"
                      "network: {device: \"net_af_packet1,iface=late0\"}\nmarks: {by: here}\n")
    with open(log, "w") as out:
        process = fastpath_site.middle.popen("env", f"RUNTIME_DIRECTORY={fastpath_site.dir}", PROGRAM, "--config", str(config), stderr=out)
    try:
        wait_for("it waits", lambda: WAITS in read(log) or process.poll() is not None, SLOW_S)
        assert process.poll() is None, read(log)
        late(fastpath_site.middle)
        wait_for("frames pass", lambda: "passing frames" in read(log) or process.poll() is not None, SLOW_S)
        process.terminate()
        assert process.wait(20) == 0, read(log)
    finally:
        process.kill()
        process.wait()


def test_who_checks_does_not_wait(tmp_path):
    config = tmp_path / "agent.yaml"
    config.write_text("name: w1\naddress: 10.0.0.1\nunits: [{slots: 1}]\nlink: {uplink: late0, rate: 100 Mbps}\n")
    done = subprocess.run([f"{BUILD}/duopoly-agent", "--config", config, "--check"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and f"{config}:4:16: uplink: there is no interface late0" in done.stderr, done.stderr


@pytest.fixture
def disk(site, tmp_path):  # noqa: F811
    """Mounts a real file system of its own on the agent's folder; the agent ends before it does.
    What the agent noted there of its cgroup is gone with it, so that nobody but us removes that."""
    image, folders = str(tmp_path / "disk"), []

    def make(folder, errors):
        os.makedirs(folder, exist_ok=True)
        with open(image, "wb") as file:
            file.truncate(32 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        if subprocess.run(["mount", "-o", f"loop,errors={errors}", image, folder], check=False).returncode:
            pytest.skip("no file system can be mounted from a file here")
        folders.append(folder)
        return folder
    yield make
    if site.agent:
        site.agent.kill()
    for folder in folders:
        subprocess.run(["umount", "-l", folder], check=True)
    if site.agent:
        os.rmdir(site.agent.cgroup)


@pytest.fixture
def small_state(site):  # noqa: F811
    """The agent's state folder is a small file system of its own; what fills it."""
    state = os.path.join(site.net.dir, "h1")
    os.mkdir(state)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=96,mode=755", "duopoly-test", state], check=True)

    class State:
        def trouble(self, kind):
            for n in range(96 if kind == "no inode" else 0):
                with contextlib.suppress(OSError):
                    open(f"{state}/empty{n}", "w").close()
            with contextlib.suppress(OSError), open(f"{state}/ballast", "ab", buffering=0) as file:
                while kind == "full":
                    file.write(b"x" * 4096)

        def over(self):
            for name in os.listdir(state):
                if name.startswith(("empty", "ballast")):
                    os.unlink(f"{state}/{name}")
    made = State()
    yield made
    made.over()
    site.end()
    site.agent = site.controller = None
    subprocess.run(["umount", "-l", state], check=True)


def remount(folder, how):
    subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)


def test_an_agent_waits_for_a_state_folder_that_is_read_only(site, small_state):  # noqa: F811
    """It says once for what, and --check and --plan say it."""
    state, said = os.path.join(site.net.dir, "h1"), "cannot be written (Read-only file system): it is to be mounted writable"
    remount(state, "ro")
    site.controller = Controller(site.net.hosts[1], site.address)
    site.agent = Agent(site.net, site.net.hosts[0], site.address)
    wait_for("it waits", lambda: f"{said}: waiting for it" in read(site.agent.log), SLOW_S)
    for flag in ("--check", "--plan"):
        with site.net.hosts[0].popen(f"{BUILD}/duopoly-agent", "--config", site.agent.config, flag, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True) as looks:
            words = looks.communicate(timeout=SLOW_S)[0]
        assert looks.returncode == 1 and f"{state} {said}" in words, words
    remount(state, "rw")
    session(site)
    assert read(site.agent.log).count(said) == 1


@pytest.mark.parametrize("errors", ["remount-ro", "continue"])
def test_an_agent_whose_disk_fails_starts_nothing_and_says_so(site, disk, errors):  # noqa: F811
    """What the kernel then refuses to write is no attempt's failure: that there is no room is said
    first."""
    state = disk(os.path.join(site.net.dir, "h1"), errors)
    site.controller = Controller(site.net.hosts[1], site.address)
    site.agent = Agent(site.net, site.net.hosts[0], site.address)
    session(site)
    remount(state, "abort")
    site.controller.do(f"start {FIRST + 1} 1 0 0 true")
    site.controller.wait_phase(FIRST + 1, REFUSED)
    kinds = [message["kind"] for message in site.controller.messages if message["kind"] in ("host_room", "attempt_state")]
    assert kinds.index("host_room") < len(kinds) - 1, kinds
    assert "Read-only file system" in site.controller.of("host_room")[0]["text"]
    site.agent.kill()
    site.agent.start()
    wait_for("it waits", lambda: "cannot be written (Read-only file system)" in read(site.agent.log), SLOW_S)


@pytest.mark.parametrize("kind", ["full", "no inode"])
def test_an_agent_starts_on_a_state_folder_in_trouble(site, small_state, kind):  # noqa: F811
    site.begin()
    site.agent.kill()
    small_state.trouble(kind)
    site.agent.start()
    session(site, 2)
