"""What `make install` puts in place: units whose exposure is bounded, that name what is there, and daemons that tell the service
manager when they are ready and that they live."""

import datetime
import os
import re
import signal
import socket
import stat
import subprocess
import time

import pytest

from nets import BUILD, TOP, Net, needs_root, wait_for

# systemd's own figure, 0 to 10; less is better. Slurm's and Open vSwitch's units have 9.5 and more.
BOUNDS = {"duopolyd": 1.3, "duopoly-agent": 2.2, "duopoly-starter": 3.2}
if os.path.exists(BUILD + "/duopoly-fastpath"):
    BOUNDS["duopoly-fastpath"] = 2.2


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    root = str(tmp_path_factory.mktemp("root"))
    make(root)
    return root


def make(root, prefix="/usr"):
    subprocess.run(["make", "-s", "-C", TOP, "install", "DESTDIR=" + root, "PREFIX=" + prefix,
                    "BUILD=" + os.environ.get("BUILD", "build")], check=True, capture_output=True, timeout=300)


def unit(root, name):
    return os.path.join(root, "usr/lib/systemd/system", name)


@pytest.mark.parametrize("name", BOUNDS)
def test_exposure(installed, name, capsys):
    said = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit(installed, name + ".service")],
                          check=True, capture_output=True, text=True, timeout=30).stdout
    figure = float(re.search(r"exposure level for .*: ([0-9.]+)", said).group(1))
    with capsys.disabled():
        print("\nexposure of %s: %.1f (at most %.1f)" % (name, figure, BOUNDS[name]))
    assert figure <= BOUNDS[name]


def test_units_name_what_is_installed(installed):
    for name in os.listdir(os.path.join(installed, "usr/lib/systemd/system")):
        with open(unit(installed, name)) as text:
            for program, config in re.findall(r"^Exec\w+=(\S+).* (/etc/\S+)$", text.read(), re.M):
                assert os.stat(installed + program).st_mode & stat.S_IXOTH, program
                assert os.path.exists(installed + config), config


def test_units_say_what_systemd_knows(installed):
    folder = os.path.dirname(unit(installed, "any"))
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", "--root=" + installed, *os.listdir(folder)], capture_output=True,
                          text=True, timeout=30).stderr
    assert folder + "/" not in said, said
    with open(unit(installed, "duopolyd.service"), "a") as out:
        out.write("[Service]\nProtectHoome=yes\n")
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", "--root=" + installed, "duopolyd.service"], capture_output=True,
                          text=True, timeout=30).stderr
    assert f"{folder}/duopolyd.service:" in said and "ProtectHoome" in said


def test_another_prefix_and_a_configuration_that_is_there(tmp_path):
    root = str(tmp_path)
    kept = os.path.join(root, "etc/duopoly/duopolyd.yaml")
    os.makedirs(os.path.dirname(kept))
    with open(kept, "w") as out:
        out.write("listen: tcp://127.0.0.1:1\n")
    make(root, "/opt/d")
    with open(kept) as text:
        assert text.read() == "listen: tcp://127.0.0.1:1\n"
    with open(os.path.join(root, "opt/d/lib/systemd/system/duopolyd.service")) as text:
        assert "\nExecStart=/opt/d/sbin/duopolyd " in text.read()
    with open(os.path.join(root, "etc/duopoly/duopoly-agent.yaml")) as text:
        assert "/opt/d/lib/duopoly/replay-map" in text.read()


class Manager:
    """The service manager's end of NOTIFY_SOCKET."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.setblocking(False)
        self.environment = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="400000")
        self.words = []

    def said(self, word):
        while True:
            try:
                self.words += self.socket.recv(4096).decode().split("\n")
            except BlockingIOError:
                return self.words.count(word)

    def check(self, process):
        try:
            wait_for("READY=1", lambda: self.said("READY=1") or process.poll() is not None)
            assert process.poll() is None
            wait_for("WATCHDOG=1 three times", lambda: self.said("WATCHDOG=1") >= 3)
            process.terminate()
            assert process.wait(10) == 0
            assert self.said("STOPPING=1") == 1
        finally:
            process.kill()
            process.wait()


def test_the_controller_says_that_it_is_ready_and_lives(tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    config = tmp_path / "duopolyd.yaml"
    config.write_text(f"listen: tcp://127.0.0.1:*\nsocket: {tmp_path}/d.sock\nstate: {tmp_path}/state\n")
    manager.check(subprocess.Popen([BUILD + "/duopolyd", "--config", str(config)], env=manager.environment, stderr=subprocess.DEVNULL))


TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4} "


def log_of_a_controller(tmp_path, environment, while_it_runs=lambda process: None):
    """Its standard error from start to end; `environment(log)` gives what it finds besides."""
    config = tmp_path / "duopolyd.yaml"
    config.write_text(f"listen: tcp://127.0.0.1:*\nsocket: {tmp_path}/d.sock\nstate: {tmp_path}/state\n")
    with open(tmp_path / "log", "w+") as log:
        process = subprocess.Popen([BUILD + "/duopolyd", "--config", str(config)], stderr=log,
                                   env={**os.environ, **environment(os.fstat(log.fileno()))})
        try:
            wait_for("it to run", lambda: os.path.exists(tmp_path / "d.sock") or process.poll() is not None)
            while_it_runs(process)
        finally:
            process.terminate()
            process.wait(10)
        log.seek(0)
        return log.read().splitlines()


def test_a_daemons_lines_bear_their_time_by_hand(tmp_path):
    before = time.time()
    lines = log_of_a_controller(tmp_path, lambda _log: {"TZ": "Asia/Kolkata"})
    assert lines and all(re.match(TIME + "duopolyd: ", line) for line in lines), lines
    said = datetime.datetime.strptime(lines[0].split(" ")[0], "%Y-%m-%dT%H:%M:%S.%f%z")
    assert said.utcoffset() == datetime.timedelta(hours=5.5) and before - 1 <= said.timestamp() <= time.time()


def test_lines_for_the_journal_bear_their_priority_instead(tmp_path):
    lines = log_of_a_controller(tmp_path, lambda log: {"JOURNAL_STREAM": f"{log.st_dev}:{log.st_ino}"})
    assert lines and all(re.match("<[3-7]>duopolyd: ", line) for line in lines), lines


@pytest.mark.parametrize("stream", ["1:1", "", "nonsense"])
def test_a_journal_that_is_not_standard_error_is_none(tmp_path, stream):
    """What a service starts, or a shell in one, inherits the variable."""
    lines = log_of_a_controller(tmp_path, lambda _log: {"JOURNAL_STREAM": stream})
    assert lines and all(re.match(TIME, line) for line in lines), lines


def test_a_hangup_ends_no_controller(tmp_path):
    """It reads its configuration again, and goes on until it is told to stop."""
    def hang_up(process):
        process.send_signal(signal.SIGHUP)
    lines = log_of_a_controller(tmp_path, lambda _log: {}, while_it_runs=hang_up)
    said = [line for line in lines if f"SIGHUP of process {os.getpid()}: config reload: " in line]
    assert said and "the file says what is in force" in said[0] and lines[-1].endswith("stopped"), lines


@pytest.mark.parametrize("program", ["duopolyd", "duopoly-agent", "duopoly-fastpath"])
def test_what_a_check_says_is_no_log(tmp_path, program):
    if not os.path.exists(os.path.join(BUILD, program)):
        pytest.skip("duopoly-fastpath is not built: DPDK is missing (make deps-dpdk)")
    (tmp_path / "yaml").write_text("nothing: 1\n")
    done = subprocess.run([os.path.join(BUILD, program), "--config", str(tmp_path / "yaml"), "--check"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and done.stderr.startswith(program + ": error: ") and "nothing" in done.stderr, done


@needs_root
def test_the_agent_says_that_it_is_ready_and_lives(tmp_path):
    net = Net(1)
    try:
        manager = Manager(str(tmp_path / "notify"))
        config = tmp_path / "agent.yaml"
        config.write_text(f"name: h1\ncontroller: tcp://127.0.0.1:7000\naddress: 10.99.0.1\nstate: {net.dir}/h1\nunits: [{{slots: 1}}]\n"
                          f"link: {{uplink: up0, rate: 100 Mbps}}\ntasks: {{cgroup: {net.prefix}h1}}\n")
        with open(tmp_path / "log", "w") as log:
            manager.check(net.hosts[0].popen(BUILD + "/duopoly-agent", "--config", str(config), env=manager.environment, stderr=log))
        lines = (tmp_path / "log").read_text().splitlines()
        assert lines and all(re.match(TIME + "duopoly-agent: ", line) for line in lines), lines
    finally:
        net.remove()


def headings(text):
    """What links to places in a page may name, as GitHub makes it."""
    return {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines() if line.startswith("#")}


def test_what_installed_pages_link_to_is_installed(installed):
    top = os.path.join(installed, "usr/share/doc/duopoly")
    pages = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names if name.endswith(".md")]
    assert {os.path.relpath(page, top) for page in pages} >= {"README.md", "docs/operate/rights.md", "schemas/task.md", "plugins/spark/README.md"}
    for page in pages:
        with open(page) as text:
            said = text.read()
        for link, place in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?[^)]*\)", said):
            if re.match(r"[a-z]+:", link):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(page), link)) if link else page
            assert target.startswith(top) and os.path.exists(target), f"{page}: {link}"
            if place:
                with open(target) as text:
                    assert place[1:] in headings(text.read()), f"{page}: {link}{place}"


def test_what_installed_files_name_below_share_is_installed(installed):
    """The units' Documentation=, comments of configurations, man-like words of programs."""
    named = set()
    for folder in ("etc/duopoly", "usr/lib/systemd/system"):
        for name in os.listdir(os.path.join(installed, folder)):
            with open(os.path.join(installed, folder, name)) as text:
                named |= set(re.findall(r"/usr/share/[\w./-]*\w", text.read()))
    assert "/usr/share/doc/duopoly/README.md" in named and len(named) > 1
    assert [path for path in named if not os.path.exists(installed + path)] == []
