"""The recording of a real duopolyd: bounded whatever is submitted, never in the way, whole after a kill and on again after a full disk."""
import os
import pathlib
import resource
import subprocess

import pytest

from controller import BUILD, Agent, Client, Daemon, pb, wait_until, workload


@pytest.fixture
def made():
    """What is made is gone when the test is over."""
    things = []
    yield things
    for thing in reversed(things):
        thing.remove() if isinstance(thing, Daemon) else thing.close()


def daemon_of(made, max_bytes, **more):
    made.append(Daemon(log="max_bytes: %s" % max_bytes, **more))
    return made[-1]


def agent_of(made, daemon, **more):
    made.append(Agent(daemon, "h1", **more))
    made[-1].join()
    return made[-1]


def round_trip(agent):
    """An empty one: a numbered heartbeat and its acknowledgement."""
    agent.acknowledged(agent.send(numbered=True, agent_heartbeat=pb.AgentHeartbeat()))


def small_jobs(n):
    return [{"id": i, "stages": [{"tasks": 1, "compute_ms": 1}]} for i in range(1, n + 1)]


def files_of(daemon):
    return sorted((daemon.folder / "log").glob("duopoly.log*"))


def replay_all(daemon):
    for path in files_of(daemon):
        done = subprocess.run([BUILD / "duopoly-sim", "replay", "--quiet", path], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr


def parts(path):
    """Bytes of a file's state, and of what follows."""
    lines = path.read_text().splitlines(keepends=True)
    state = sum(len(l) for l in lines if l.startswith("dump "))
    return state, sum(len(l) for l in lines) - state


def test_many_small_jobs_do_not_turn_the_files_over(made):
    daemon = daemon_of(made, "16 kB")
    agent = agent_of(made, daemon, slots=1)
    daemon.ctl("drain", "h1")
    daemon.ctl("submit", workload(daemon.folder, small_jobs(1500)))
    round_trip(agent)
    before = daemon.counters()
    for _ in range(10):
        daemon.ctl("status")
        round_trip(agent)
    after = daemon.counters()
    assert after["recording.files"] - before["recording.files"] <= 1, "one may have been on its way"
    assert after["recording.dropped"] == 0 and after["recording.steps"] >= 1500
    assert after["recording.files"] <= 12, "each is about twice as long as the one before"
    assert daemon.stop() == 0
    finished = [parts(path) for path in files_of(daemon)[1:]]
    assert finished and all(follows >= max(state, 16000) for state, follows in finished)
    replay_all(daemon)


def test_a_job_of_a_million_tasks_is_in_nobodys_way(made):
    daemon = daemon_of(made, "1 MB")
    agent = agent_of(made, daemon, slots=1)
    daemon.ctl("drain", "h1")
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "stages": [{"tasks": 1000000, "compute_ms": 1}]}]))
    for _ in range(100):
        round_trip(agent)
    assert daemon.ctl("jobs")["jobs"][0]["task_count"] == 1000000
    counters = wait_until(lambda: settled(daemon), "no file is on its way")
    assert counters["recording.files"] <= 8 and counters["recording.dropped"] == 0
    for _ in range(100):
        round_trip(agent)
        daemon.ctl("status")
    assert daemon.counters()["recording.files"] == counters["recording.files"], "the state alone fills no file"


def settled(daemon):
    return None if (daemon.folder / "log" / "duopoly.next").exists() else daemon.counters()


def test_reports_of_unknown_attempts_are_not_recorded(made):
    daemon = daemon_of(made, "16 kB")
    agent = agent_of(made, daemon)
    before = daemon.counters()
    for attempt in range(1000):
        last = agent.state((1 << 32) + 5000 + attempt, "DONE")
    agent.acknowledged(last)
    after = daemon.counters()
    assert after["engine.events"] - before["engine.events"] < 10  # the engine does not hear of them
    assert after["recording.bytes"] - before["recording.bytes"] < 1000
    assert daemon.stop() == 0
    replay_all(daemon)


def test_a_killed_controllers_recording_is_whole(made):
    daemon = daemon_of(made, "16 kB")
    agent_of(made, daemon)
    daemon.ctl("submit", workload(daemon.folder, small_jobs(300)))
    daemon.kill()
    replay_all(daemon)
    assert not [l for l in daemon.log() if l.startswith("end ")]
    daemon.start()
    assert daemon.stop() == 0
    assert daemon.log()[-1] == "end stopped" and len(files_of(daemon)) > 1
    replay_all(daemon)


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def alive(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_controller_killed_while_a_file_begins_leaves_the_one_before(made):
    daemon = daemon_of(made, "16 kB")
    agent_of(made, daemon)
    os.mkfifo(daemon.folder / "log" / "duopoly.next")  # nobody reads: the state is never written
    daemon.ctl("submit", workload(daemon.folder, small_jobs(300)))
    child, = wait_until(lambda: children_of(daemon.process.pid), "a dump is under way")
    daemon.ctl("cancel", 1)
    wait_until(lambda: any(l.startswith("e job_cancel") for l in daemon.log()), "the file before goes on")
    daemon.kill()
    wait_until(lambda: not alive(child), "the dump's child ends with the controller")
    replay_all(daemon)
    daemon.start()
    assert daemon.stop() == 0
    assert daemon.log()[-1] == "end stopped" and not (daemon.folder / "log" / "duopoly.next").exists()


def test_after_a_full_disk_it_goes_on(made):
    daemon = daemon_of(made, "64 kB")
    agent = agent_of(made, daemon)
    unlimited = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    client = Client(daemon)
    for i in range(100):
        client.ask(submit_begin=pb.SubmitBegin(name=f"job-{i}", content=1, estimate_bytes=-1, estimate_ns=-1))
        client.ask(submit_stage=pb.SubmitStage(stage=0, tasks=1, demand=pb.Resources(slots=1), command="map"))
        assert client.ask(submit_prepare=pb.SubmitPrepare(parts=2)).HasField("accepted")
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (8000, unlimited[1]))
    assert "nothing was begun" in client.ask(submit_commit=pb.SubmitCommit()).refused.text, "the store has no room either"
    client.close()
    wait_until(lambda: daemon.ctl("status") and "steps are left out" in daemon.words(), "the operator is told")
    round_trip(agent)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, unlimited)
    wait_until(lambda: daemon.ctl("status") and "goes on in a new file" in daemon.words(), "it goes on")
    wait_until(lambda: "the store is written again" in daemon.words(), "the store goes on too")
    dropped = daemon.counters()["recording.dropped"]
    assert dropped > 0 and daemon.words().count("steps are left out") == 1
    daemon.ctl("cancel",
               daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "name": "again", "stages": [{"tasks": 1, "compute_ms": 1}]}]))["jobs"][0]["job"])
    assert daemon.stop() == 0
    replay_all(daemon)
    assert "dropped %d" % dropped in daemon.log()
    assert [l for l in daemon.log() if l.startswith("e job_cancel")]


def test_it_is_on_by_default_and_can_be_switched_off(made):
    made.append(Daemon(log=None))
    assert made[0].counters()["recording.files"] == 1
    assert made[0].stop() == 0
    assert (made[0].folder / "state" / "log" / "duopoly.log").read_text().endswith("end stopped\n")
    made.append(Daemon(log="folder: none"))
    assert "recording.files" not in made[1].counters()
    assert not (made[1].folder / "state" / "log").exists()


@pytest.mark.parametrize("left", [0, 7])
def test_a_torn_recording_is_told(tmp_path, left):
    """Its last line alone is left out; nothing is said of one that is whole."""
    whole = pathlib.Path("tests/recordings/nats-cans-even.log").read_bytes()
    file = tmp_path / "duopoly.log"
    file.write_bytes(whole[:len(whole) - left])
    for words in (["replay", "--quiet", file], ["explain", file, "mode"]):
        done = subprocess.run([BUILD / "duopoly-sim", *words], capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0, done
        assert ("its last line is torn and left out" in done.stderr) == bool(left), done.stderr
