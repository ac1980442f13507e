"""make demo, up and down as a user runs them, small: what they print, and that nothing of them is left on the machine."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from testbed.net import instance as instances
from testbed.net import kernel, mininets, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SMALL = ["HOSTS=3", "SLOTS=2", "JOBS=12", "SCALE=400", "NO_INSTALL=1"]
PROGRAM = re.compile(r"testbed\.(demo|net)\b")
OURS = re.compile(r"duopoly-testbed|dtb\d+-|" + PROGRAM.pattern)
NUMBER = re.compile(r"duopoly-testbed[-/](\d+)|\bdtb(\d+)-")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the testbed needs root")


def listed(folder):
    return {os.path.join(folder, name) for name in os.listdir(folder)} if os.path.isdir(folder) else set()


def processes():
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as words:
                command = words.read().replace(b"\0", b" ").decode(errors="replace")
            folder = os.readlink("/proc/%s/cwd" % pid)
        except OSError:
            continue
        if system.start_time(int(pid)) is not None:
            found.add("%s %s in %s" % (pid, command, folder))
    return found


def machine():
    """The whole state that a testbed could leave something in."""
    with open("/proc/self/mounts") as mounts:
        state = {"mount " + line.split()[1] for line in mounts}
    for folder in ("/run", "/run/netns", "/var/lib", "/tmp", instances.HOME, "/sys/fs/bpf", "/sys/class/net"):
        state |= listed(folder)
    for hierarchy in {instances.cgroup2(), "/sys/fs/cgroup/blkio"}:
        state |= {folder for folder, _, _ in os.walk(hierarchy)}
    state |= {"qdisc " + line for line in system.run("tc", "qdisc", "show").splitlines()}
    kernel_settings = {"%s %s" % (path, kernel.read(path)) for path, _ in kernel.WANTED.values() if os.path.exists(path)}
    return state | processes() | kernel_settings


def of_this_checkout(items):
    """Other checkouts' testbeds come and go beside this one: what bears their numbers, or runs in their folders, is theirs."""
    foreign = {one.number for one in instances.instances() if one.state["tree"] != TREE}

    def is_ours(item):
        numbers = {int(one or other) for one, other in NUMBER.findall(item)}
        if numbers:
            return not numbers <= foreign
        if item == instances.HOME:
            return not foreign
        return OURS.search(item) and (not PROGRAM.search(item) or item.endswith(" in " + TREE))
    return {item for item in items if is_ours(item)}


def left_since(before):
    return sorted(of_this_checkout(machine() - before))


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = machine()
    yield

    def left():
        return left_since(before)
    try:
        system.wait_for(lambda: not left(), 15, "the end of the testbed")
    except system.Failure:
        pytest.fail("left behind: %s" % ", ".join(left()))


def start(*words, ignored=()):
    """As a user would, also when the tests themselves were started by make; `ignored`: signals, as nohup and shells do."""
    def ignore():
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.Popen(["make", *words], cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True, env=environment, preexec_fn=ignore)


def wait_for_line(child, pattern):
    for line in child.stdout:
        if re.search(pattern, line):
            return line
    raise AssertionError("make ended with %s without a line like %s" % (child.wait(), pattern))


def test_only_testbeds_of_this_checkout_count_as_left():
    for tree, counts in (("/another/checkout", False), (TREE, True)):
        own = instances.create(tree)
        try:
            own.memory()
            folder, present = own.path("memory"), machine()  # the number may have been another's a moment before
            assert any(folder in item for item in present)
            assert any(folder in item for item in of_this_checkout(present)) == counts
        finally:
            own.down()


def test_a_demo_ends_with_a_table_and_a_sentence():
    child = start("demo", "POLICIES=fair duopoly", *SMALL)
    said = child.communicate(timeout=180)[0]
    assert child.returncode == 0, said
    lines = said.splitlines()
    table = next(i for i, line in enumerate(lines) if line.startswith("policy "))
    assert [line.split()[0] for line in lines[table + 1:table + 3]] == ["fair", "duopoly"]
    assert re.search(r"^fair +12 jobs in [0-9.]+ s$", said, re.MULTILINE)
    assert re.search(r"^duopoly: [0-9]+ payload packets checked: .* 0 wrong, 0 unattributed", said, re.MULTILINE)
    assert len(lines) - table <= 10 and lines[-2].startswith("duopoly's mean JCT")
    html, text = re.fullmatch(r"everything else: (\S+results/report\.html) and (\S+results/report\.txt)", lines[-1]).groups()
    with open(os.path.join(TREE, text), encoding="utf-8") as file:
        whole = file.read()
    with open(os.path.join(TREE, html), encoding="utf-8") as file:
        assert "<td>duopoly</td>" in file.read()
    assert all(line in whole for line in lines[table:-1])
    gaps = re.findall(r"^mean JCT .*? on the same input [0-9.]+ s(?: \(.*?\))?: (\S+) s \(\S+ %\), .*? waited for last (.*)$", whole, re.MULTILINE)
    assert len(gaps) == 2
    for gap, parts in gaps:
        of_it = [float(part) for part in re.findall(r"[a-z] ([+-][0-9.]+)", parts)]
        assert len(of_it) >= 4 and sum(of_it) == pytest.approx(float(gap), abs=0.035), "each is rounded, and all add up"


def test_a_late_job_is_given_running_ones_slots():
    child = start("demo-preempt", "NO_INSTALL=1")
    said = child.communicate(timeout=180)[0]
    assert child.returncode == 0, said
    assert re.search(r"^the late job of priority 5 runs on w1; stopped there: 1/0/\d, 1/0/\d$", said, re.MULTILINE)
    assert re.search(r"^they run again: 1/0/\d on w[23], 1/0/\d on w[23]$", said, re.MULTILINE)
    assert re.search(r"^both jobs are done; 2 evictions lost [0-9.]+ s of the long job's work$", said, re.MULTILINE)


def test_a_demo_on_racks_behind_leaves_and_spines():
    """Every port of the five switches is an agent's, and the simulator is told of racks and spines."""
    child = start("demo", "V=1", "POLICIES=joint", *SMALL, "HOSTS=4", "TOPO=leafspine", "RACKS=2", "OVERSUB=2")
    said = child.communicate(timeout=180)[0]
    assert child.returncode == 0, said
    assert "2 racks of 2 behind leaves, 2 spines, 2:1 oversubscribed: 50 Mb/s from a leaf to a spine" in said
    assert re.search(r"^joint: [1-9][0-9]* payload packets checked: .* 0 wrong, 0 unattributed", said, re.MULTILINE)
    assert re.search(r"^hop by hop on 13 ports: .* 0 unexplained;", said, re.MULTILINE) and "out hop 3" in said
    assert re.search(r"^mean JCT .* of the simulator on the same input", said, re.MULTILINE)
    assert said.splitlines()[-1].startswith("joint alone: ")
    assert re.search(r"^between racks: [1-9][0-9]* % of what the shuffle moved between hosts, simulated [1-9][0-9]* %$", said, re.MULTILINE)


def demo_in_its_replay(**options):
    child = start("demo", "POLICIES=fair", *SMALL, "JOBS=200", **options)
    wait_for_line(child, "policies: fair")
    system.wait_for(lambda: any("duopoly-replay" in name for name in processes()), 60, "the replay")
    return child


def test_ctrl_c_leaves_nothing_behind():
    child = demo_in_its_replay()
    os.killpg(child.pid, signal.SIGINT)
    assert child.wait(30) != 0


def test_nohup_in_the_background_ends_and_leaves_nothing_behind():
    """nohup make demo &, as a script does it: then SIGINT, or SIGTERM, to the job."""
    for number in (signal.SIGINT, signal.SIGTERM):
        child = demo_in_its_replay(ignored=(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT))
        os.killpg(child.pid, signal.SIGHUP)
        assert child.poll() is None
        os.killpg(child.pid, number)
        assert child.wait(30) != 0


def test_children_of_tests_obey_ctrl_c():
    """Also when the tests run under nohup."""
    code = ("import signal, subprocess, sys\n"
            "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "import conftest\n"
            "child = 'import signal; print(signal.getsignal(signal.SIGINT) == signal.default_int_handler)'\n"
            "subprocess.run([sys.executable, '-c', child], check=True)\n")
    assert system.run("/usr/bin/python3", "-B", "-c", "import sys; sys.path.insert(0, %r)\n%s" % (
        os.path.join(TREE, "tests/net"), code)).strip() == "True"


def test_a_killed_make_leaves_nothing_behind():
    child = demo_in_its_replay()
    child.kill()
    child.wait()


def test_a_demo_of_which_all_is_killed_leaves_nothing_behind():
    """kill -9 of make and of what it runs: nobody of them can put anything away."""
    child = demo_in_its_replay()
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_testbed_that_is_stopped_before_it_stands_leaves_nothing_behind(number):
    child = start("up", *SMALL)
    system.wait_for(lambda: any("duopolyd" in name for name in processes() if "duopoly-testbed" in name), 60, "the controller's start")
    os.killpg(child.pid, number)
    assert child.wait(60) != 0


def test_two_demos_run_side_by_side():
    children = [start("demo", "POLICIES=fair", *SMALL, "BUILD=build"), start("demo", "POLICIES=aalo", *SMALL, "BUILD=build")]
    for child in children:
        said = child.communicate(timeout=240)[0]
        assert child.returncode == 0, said


def test_a_build_beside_a_demo_changes_no_program_of_it(tmp_path):
    """All programs are others before the first policy is over; the second one and what compares them still run."""
    build = tmp_path / "build"
    shutil.copytree(os.path.join(TREE, os.environ.get("BUILD") or "build"), build,
                    ignore=lambda folder, names: [name for name in names if os.path.isdir(os.path.join(folder, name)) or name.endswith(".a")])
    child = subprocess.Popen([sys.executable, "-B", "-m", "testbed.demo.demo"], cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env={**os.environ, **dict(word.split("=") for word in SMALL), "POLICIES": "fair duopoly", "BUILD": str(build)})
    system.wait_for(lambda: (build / "demo/fair").exists() or child.poll() is not None, 60, "the first policy")
    for program in [path for path in build.iterdir() if path.is_file()]:
        with open(program, "w") as out:  # in its place, as some linkers do
            out.write("#!/bin/false\n")
    said = child.communicate(timeout=180)[0]
    assert child.returncode == 0, said
    assert re.search(r"^duopoly +12 jobs in [0-9.]+ s$", said, re.MULTILINE)
    assert not (build / "demo/programs").exists()


def test_up_stands_until_down():
    try:
        child = start("up", *SMALL)
        said = child.communicate(timeout=120)[0]
        assert child.returncode == 0, said
        command = said.splitlines()[-1].split()
        assert command[-1] == "status"
        assert "hosts up" in system.run(*command)
        assert os.listdir(os.path.dirname(command[2])) and "ports" not in os.listdir(os.path.dirname(command[2])), "a file per attempt"
        assert start("up", *SMALL).wait(60) != 0
    finally:
        assert start("down").wait(60) == 0


def test_a_demo_in_mininet():
    if not importlib.util.find_spec("mininet") or not shutil.which("brctl"):
        pytest.skip("mininet or bridge-utils is not installed")
    if not system.root_is_mount():
        pytest.skip(mininets.NO_MOUNT)
    child = start("demo", "V=1", "POLICIES=joint", *SMALL, "NET=mininet")
    said = child.communicate(timeout=240)[0]
    assert child.returncode == 0, said
    assert "one Linux bridge of Mininet's" in said
    assert re.search(r"^joint: [1-9][0-9]* payload packets checked: .* 0 wrong, 0 unattributed", said, re.MULTILINE)
    assert re.search(r"^hop by hop on .* 0 unexplained;", said, re.MULTILINE)


def test_a_demo_through_a_switch_in_user_space():
    if not os.path.exists(os.path.join(TREE, os.environ.get("BUILD") or "build", "duopoly-fastpath")):
        pytest.skip("duopoly-fastpath is not built: DPDK is missing (make deps-dpdk)")
    child = start("demo", "V=1", "POLICIES=fair joint", *SMALL, "NET=dpdk")
    said = child.communicate(timeout=240)[0]
    assert child.returncode == 0, said
    assert "one switch in user space" in said
    for policy in ("fair", "joint"):
        assert re.search(rf"^{policy}: [1-9][0-9]* payload packets checked: .* 0 wrong, 0 unattributed", said, re.MULTILINE)
    assert len(re.findall(r"^hop by hop on [0-9]+ ports: [1-9].* 0 unexplained;", said, re.MULTILINE)) == 2


UNLIKE = """classes:
  - {names: [g], labels: [gpu], units: [{slots: 1}, {name: gpu0, slots: 3, devices: [gpu0], gpu_mem_bytes: 8 GB}]}
  - {names: [p, q], units: [{slots: 2}], link: 50 Mbps}
"""
UNLIKE_LOAD = """{"duopoly_workload": 1, "hosts": 3, "scale": 400}
%s"""


def test_a_demo_on_hosts_that_differ(tmp_path):
    """Stages that demand a device, or a label, are done there and nowhere else; no device was over what it has."""
    demand = {"slots": 1, "gpu_milli": 400, "gpu_mem_bytes": 4 * 10**9}
    jobs = [{"id": n, "arrival_ms": 50 * n, "stages": [
        {"tasks": 4, "command": "map-gpu", "demand": demand, "compute_ms": 30},
        {"tasks": 1, "constraint": "!gpu", "compute_ms": 5, "parents": [{"stage": 0, "sums": [40000]}]}]} for n in range(1, 6)]
    (tmp_path / "hosts.yaml").write_text(UNLIKE)
    (tmp_path / "jobs.jsonl").write_text(UNLIKE_LOAD % "".join(json.dumps(job) + "\n" for job in jobs))
    child = start("demo", "V=1", "NO_INSTALL=1", "POLICIES=drf joint", "CLUSTER=%s/hosts.yaml" % tmp_path, "TRACE=%s/jobs.jsonl" % tmp_path)
    said = child.communicate(timeout=180)[0]
    assert child.returncode == 0, said
    assert "3 hosts of %s/hosts.yaml" % tmp_path in said and len(re.findall(r"^(?:drf|joint) +5 jobs in", said, re.MULTILINE)) == 2
    used = re.findall(r"^devices: 1 used by (\d+) tasks; .*memory at most (\d+) % of one, time (\d+) %; (.*)$", said, re.MULTILINE)
    assert len(used) == 2 and all((tasks, words) == ("20", "none was ever over what it has") for tasks, _, _, words in used), said
    assert all(50 <= int(memory) <= 100 and 40 <= int(time) <= 80 for _, memory, time, _ in used), "two at once at most, by memory"


DISKS = """classes:
  - {hosts: 2, units: [{slots: 2, devices: [gpu0]}], disk: 2 MB}
"""
READ, ALONE = 64 * 4096, 65536  # bytes of a task that reads much, and of one that computes much


def way(gpu, read_bytes, compute_ms):
    profile = {"read_bytes": read_bytes, "read_bytes_s": 1_500_000, **({"reads": "before"} if gpu else {})}
    return {"command": "map-gpu" if gpu else "map", "demand": {"gpu_milli": 1000} if gpu else {"slots": 1},
            "profile": profile, "compute_ms": compute_ms}


@pytest.mark.parametrize("limited", ["blkio", "meter"])
def test_a_demo_on_hosts_with_disks(tmp_path, limited):
    """Each task reads what its profile says, once, from this machine's disk; no host's disk gives more than its rate."""
    jobs = [{"id": n, "name": name, "stages": [{"tasks": 6, **way(True, size, 50), "variants": [way(False, size, 400)]}]}
            for n, (name, size) in enumerate((("reads", READ), ("computes", ALONE)), 1)]
    (tmp_path / "hosts.yaml").write_text(DISKS)
    (tmp_path / "jobs.jsonl").write_text('{"duopoly_workload": 1, "hosts": 2}\n' + "".join(json.dumps(job) + "\n" for job in jobs))
    child = start("demo", "V=1", "NO_INSTALL=1", "POLICIES=fifo affinity", "CLUSTER=%s/hosts.yaml" % tmp_path, "TRACE=%s/jobs.jsonl" % tmp_path,
                  "DISKS=" + limited)
    said = child.communicate(timeout=180)[0]
    if "DISKS=blkio does not work here" in said:
        pytest.skip("the kernel limits no disk here")
    assert child.returncode == 0, said
    rows = re.findall(r"^disks: 2, each limited to 2 MB/s by (.*?); 12 tasks read (\S+) MB, .*?; the kernel counted (\S+) MB of their processes(.*)$",
                      said, re.MULTILINE)
    assert len(rows) == 2, said
    for by, read, counted, rest in rows:
        assert float(read) == pytest.approx(6 * (READ + ALONE) / 1e6, abs=.1) and float(counted) >= float(read) - .1
        assert ("a meter" in by, not rest) == ((limited == "meter",) * 2)
        if rest:
            of_all, most = map(float, re.match(r"; (\S+) MB of all that hosts run, (\S+) MB/s of h\d", rest).groups())
            assert float(read) <= of_all + .1 and most <= 2.1
    times = re.search(r"^Run times: \S+ (\S+) s \(simulated .*", said, re.MULTILINE)
    assert times and float(times[1]) >= 6 * (READ + ALONE) / (2 * 2e6), "as long as both disks take at least"
    assert not re.search("attempts failed or were lost", said), said


def test_objectives_change_in_the_middle():
    """In the simulator at the same times."""
    child = start("demo", "V=1", "POLICIES=flow", "SWITCH=2", *SMALL, "JOBS=40")
    said = child.communicate(timeout=180)[0]
    assert child.returncode == 0, said
    assert "the objective of its placement was changed 2 times\n" in said
    with open(os.path.join(TREE, os.environ.get("BUILD") or "build", "demo", "flow", "simulated.log")) as log:
        steps = re.findall(r"^step (\d+)\ne policy_parameter .*word=objective .*$", log.read(), re.MULTILINE)
    assert len(steps) == 2 and int(steps[1]) - int(steps[0]) == pytest.approx(1.5e9, rel=0.5)


def test_what_ends_with_its_maker_cannot_be_left_standing():
    said = start("up", "NET=mininet", "NO_INSTALL=1").communicate(timeout=60)[0]
    assert "it is for make demo alone" in said, said


@pytest.mark.parametrize("words, sentence", [
    (["POLICIES=best"], "unknown policy \"best\""),
    (["TRACE=/nosuch"], "cannot open the workload /nosuch"),
    (["HOSTS=0"], "HOSTS is \"0\""),
    (["USERS=4,x"], "USERS is \"4,x\""),
    (["USERS=4,2", "NET=guest"], "USERS is not for NET=guest"),
    (["USERS=4,2", "JOBS=2"], "2 jobs are too few for them"),
    (["JOBS=-1"], "jobs is \"-1\""),
    (["TOPO=ring"], "unknown network \"ring\": TOPO takes star, leafspine"),
    (["NET=dpdk", "TOPO=leafspine"], "NET=dpdk has no TOPO=leafspine, but star"),
    (["NET=dpdk", "HOSTS=31"], "a switch in user space has 32 ports, for 30 hosts"),
    (["NET=carrier"], "unknown network \"carrier\": NET takes netns, dpdk, mininet, guest"),
    (["CLUSTER=testbed/clusters/mixed.yaml", "HOSTS=3"], "CLUSTER says which there are"),
    (["CLUSTER=testbed/clusters/mixed.yaml", "TOPO=leafspine"], "CLUSTER is for NET=netns TOPO=star"),
    (["CLUSTER=testbed/clusters/mixed.yaml", "NET=guest"], "CLUSTER is not for NET=guest"),
    (["CLUSTER=/nosuch"], "/nosuch"),
    (["DISKS=meter"], "DISKS is of hosts with a disk, and there is none"),
    (["CLUSTER=testbed/clusters/mixed.yaml", "DISKS=meter"], "DISKS is of hosts with a disk, and there is none"),
    (["CLUSTER=testbed/clusters/hdas.yaml", "DISKS=fast"], "DISKS is \"fast\", must be blkio, io or meter"),
    (["HOST=3"], "HOST is no variable here: HOSTS is"),
    (["policies=fair"], "policies is no variable here: POLICIES is"),
    (["REPEATS=2"], "REPEATS is of NET=spark alone"),
    (["RACKS=3"], "RACKS is not of TOPO=star, but of TOPO=leafspine"),
    (["TOPO=leafspine", "HOSTS=2", "RACKS=3"], "RACKS is 3, but 2 hosts cannot be shared out evenly"),
    (["SWITCH=often"], "SWITCH is \"often\", must be a whole number 0…256"),
    (["SLOW=w30"], "SLOW is \"w30\", must be a host of NET=netns TOPO=star"),
    (["TOPO=leafspine", "SLOW=w1"], "must be a host of NET=netns TOPO=star"),
    (["TOPO=leafspine", "LINK=0"], "LINK is \"0\""),
    (["TOPO=leafspine", "SPINES=0"], "SPINES is \"0\""),
    (["TOPO=leafspine", "OVERSUB=1000"], "OVERSUB=1000 leaves each of 2 spines 150000 bit/s of a rack of 3 hosts, less than 1M"),
])
def test_wrong_words_are_one_sentence(words, sentence):
    child = start("demo", "NO_INSTALL=1", *words)
    said = child.communicate(timeout=60)[0]
    assert child.returncode != 0
    ours = [line for line in said.splitlines() if not line.startswith("make")]
    assert len(ours) == 1 and sentence in ours[0], said


@pytest.mark.parametrize("words, sentence", [
    ([], "give generate, convert TRACE or describe FILE"),
    (["make"], "make is no command"),
    (["describe"], "describe needs a file"),
    (["generate", "file"], "generate takes no file"),
    (["generate", "--load", " 1"], "load is \" 1\", must be a number"),
    (["convert", "/nosuch"], "cannot open the workload /nosuch"),
])
def test_the_generator_refuses_wrong_words_in_one_sentence(words, sentence):
    program = os.path.join(TREE, os.environ.get("BUILD") or "build", "duopoly-workload")
    child = subprocess.run([program, *words], capture_output=True, text=True, timeout=10)
    assert child.returncode != 0 and child.stdout == ""
    assert sentence in child.stderr and child.stderr.count("\n") == 1
