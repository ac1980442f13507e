"""Attempts that duopoly-agent and duopoly-task run under a scripted controller: from their start to their result, in slots, and stopped."""

import glob
import os
import pwd
import signal
import socket
import subprocess
import time

import pytest

from nets import BUILD, needs_root, run, wait_for
from scripted import COMPUTING, DONE, FAILED, FIRST, KILLED, QUEUED, REFUSED, STARTED, command, site  # noqa: F401: a fixture

pytestmark = needs_root


def test_an_attempt_from_start_to_result(site):
    controller, agent = site.begin(commands={
        "reduce": command("""
assert os.getuid() != 0 and os.getpgid(0) == os.getpid()
text = open(os.environ["DUOPOLY_TASK_INPUT"]).read()
wanted = "job 12\\nstage 1\\ntask 3\\nattempt %d\\ncompute_ns 25500000\\noutput_bytes 0\\nstall_ms 0\\ninput 10.99.0.2 1500000 map 0 7 99\\n" % (FIRST + 1)
assert text.startswith("duopoly-task-input 1\\n") and text[text.index("job "):] == wanted, text
say.send(b"received")
os.makedirs(os.environ["DUOPOLY_TASK_OUTPUT"])
say.send(b"done")
""".replace("FIRST", str(FIRST)))})
    controller.do(f"start {FIRST + 1} 12 1 3 reduce 1 2 5 0 25500000 10.99.0.2 1500000")
    done = controller.wait_phase(FIRST + 1, DONE)
    phases = [s["phase"] for s in controller.states(FIRST + 1)]
    assert phases == [STARTED, COMPUTING, DONE], (phases, done["text"])
    assert (done["job"], done["stage"], done["task"], done["coflow"], done["macroflow"], done["slots"]) == (12, 1, 3, 2, 5, 1)
    wait_for("the acknowledged attempt to leave the disk", lambda: agent.attempts_on_disk() == [])
    wait_for("its cgroup to go", lambda: agent.cgroups() == [])
    held = glob.glob(agent.state + "/outputs/*")
    assert [os.path.basename(h) for h in held] == [f"12-1-3-{FIRST + 1}"]
    controller.do("forget 12")
    wait_for("the output to go", lambda: not glob.glob(agent.state + "/outputs/*"))


def test_failures_carry_status_and_last_line(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 false")
    failed = controller.wait_phase(FIRST + 1, FAILED)
    assert (failed["exit"], failed["text"]) == (7, "the last")
    controller.do(f"start {FIRST + 2} 1 0 0 missing")
    failed = controller.wait_phase(FIRST + 2, FAILED)
    assert failed["exit"] == 127 and "No such file" in failed["text"]
    controller.do(f"start {FIRST + 3} 1 0 0 sleep")
    controller.wait_phase(FIRST + 3, STARTED)
    os.kill(wait_for("its process", lambda: agent.pids(FIRST + 3))[0], signal.SIGSEGV)
    assert controller.wait_phase(FIRST + 3, FAILED)["exit"] == -signal.SIGSEGV
    controller.do(f"start {FIRST + 4} 1 0 0 nosuch")
    assert "command" in controller.wait_phase(FIRST + 4, REFUSED)["text"]


def test_commands_never_run_as_root(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    pid = wait_for("its process", lambda: agent.pids(FIRST + 1))[0]
    wait_for("exec", lambda: os.readlink(f"/proc/{pid}/exe").endswith("sleep"))
    assert os.stat(f"/proc/{pid}").st_uid == pwd.getpwnam("nobody").pw_uid
    status = open(f"/proc/{pid}/status").read()
    assert "CapEff:\t0000000000000000" in status and "Groups:\t\n" in status.replace(" ", "")
    config = open(agent.config).read().replace("tasks:\n", "tasks:\n  user: root\n")
    bad = agent.config + ".root"
    with open(bad, "w") as f:
        f.write(config)
    p = subprocess.run(["nsenter", "--net=/run/netns/" + agent.host.name, "--", BUILD + "/duopoly-agent", "--config", bad, "--check"],
                       capture_output=True, text=True)
    assert p.returncode == 1 and "root" in p.stderr and p.stderr.count("\n") == 1


def test_a_removed_cgroup_is_made_again_and_counted(site):
    controller, agent = site.begin(commands={"fetch": f"""import socket
s = socket.create_connection(("{site.net.hosts[1].address}", 4455))
while s.recv(65536):
    pass
"""})
    with site.net.hosts[1].inside():
        listener = socket.socket()
    listener.bind(("0.0.0.0", 4455))
    listener.listen()
    listener.settimeout(10)
    for attempt in (FIRST + 1, FIRST + 2):
        os.rmdir(agent.cgroup)
        if attempt == FIRST + 2:
            os.mkdir(agent.cgroup)
        controller.do(f"start {attempt} 1 0 0 fetch")
        served, _ = listener.accept()
        served.sendall(b"x" * 54_321)
        served.close()
        assert controller.wait_phase(attempt, DONE)["bytes"] == 54_321
        wait_for("its cgroup to go", lambda: agent.cgroups() == [])
    listener.close()
    assert open(agent.log).read().count("it is made again") == 2


def test_slots_are_bounded_queued_and_free_at_the_end(site):
    controller, agent = site.begin()
    for i in (1, 2):
        controller.do(f"start {FIRST + i} 1 0 {i} sleep")
        controller.wait_phase(FIRST + i, STARTED)
    controller.do(f"start {FIRST + 3} 1 0 3 sleep")
    assert "room" in controller.wait_phase(FIRST + 3, REFUSED)["text"]
    controller.do(f"start {FIRST + 4} 1 0 4 sleep 1 0 0 1")
    controller.do(f"start {FIRST + 5} 1 0 5 sleep 1 0 0 1")
    controller.wait_phase(FIRST + 4, QUEUED)
    controller.wait_phase(FIRST + 5, QUEUED)
    controller.do(f"stop {FIRST + 1} 1000")
    controller.wait_phase(FIRST + 1, KILLED)
    controller.wait_phase(FIRST + 4, STARTED)
    assert [s["phase"] for s in controller.states(FIRST + 5)] == [QUEUED]
    controller.do(f"stop {FIRST + 5} 0")
    controller.wait_phase(FIRST + 5, KILLED)
    controller.do(f"start {FIRST + 6} 1 0 6 sleep 3")
    assert "more than the unit has" in controller.wait_phase(FIRST + 6, REFUSED)["text"]


def test_stop_sends_term_then_kills_everything_after_the_grace(site):
    controller, agent = site.begin(commands={
        "stubborn": command("""
import signal, subprocess, time
signal.signal(signal.SIGTERM, lambda *a: open(os.environ["DUOPOLY_TASK_OUTPUT"] + "/term", "w"))
os.mkdir(os.environ["DUOPOLY_TASK_OUTPUT"])
subprocess.Popen(["setsid", "sleep", "1000"])
say.send(b"received")
while True: time.sleep(0.01)
""")})
    controller.do(f"start {FIRST + 1} 1 0 0 stubborn")
    controller.wait_phase(FIRST + 1, COMPUTING)
    wait_for("its child in another session", lambda: len(agent.pids(FIRST + 1)) == 2)
    pids = agent.pids(FIRST + 1)
    start = time.monotonic()
    controller.do(f"stop {FIRST + 1} 500")
    wait_for("SIGTERM", lambda: glob.glob(agent.state + "/outputs/*/term"))
    killed = controller.wait_phase(FIRST + 1, KILLED)
    assert killed["exit"] == -signal.SIGKILL and time.monotonic() - start > 0.45
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    wait_for("its output to go", lambda: not glob.glob(agent.state + "/outputs/*"))


def test_what_a_command_leaves_behind_dies_with_it(site):
    controller, agent = site.begin(commands={"leaves": ["sh", "-c", "setsid sleep 1000 & exit 0"]})
    controller.do(f"start {FIRST + 1} 1 0 0 leaves")
    controller.wait_phase(FIRST + 1, DONE)
    wait_for("its cgroup to go", lambda: agent.cgroups() == [])


def test_a_full_file_system_refuses_with_a_sentence(site):
    small = os.path.join(site.net.dir, "h1")
    os.mkdir(small)
    run("mount", "-t", "tmpfs", "-o", "size=256k", "none", small)
    try:
        controller, agent = site.begin()
        with open(small + "/filler", "wb", buffering=0) as filler:
            with pytest.raises(OSError):
                while True:
                    filler.write(b"x" * 4096)
        room = wait_for("what it says of its room", lambda: controller.of("host_room"))
        assert "No space left" in room[0]["text"]
        controller.do(f"start {FIRST + 1} 1 0 0 true")
        assert "No space left" in controller.wait_phase(FIRST + 1, REFUSED)["text"]
        assert agent.cgroups() == [] and agent.attempts_on_disk() == []
        os.unlink(small + "/filler")
        wait_for("that there is room again", lambda: [m["text"] for m in controller.of("host_room")][1:] == [""])
        controller.do(f"start {FIRST + 2} 1 0 0 true")
        controller.wait_phase(FIRST + 2, DONE)
        site.end()
        site.agent = site.controller = None
    finally:
        run("umount", "-l", small)
