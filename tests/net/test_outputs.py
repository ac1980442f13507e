"""What tasks leave in the folder of outputs, and say on their sockets, against the host that runs
them: links, depth, numbers, floods."""

import ctypes
import glob
import multiprocessing
import os
import shutil
import tempfile

from nets import needs_root, wait_for
from scripted import DONE, FAILED, FIRST, STARTED, command, site  # noqa: F401: a fixture

pytestmark = needs_root

PRECIOUS = 1000
EXCHANGE = 2  # RENAME_EXCHANGE
HERE = -100  # AT_FDCWD
NOBODY = 65534


def swap(outputs, target, ready, stop):
    """A process of tasks.user: a folder of its own there and a link to root's files take each
    other's place, again and again."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    libc = ctypes.CDLL(None)
    folder, link = f"{outputs}/1-0-0-{FIRST + 9}/d".encode(), f"{outputs}/swap".encode()
    os.makedirs(folder)
    for i in range(PRECIOUS):
        open(f"{folder.decode()}/f{i}", "w").close()
    os.symlink(target, link)
    ready.set()
    while not stop.is_set():
        libc.renameat2(HERE, folder, HERE, link, EXCHANGE)


def test_restore_removes_nothing_that_a_link_points_at(site):
    controller, agent = site.begin()
    agent.terminate()
    precious = tempfile.mkdtemp(prefix="duopoly-precious-", dir="/tmp")
    os.chmod(precious, 0o755)
    ready, stop = multiprocessing.Event(), multiprocessing.Event()
    attacker = multiprocessing.Process(target=swap, args=(agent.state + "/outputs", precious, ready, stop))
    try:
        for i in range(PRECIOUS):
            open(f"{precious}/f{i}", "w").close()
        attacker.start()
        assert ready.wait(20)
        for _ in range(5):
            agent.restore()
            assert len(os.listdir(precious)) == PRECIOUS
    finally:
        stop.set()
        attacker.join()
        shutil.rmtree(precious)


DEEP = """
os.mkdir(os.environ["DUOPOLY_TASK_OUTPUT"])
os.chdir(os.environ["DUOPOLY_TASK_OUTPUT"])
for i in range(2100):
    os.mkdir("d")
    open("f", "w").close()
    os.chdir("d")
os.chdir("/")
os.chmod(os.environ["DUOPOLY_TASK_OUTPUT"] + "/d/d", 0)
"""


def test_an_output_deeper_than_a_path_goes(site):
    controller, agent = site.begin(commands={"deep": command(DEEP), "fails": command(DEEP + "sys.exit(1)\n")})
    controller.do(f"start {FIRST + 1} 12 0 0 fails")
    controller.wait_phase(FIRST + 1, FAILED, 60)
    wait_for("its output to go", lambda: not os.listdir(agent.state + "/outputs"), 120)
    controller.do(f"start {FIRST + 2} 12 0 1 deep")
    controller.wait_phase(FIRST + 2, DONE, 60)
    agent.terminate()
    agent.restore()
    assert not os.path.exists(agent.state + "/outputs") and not os.path.exists(agent.state + "/attempts")


def test_folders_by_the_thousand_are_no_outputs(site):
    many = 3000
    controller, agent = site.begin(commands={"many": command(f"""
above = os.path.dirname(os.environ["DUOPOLY_TASK_OUTPUT"])
os.mkdir(os.environ["DUOPOLY_TASK_OUTPUT"])
for i in range({many}):
    os.mkdir("%s/77-0-%d-%d" % (above, i, {FIRST + 1000} + i))
""")})
    controller.do(f"start {FIRST + 1} 12 0 0 many")
    controller.wait_phase(FIRST + 1, DONE, 60)
    assert len(os.listdir(agent.state + "/outputs")) > many
    agent.kill()
    agent.start()
    site.wait_session(2)
    outputs = [o for m in controller.messages if m["kind"] == "inventory_part" for o in m["outputs"]]
    assert [12, 0, 0, FIRST + 1] in outputs and not [o for o in outputs if o[0] == 77]
    wait_for("what is no output to go", lambda: os.listdir(agent.state + "/outputs") == [f"12-0-0-{FIRST + 1}"], 120)


FLOODS = {"misses": 'b"missing 0 %d 1 10.99.0.1" % i', "again": 'b"missing 0 0 1 10.99.0.1"', "stalled": 'b"stalled 10.99.0.2 %d" % (i % 100)',
          "nonsense": 'b"x" * 400', "connection": 'b"connection 10.99.0.1 1000 10.99.0.2 %d" % (1 + i % 60000)'}


def test_a_task_that_floods_fails_and_its_host_serves_on(site):
    controller, agent = site.begin(commands={name: command(f"""
i = 0
while True:
    say.send({words})
    i += 1
""") for name, words in FLOODS.items()})
    controller.do(f"start {FIRST + 100} 1 0 0 sleep")
    controller.wait_phase(FIRST + 100, STARTED)
    for n, name in enumerate(FLOODS):
        attempt = FIRST + 1 + n
        controller.do(f"start {attempt} 2 0 {n} {name}")
        failed = controller.wait_phase(attempt, FAILED, 60)
        assert "more than 2000 words" in failed["text"], failed
        wait_for("its cgroup to go", lambda: len(agent.cgroups()) == 1)
    said = [m for m in controller.messages if m["kind"] in ("output_lost", "source_state")]
    assert len(said) < 3000, len(said)
    assert [s["phase"] for s in controller.states(FIRST + 100)] == [STARTED]
    assert len(controller.of("inventory_end")) == 1  # no session broke
    assert open(agent.log).read().count("is ended: it said more than 2000 words") == len(FLOODS)


def test_a_restored_host_has_nothing_left_of_outputs(site):
    controller, agent = site.begin(commands={"makes": command('os.mkdir(os.environ["DUOPOLY_TASK_OUTPUT"])\n')})
    controller.do(f"start {FIRST + 1} 12 0 0 makes")
    controller.wait_phase(FIRST + 1, DONE)
    wait_for("the acknowledged attempt to leave the disk", lambda: agent.attempts_on_disk() == [])
    assert glob.glob(agent.state + "/attempts/*") == [f"{agent.state}/attempts/12-0-0-{FIRST + 1}"]
    agent.terminate()
    agent.restore()
    assert not os.path.exists(agent.state + "/outputs") and not os.path.exists(agent.state + "/attempts")
