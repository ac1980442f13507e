"""What duopoly-agent says and obeys under a scripted controller: reports, marks while it is leased, epochs, its configuration, and what it leaves."""

import os
import signal
import socket
import subprocess
import threading
import time

import pytest

import tcx
from nets import BUILD, TOP, Capture, cgroup2_root, needs_root, run, wait_for
from scripted import DONE, EPOCH, FIRST, LOST, STARTED, Agent, Controller, command, site  # noqa: F401: a fixture

pytestmark = needs_root


def test_hello_inventory_and_reports(site):
    controller, agent = site.begin()
    hello = controller.of("hello")[0]
    assert (hello["name"], hello["slots"], hello["uplink_bps"]) == ("h1", 2, 100_000_000)
    loads = len(controller.of("load"))
    start = time.monotonic()
    wait_for("ten load reports", lambda: len(controller.of("load")) >= loads + 10)
    assert 0.7 < time.monotonic() - start < 2.0, "a load report every 100 ms"
    wait_for("counters", lambda: controller.of("agent_counters"))


def test_marks_follow_levels_and_end_with_the_attempt(site):
    """A command's connection is marked from the SYN on, and carries the attempt's level after it; a new level and mode act at once."""
    net = site.net
    controller, agent = site.begin(commands={
        "fetch": command("""
import time
s = socket.create_connection(("10.99.0.2", 5555))
say.send(("connection %s %d %s %d" % (*s.getsockname(), *s.getpeername())).encode())
while s.recv(65536): pass
""")})
    with net.hosts[1].inside():
        listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", 5555))
    listener.listen(4)
    listener.settimeout(10)
    out = Capture(net.sw, "p1")
    controller.do(f"start {FIRST + 1} 1 0 0 fetch 1 2 5")
    s, _ = listener.accept()
    s.send(b"x" * 10_000)

    def marks():
        out.clear()
        s.send(b"x" * 3000)
        return wait_for("packets", lambda: {p.dscp for p in out.read() if 5555 in (p.sport, p.dport)})
    wait_for("progress", lambda: any(m["bytes"].get(str(FIRST + 1)) == 10_000 for m in controller.of("progress")))
    packets = [p for p in out.read() if 5555 in (p.sport, p.dport)]
    assert {p.dscp for p in packets if p.flags & 2} == {3}, "a handshake waits for nobody's content"
    assert {p.dscp for p in packets if not p.flags & 2} == {4 * 2 + 3}
    controller.do("mode 1 1")
    wait_for("the mode", lambda: marks() == {4 * 5 + 3})
    controller.do("mode 0 0")  # older: ignored
    controller.do(f"levels {FIRST + 1} 1 0")
    wait_for("the level", lambda: marks() == {3})
    connections = [line for line in open(agent.measurements) if line.startswith(f"connection {FIRST + 1} ")]
    assert len(connections) == 1 and connections[0].split()[4:6] == ["10.99.0.2", "5555"]
    s.close()
    listener.close()
    done = controller.wait_phase(FIRST + 1, DONE)
    assert done["bytes"] >= 16_000 and done["bytes"] % 1000 == 0
    out.close()


def test_without_controller_marks_end_and_tasks_run_on(site):
    controller, agent = site.begin()
    controller.do("lease 300")
    controller.do("leases 0")
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its process", lambda: agent.pids(FIRST + 1))
    controller.stop()
    site.controller = Controller(site.net.hosts[1], site.address, EPOCH + 1)
    site.wait_session()
    assert agent.pids(FIRST + 1) == pids
    assert site.controller.of("hello")[0]["epoch"] == EPOCH
    part = site.controller.of("inventory_part")[0]
    assert [(a["attempt"], a["phase"]) for a in part["attempts"]] == [(FIRST + 1, STARTED)]


def test_marks_are_renewed_only_while_the_controller_leases(site):
    """Without the controller's lease the marks run out by themselves, tasks run on, and a new lease brings them back."""
    net = site.net
    controller, agent = site.begin(marks=", lease: 1.5 s", commands={
        "sends": command("""
import time
s = socket.create_connection(("10.99.0.2", 5556))
while True:
    s.send(b"x" * 100)
    time.sleep(0.01)
""")})
    with net.hosts[1].inside():
        listener = socket.socket()
    listener.bind(("0.0.0.0", 5556))
    listener.listen(4)
    out = Capture(net.sw, "p1")
    controller.do("lease 300")
    controller.do(f"start {FIRST + 1} 1 0 0 sends 1 2 5")
    controller.wait_phase(FIRST + 1, STARTED)

    def marks():
        out.clear()
        return wait_for("packets", lambda: {p.dscp for p in out.read() if p.dport == 5556 and p.payload})
    wait_for("marks", lambda: marks() == {4 * 2 + 3})
    controller.do("leases 0")
    # As late as the lease of WELCOME runs out, 10 s, when none of the short ones had been sent.
    wait_for("marks to end", lambda: marks() == {0}, 20)
    assert agent.pids(FIRST + 1) and agent.process.poll() is None
    controller.do("leases 1")
    wait_for("marks to come back", lambda: marks() == {4 * 2 + 3}, 5)
    wait_for("the expiry to be counted", lambda: controller.of("agent_counters") and controller.of("agent_counters")[-1]["expiries"] == 1)
    listener.close()
    out.close()


def test_a_switch_agent_manages_all_ports_and_puts_back_what_stood_there(site):
    net = site.net
    for port in ("p1", "p2"):
        net.sw.tc("qdisc", "add", "dev", port, "root", "tbf", "rate", "100000000", "burst", "16000", "limit", "300000")
    before = net.sw.tc("qdisc", "show")
    net.sw.ip("addr", "add", "10.99.0.251/24", "dev", "br0")
    controller, agent = site.begin(host=net.sw, name="s", role="switch", flags=["--replace"])
    hello = controller.of("hello")[0]
    assert (hello["role"], hello["units"]) == (1, 0)
    assert controller.of("inventory_end") and not controller.of("inventory_part")
    for port in ("p1", "p2"):
        shown = net.sw.tc("qdisc", "show", "dev", port)
        assert "htb" in shown and "tbf" not in shown and tcx.hooked(net.sw, port) == ["egress"]
    wait_for("counters", lambda: len(controller.of("agent_counters")) >= 2)
    assert len(controller.of("hello")) == 1, "it speaks often enough not to be silent"
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    wait_for("the refusal", lambda: controller.of("agent_counters")[-1]["refused"] == 1)
    agent.terminate()
    assert net.sw.tc("qdisc", "show") == before


def test_no_session_under_an_epoch_that_cannot_be_kept(site):
    """A later agent would obey an older controller."""
    place = os.path.join(site.net.dir, "h1", "epoch")
    os.makedirs(place)
    site.controller = Controller(site.net.hosts[1], site.address)
    site.agent = Agent(site.net, site.net.hosts[0], site.address)
    wait_for("its words", lambda: f"epoch cannot be kept: writing {place}" in open(site.agent.log).read())
    assert not site.controller.of("inventory_end")
    os.rmdir(place)
    site.wait_session()
    assert int(open(os.path.join(site.agent.state, "epoch")).read()) == EPOCH


def test_questions_repetitions_and_old_epochs(site):
    controller, agent = site.begin()
    controller.do(f"ask {FIRST + 9}")
    controller.wait_phase(FIRST + 9, LOST)
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its process", lambda: agent.pids(FIRST + 1))
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    wait_for("the same answer", lambda: [s["phase"] for s in controller.states(FIRST + 1)] == [STARTED, STARTED])
    assert agent.pids(FIRST + 1) == pids
    controller.do(f"raw_epoch {EPOCH - 1}")
    controller.do(f"start {FIRST + 2} 1 0 0 sleep")
    wait_for("the refusal", lambda: [m for m in controller.of("agent_counters") if m["refused"] == 1])
    assert not controller.states(FIRST + 2)


def test_acknowledgements_come_after_the_effect(site):
    """A start is acknowledged when its process exists: the answer that says so carries the acknowledgement, none before it."""
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    for m in controller.messages:
        started = m["kind"] == "attempt_state"
        assert m["acknowledged"] == (1 if started else 0), m
        if started:
            break


def test_an_older_controller_is_not_obeyed_after_a_newer_one(site):
    controller, agent = site.begin()
    controller.stop()
    site.controller = Controller(site.net.hosts[1], site.address, EPOCH - 1)
    wait_for("HELLO twice", lambda: len(site.controller.of("hello")) >= 2, 15)
    assert not site.controller.of("inventory_end")
    assert site.controller.of("hello")[0]["epoch"] == EPOCH


def test_an_agent_gives_way_to_another_of_its_name(site):
    """It asks again after 1 s and then 2 s, with HELLOs that a younger process's would beat, and says so once."""
    controller, agent = site.begin()
    controller.do("rivals 1")
    site.wait_session(2)
    hellos = controller.of("hello")
    assert [int(h["hello"]) - int(hellos[0]["hello"]) for h in hellos] == [0, 1, 2]
    said = [line for line in open(agent.log) if "another agent named h1" in line]
    assert len(said) == 1, open(agent.log).read()


def test_a_silent_controller_is_sought_again(site):
    controller, agent = site.begin()
    controller.process.send_signal(signal.SIGSTOP)
    try:
        wait_for("the end of the session", lambda: "silent" in open(agent.log).read(), 10)
    finally:
        controller.process.send_signal(signal.SIGCONT)
    site.wait_session(2)


def flood_uplink(site, until):
    """Sends as much as goes until `until()` is true."""
    with site.net.hosts[0].inside():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stop = threading.Event()

    def flood():
        while not stop.is_set():
            try:
                s.sendto(b"x" * 1400, ("10.99.0.2", 9))
            except OSError:
                pass
    thread = threading.Thread(target=flood)
    thread.start()
    try:
        wait_for("a full uplink", until)
    finally:
        stop.set()
        thread.join()
        s.close()


def test_use_of_the_link_is_told_at_once_when_it_crosses(site):
    """Beside the report every 100 ms; a crossing that falls on that beat (one in five) shows nothing, so there are several."""
    controller, _agent = site.begin()

    def gaps():
        times = [m["ns"] for m in controller.of("load")]
        return [(b - a) / 1e6 for a, b in zip(times, times[1:])]
    for _ in range(20):
        seen = len(controller.of("load"))
        flood_uplink(site, lambda: [m for m in controller.of("load")[seen:] if m["up"] > 900])
        wait_for("an idle uplink", lambda: controller.of("load")[-1]["up"] < 100)
        if any(gap < 85 for gap in gaps()[seen:]):
            return
    raise AssertionError("no report came between two beats")


def test_two_agents_cannot_share_a_state_directory(site):
    controller, agent = site.begin()
    p = subprocess.run(["nsenter", "--net=/run/netns/" + agent.host.name, "--", BUILD + "/duopoly-agent", "--config", agent.config],
                       capture_output=True, text=True, timeout=10)
    assert p.returncode == 1 and "another duopoly-agent" in p.stderr
    assert "htb" in agent.host.tc("qdisc", "show", "dev", "up0"), "the first one's queues stay"


def state_of_machine(net):
    """What is ours of it: agents of other tests may run beside this one."""
    return [net.hosts[0].tc("qdisc", "show"), run("mount").count(net.dir), sorted(os.listdir(net.dir)),
            [d for d in os.listdir(cgroup2_root()) if d.startswith(net.prefix)]]


def test_term_restores_queues_and_marks_and_restore_ends_all(site):
    before = state_of_machine(site.net)
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pid = wait_for("its process", lambda: agent.pids(FIRST + 1))[0]
    agent.terminate()
    assert site.net.hosts[0].tc("qdisc", "show") == before[0]
    assert agent.pids(FIRST + 1) == [pid], "attempts outlive the agent"
    agent.restore()
    site.agent = None
    assert not agent.pids(FIRST + 1)
    for name in (agent.config, agent.measurements, agent.log, *agent.scripts):
        os.unlink(name)
    assert state_of_machine(site.net) == before


@pytest.mark.parametrize("change,words", [
    (("units: [{slots: 2}]", ""), ["units"]), (("units: [{slots: 2}]", "units: [{name: a, slots: 1}, {name: a, slots: 1}]"), [":7:30:", "two units are called a"]),
    (("units: [{slots: 2}]", "units: [{name: 'a b', slots: 1}]"), ["cannot be a unit's name"]), (("rate: 100 Mbps", "rate: 100"), [":8:", "100"]),
    (("name: h1", "name: h1\nnome: h2"), [":2:", "nome", "name"]), (("tcp://", "udp://"), [":2:13:", "udp://"]),
    (("10.99.0.0/24", "10.99.0.0/33"), ["10.99.0.0/33"]), ((":7000", ":70000"), [":2:13:", "'70000'"]), (("name: h1", "name: h/1"), [":1:7:", "h/1"]),
    (("state: /", "state: "), [":3:8:", "absolute"]), (("measurements: /", "measurements: "), [":4:15:", "absolute"]),
    (("measurements: /", "measurements: /no/such/"), [":4:15:", "not on this host"]),
    (("tasks:\n", "tasks:\n  user: no-such-user\n"), [":10:9:", "no-such-user", "on this host"]),
    (("tasks:\n", "tasks:\n  program: /etc/passwd\n"), [":10:12:", "no program that this host can run"]),
    (("tasks:\n", "tasks:\n  cgroup_root: /no/such/root\n"), [":10:16:", "/no/such/root"])])
def test_bad_configurations_get_one_sentence_and_change_nothing(site, change, words):
    site.begin()
    site.agent.terminate()
    before = site.net.hosts[0].tc("qdisc", "show")
    with open(site.agent.config) as f:
        text = f.read()
    assert change[0] in text
    bad = site.agent.config + ".bad"
    with open(bad, "w") as f:
        f.write(text.replace(*change))
    p = subprocess.run(["nsenter", "--net=/run/netns/" + site.agent.host.name, "--", BUILD + "/duopoly-agent", "--config", bad],
                       capture_output=True, text=True, timeout=10)
    assert p.returncode == 1 and p.stderr.count("\n") == 1, p.stderr
    assert all(word in p.stderr for word in words), p.stderr
    assert site.net.hosts[0].tc("qdisc", "show") == before


def test_the_manual_is_a_right_configuration(site):
    text = open(os.path.join(TOP, "schemas/duopoly-agent.yaml")).read().replace("uplink: eth0", "uplink: up0").replace("/usr/lib/duopoly", BUILD)
    path = os.path.join(site.net.dir, "manual.yaml")
    uncommented = []
    for line in text.splitlines():
        stripped = line.lstrip()
        is_key = stripped.startswith("# ") and stripped[2:].split(":")[0].replace("_", "").isalnum() and ":" in stripped
        known = stripped[2:].split(":")[0] in ("switch", "role", "controller", "address", "rack", "labels", "state", "measurements", "log_level", "on_exit",
                                               "high", "low", "driver", "levels", "leaf_packets", "on_change", "floor", "unmanaged", "control", "members", "dscp", "lease",
                                               "flows", "bpffs", "user", "program", "cgroup_root", "cgroup", "bridge")
        uncommented.append(line.replace("# ", "", 1) if is_key and known and stripped == stripped.lstrip() and stripped[2] != " " else line)
    for content in (text, "\n".join(uncommented) + "\n"):
        with open(path, "w") as f:
            f.write(content)
        p = subprocess.run(["nsenter", "--net=/run/netns/" + site.net.hosts[0].name, "--", BUILD + "/duopoly-agent", "--config", path, "--check"],
                           capture_output=True, text=True, timeout=10)
        assert p.returncode == 0, p.stderr
