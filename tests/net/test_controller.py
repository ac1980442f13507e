"""duopolyd as a whole: real sockets, real messages, a real engine; agents are played by the test."""
import os
import socket
import subprocess
import time

import pytest

from controller import BUILD, SECOND, pb, wait_until, workload


def one_job(name="j", maps=1, reduces=1):
    return {"id": 1, "name": name, "stages": [
        {"tasks": maps, "input_bytes": 1000, "replicas": [[0]] * maps, "compute_ms": 5},
        {"tasks": reduces, "compute_ms": 7, "parents": [{"stage": 0, "sums": [2000] * reduces}]}]}


def run_attempt(agent, start):
    for phase in ("STARTED", "RECEIVING", "COMPUTING", "DONE"):
        sequence = agent.state(start.attempt, phase, received_bytes=2000)
    agent.acknowledged(sequence)


def next_start(*agents):
    """Which of them is told to start something next, and what."""
    for agent in agents:
        if agent.running:
            return agent, agent.running.popitem()[1]
    ready = wait_until(lambda: [a for a in agents if a.socket.poll(0) and a.receive_start()], "a start")
    return ready[0], ready[0].running.popitem()[1]


def test_a_job_runs_from_submission_to_its_end(cluster):
    daemon = cluster.daemon()
    h1, h2 = cluster.agent(daemon, "h1", host=1), cluster.agent(daemon, "h2", host=2)
    assert h1.join().mode == 0 and h2.join().epoch == 1
    answer = daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    assert answer["jobs"] == [{"job": 1, "name": "j", "id": 1, "answer": "accepted"}]
    start = h1.expect("start").start
    assert (start.job, start.stage, start.task, start.command, start.compute_ns) == (1, 0, 0, "map", 5_000_000)
    assert start.attempt == (1 << 32 | 1) and start.resources.slots == 1 and start.inputs == 0
    tasks = daemon.ctl("tasks")["tasks"]
    assert [(t["host"], t["attempt"]) for t in tasks] == [("h1", start.attempt)]
    run_attempt(h1, start)
    agent, reduce = next_start(h1, h2)
    assert (reduce.stage, reduce.command, reduce.inputs) == (1, "reduce", 1)
    inputs = agent.expect("start_inputs").start_inputs
    assert [(i.bytes, i.stage, i.task, i.attempt, i.address[-1]) for i in inputs.inputs] == [(2000, 0, 0, start.attempt, 1)]
    run_attempt(agent, reduce)
    assert daemon.ctl("jobs")["jobs"] == []
    job = daemon.ctl("job", 1)
    assert (job["state"], job["task_count"], job["done"]) == ("done", 2, 2)
    assert h1.expect("forget").forget.job == 1
    assert daemon.stop() == 0
    log = daemon.log()
    assert log[0] == "duopoly-log 1" and log[-1] == "end stopped"
    assert [l.split()[1] for l in log if l.startswith("d ")].count("start") == 2
    replay = [BUILD / "duopoly-sim", "replay", "--quiet", daemon.folder / "log" / "duopoly.log"]
    assert subprocess.run(replay, timeout=20, check=False).returncode == 0, "the log decides the same again"


def test_time_can_be_scripted(cluster):
    daemon = cluster.daemon(scripted=True)
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    states = []
    for seconds in (0, 2, 2, 20, 10):
        daemon.clock.advance(seconds * SECOND)
        states.append(daemon.ctl("hosts")["hosts"][0]["state"])
    assert states == ["up", "up", "silent", "silent", "lost"]
    h1.send(agent_heartbeat=pb.AgentHeartbeat())
    assert h1.expect("refused").refused.reason == pb.REASON_STATE
    h1.hello_sequence += 1
    h1.connect()
    h1.join()
    assert daemon.ctl("hosts")["hosts"][0]["state"] == "up"
    assert daemon.ctl("status")["uptime_ns"] == 34 * SECOND


def test_an_unanswered_start_is_asked_for_and_then_lost(cluster):
    daemon = cluster.daemon(scripted=True)
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job(reduces=1)]))
    attempt = h1.expect("start").start.attempt
    for _ in range(5):
        daemon.clock.advance(SECOND)
        beat(daemon, h1)
    assert h1.expect("ask_attempt").ask_attempt.attempt == attempt
    h1.state(attempt, "LOST")
    again = h1.expect("start").start
    assert again.attempt != attempt and (again.stage, again.task) == (0, 0)
    assert daemon.counters()["starts.asked"] == 1


def beat(daemon, agent):
    """A heartbeat that has arrived: reports carry no number, so the daemon's counter tells."""
    before = daemon.counters()["agents.received"]
    agent.send(agent_heartbeat=pb.AgentHeartbeat())
    wait_until(lambda: daemon.counters()["agents.received"] > before, "the heartbeat arrives")


def test_kill_and_restart_raise_the_epoch(cluster):
    daemon = cluster.daemon(scripted=True)
    h1, h2 = cluster.agent(daemon, "h1"), cluster.agent(daemon, "h2")
    h1.join(), h2.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    old = h1.expect("start").start
    daemon.kill()
    daemon.start()
    assert daemon.ctl("status")["epoch"] == 2
    h1.hello_sequence = h2.hello_sequence = 2
    h1.connect()
    h1.hello()
    assert h1.expect("welcome").epoch == 2
    h1.epoch = 2
    orphan = old.attempt + 7
    h1.send(numbered=True, inventory_part=pb.InventoryPart(part=0, attempts=[
        pb.AttemptState(attempt=old.attempt, phase=pb.PHASE_COMPUTING, job=old.job, resources=pb.Resources(slots=1)),
        pb.AttemptState(attempt=orphan, phase=pb.PHASE_COMPUTING, job=77, resources=pb.Resources(slots=1))]))
    h1.send(numbered=True, inventory_end=pb.InventoryEnd(parts=1))
    wait_until(lambda: daemon.counters()["agents.received"] >= 3, "the inventory arrives")
    assert "waits for the hosts" in daemon.ctl("status")["text"]
    number = daemon.ctl("submit", workload(daemon.folder, [one_job("other")]))["jobs"][0]["job"]
    assert number > 1, "a job's number is never used twice"
    daemon.clock.advance(4 * SECOND)
    assert daemon.ctl("status")["hosts_up"] == 0, "nothing joins before the known hosts are in"
    h2.connect()
    h2.join()
    assert daemon.ctl("status")["hosts_up"] == 2
    assert h1.expect("stop").stop.attempt == orphan, "nobody knows that attempt's job"
    status = daemon.ctl("status")
    assert (status["orphans"], status["lost_jobs"]) == (1, 1) and "not known here were stopped" in status["text"]
    assert "1 attempt of 1 job that is not known here is stopped" in daemon.words()
    assert next_start(h1, h2)[1].job == number, "what runs is not started again"


def test_a_known_host_is_not_waited_for_for_ever(cluster):
    daemon = cluster.daemon(scripted=True)
    cluster.agent(daemon, "gone").join()
    daemon.kill()
    daemon.start()
    h1 = cluster.agent(daemon, "h1")
    h1.hello()
    h1.epoch = h1.expect("welcome").epoch
    h1.send(numbered=True, inventory_end=pb.InventoryEnd(parts=0))
    beat(daemon, h1)
    assert daemon.ctl("status")["hosts_up"] == 0
    daemon.clock.advance(5 * SECOND)
    h1.acknowledged(1)
    assert daemon.ctl("status")["hosts_up"] == 1


def test_of_two_agents_with_one_name_the_newest_wins(cluster):
    daemon = cluster.daemon()
    first = cluster.agent(daemon, "h1", boot=1)
    first.join()
    older = cluster.agent(daemon, "h1", boot=1)
    older.hello()
    assert older.expect("refused").refused.reason == pb.REASON_IDENTITY
    second = cluster.agent(daemon, "h1", boot=1, hello_sequence=2)
    second.join()
    assert first.expect("refused").refused.reason == pb.REASON_IDENTITY
    first.send(agent_heartbeat=pb.AgentHeartbeat())
    assert first.expect("refused").refused.reason == pb.REASON_STATE
    assert daemon.counters()["sessions.replaced"] == 1
    assert daemon.counters()["refused.hello"] == 1


def test_a_second_host_of_a_name_waits_until_the_first_is_silent(cluster):
    daemon = cluster.daemon(scripted=True)
    first = cluster.agent(daemon, "h1", boot=1)
    first.join()
    second = cluster.agent(daemon, "h1", boot=2)
    second.hello()
    assert second.expect("refused").refused.reason == pb.REASON_IDENTITY
    daemon.clock.advance(4 * SECOND)
    second.join()
    hosts = daemon.ctl("hosts")["hosts"]
    assert [(h["name"], h["state"], h["boot"]) for h in hosts] == [("h1", "up", 2)]


def test_garbage_and_strangers_are_refused(cluster):
    daemon = cluster.daemon()
    stranger = cluster.agent(daemon, "x")
    stranger.send(load=pb.Load(uplink_permille=500))
    assert stranger.expect("refused").refused.reason == pb.REASON_STATE
    stranger.socket.send(b"\xff\xff\xff")
    assert stranger.expect("refused").refused.reason == pb.REASON_MALFORMED
    stranger.join()
    stranger.socket.send(pb.Envelope(version=1, epoch=stranger.epoch).SerializeToString() + b"\x9a\x3f\x02\x08\x05")
    wait_until(lambda: daemon.counters()["messages.ignored_kinds"] == 1, "an unknown kind is counted")
    stranger.epoch = 0
    stranger.send(numbered=True, output_lost=pb.OutputLost(job=1))
    assert stranger.expect("refused").refused.reason == pb.REASON_EPOCH
    assert daemon.counters()["messages.old_epochs"] == 1
    assert daemon.process.poll() is None


def test_submissions_are_judged(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.join()
    big = {"id": 1, "name": "big", "stages": [
        {"tasks": 500, "compute_ms": 1},
        {"tasks": 700, "parents": [{"stage": 0, "matrix": [[1] * 700 for _ in range(500)]}]}]}
    path = workload(daemon.folder, [big, dict(one_job(), id=2)])
    assert [j["job"] for j in daemon.ctl("submit", path)["jobs"]] == [1, 2]
    again = daemon.ctl("submit", path)["jobs"]
    assert [(j["job"], j["answer"]) for j in again] == [(1, "is job 1, active"), (2, "is job 2, active")], "same name and content is one job"
    assert len(daemon.ctl("tasks", 1, "-a")["tasks"]) == 1200
    path = workload(daemon.folder, [dict(big, stages=big["stages"][:1])])
    assert "another content" in daemon.ctl("submit", path, expect=1)
    path = workload(daemon.folder, [dict(one_job("huge"), id=7, stages=[{"tasks": 1, "demand": {"slots": 99}}])])
    assert ("no known host could ever run a task of stage 0: it needs slots 99 in one unit; the most that a unit has is slots 1"
            in daemon.ctl("submit", path, "--id", 7, expect=1))
    path = workload(daemon.folder, [dict(one_job("odd"), id=7, stages=[{"tasks": 1, "constraint": "ssd"}])])
    assert "none has label 'ssd'" in daemon.ctl("submit", path, expect=1)
    path = workload(daemon.folder, [dict(one_job("huge"), id=7, stages=[{"tasks": 1, "demand": {"slots": 99}}])])
    assert "no job with id 8" in daemon.ctl("submit", path, "--id", 8, expect=5)
    assert "cancelled" in daemon.ctl("cancel", 1)["text"]
    assert "job 1 (big) has ended: cancelled by " in daemon.ctl("cancel", 1, expect=1)
    assert {j["job"]: j["state"] for j in daemon.ctl("jobs", "-a")["jobs"]}[1] == "cancelled"


def test_hosts_are_drained(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("drain", "h1")
    assert daemon.ctl("hosts")["hosts"][0]["state"] == "draining"
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    assert daemon.ctl("tasks")["tasks"] == []
    explained = daemon.ctl("explain", "1/0/0")
    assert explained["text"] and {f["name"]: f["value"] for f in explained["facts"]}["task_state"] == "ready"
    daemon.ctl("drain", "h1", "--undo")
    assert h1.expect("start").start.job == 1
    assert "no host nowhere" in daemon.ctl("drain", "nowhere", expect=5)


def test_a_failing_task_fails_its_job_with_its_last_words(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    watcher = Watcher(daemon)
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    for _ in range(4):
        attempt = h1.expect("start").start.attempt
        h1.state(attempt, "STARTED")
        h1.state(attempt, "FAILED", exit_status=3, text="no such file")
    event = watcher.event()
    reason = f"task 1/0/0 failed 4 times; attempt {attempt} ('map') on h1 ended with exit code 3: no such file"
    assert (event.job, event.name, event.state, event.text) == (1, "j", "failed", reason)
    assert (event.host, event.attempt) == ("h1", attempt)
    watcher.close()
    row = daemon.ctl("jobs", "-a")["jobs"][0]
    assert (row["text"], row["failed_host"], row["failed_attempt"]) == (reason, "h1", attempt)
    job = daemon.ctl("job", 1)
    assert job["text"] == reason and [t["state"] for t in job["tasks"]] == ["failed"] * 4
    assert "no such file" in job["tasks"][3]["text"] and job["tasks"][3]["attempt"] == attempt
    for subject in ("1/0/0", attempt):
        explained = daemon.ctl("explain", subject)
        assert explained["text"].endswith(f"Job 1 (j) is failed: {reason}.")
        assert {"name": "exit_status", "value": "3"} in explained["facts"]
    assert "Job 1 (j) is failed" in daemon.ctl("explain", "1/1/0")["text"], "one that never began"
    assert "there is no task 1/2/0: its job has 2 stages, counted from 0" in daemon.ctl("explain", "1/2/0", expect=5)
    assert "no job 2" in daemon.ctl("explain", "2/0/0", expect=5)
    assert f"job 1 (j) failed: {reason}" in daemon.words()


def test_a_task_that_runs_again_says_what_went_before(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job(reduces=1)]))
    first = h1.expect("start").start.attempt
    h1.state(first, "REFUSED", text="no such\x1b[2Jcommand")
    second = h1.expect("start").start
    words = f"attempt {first} ('map') on h1 was refused: no such?[2Jcommand"
    assert f"Before, {words}." in daemon.ctl("explain", "1/0/0")["text"]
    assert f"warning: peer: {words}\n" in daemon.words()
    h1.state(second.attempt, "FAILED", exit_status=5)
    second = h1.expect("start").start
    again = f"attempt {second.attempt - 1} ('map') on h1 ended with exit code 5 and wrote nothing to standard error"
    assert f"Before, {again}." in daemon.ctl("explain", "1/0/0")["text"]
    assert f"Before, {words}." in daemon.ctl("explain", first)["text"], "the attempt that was asked for"
    assert [(t["failures"], t["text"]) for t in daemon.ctl("tasks")["tasks"]] == [(2, again)]
    assert daemon.ctl("jobs")["jobs"][0]["text"] == again
    run_attempt(h1, second)
    run_attempt(*next_start(h1))
    assert daemon.ctl("job", 1)["text"] is None, "it is done all the same"
    text = daemon.ctl("explain", "1/0/0")["text"]
    assert text.startswith(f"Done by attempt {second.attempt} on h1. It waited 0.") and text.endswith(" Job 1 (j) is done.")
    assert " and computed for 0." in text and f" before that, in vain; the last: {again}." in text, text


def test_a_cancelled_job_says_by_whom(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    watcher = Watcher(daemon)
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    daemon.ctl("cancel", 1)
    event = watcher.event()
    assert event.state == "cancelled" and event.text.startswith("cancelled by ") and f"uid {os.getuid()} (process " in event.text
    watcher.close()
    assert daemon.ctl("jobs", "-a")["jobs"][0]["text"] == event.text
    assert daemon.ctl("submit", daemon.folder / "workload.jsonl")["jobs"][0]["answer"] == f"is job 1, {event.text}"
    assert daemon.ctl("explain", "1/0/0")["text"].endswith(f" Job 1 (j) is {event.text}.")
    assert f"job 1 (j): {event.text}" in daemon.words()
    assert daemon.ctl("cancel", 1, expect=1) == f"duopolyctl: job 1 (j) has ended: {event.text}\n"
    assert "there is no job 7, or it ended so long ago" in daemon.ctl("cancel", 7, expect=5)
    watcher = Watcher(daemon)
    assert watcher.ask(watch=pb.Watch(job=1)).refused.text == f"job 1 (j) has ended: {event.text}"
    assert "there is no job 7" in watcher.ask(watch=pb.Watch(job=7)).refused.text
    watcher.close()


def test_tasks_that_are_done_say_where(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job(reduces=2)]))
    start = h1.expect("start").start
    run_attempt(h1, start)
    row = next(row for row in daemon.ctl("job", 1)["tasks"] if row["state"] == "done")
    assert (row["state"], row["host"], row["attempt"]) == ("done", "h1", start.attempt)


def test_one_job_shows_some_of_its_tasks(cluster):
    """Of a job with many tasks 96 are shown, those that run first, and how many there are besides."""
    daemon = cluster.daemon()
    cluster.agent(daemon, "h1").join()
    daemon.ctl("submit", workload(daemon.folder, [one_job(maps=150, reduces=50)]))
    job = daemon.ctl("job", 1)
    assert len(job["tasks"]) == 96
    assert job["more"] == "104 more are not shown: duopolyctl tasks 1 -a lists all"
    assert len(daemon.ctl("tasks", 1, "-a")["tasks"]) == 200
    daemon.ctl("submit", workload(daemon.folder, [one_job("other", maps=46, reduces=50)]))
    job = daemon.ctl("job", 2)
    assert len(job["tasks"]) == 96 and "more" not in job


def test_endings_that_are_not_kept_are_counted(cluster):
    """Of a job's tasks the first 1024 are kept with how they ended."""
    daemon = cluster.daemon(config="timers: {start_timeout: 600 s}\n")  # the first that starts is answered last
    h1 = cluster.agent(daemon, "h1", slots=64)
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job(maps=1029, reduces=1)]))
    for _ in range(1030):
        run_attempt(h1, next_start(h1)[1])
    wait_until(lambda: daemon.ctl("jobs", "-a")["jobs"][0]["state"] == "done", "the end of the job")
    job = daemon.ctl("job", 1)
    assert len(job["tasks"]) == 96 and job["more"] == "928 more are not shown: duopolyctl tasks 1 -a lists all"
    assert job["not_kept"] == "how 6 of its tasks ended is not kept any more" and job["measured_tasks"] == 1030
    assert daemon.ctl("tasks", 1, "-a")["not_kept"] == job["not_kept"]


def test_a_folder_is_no_workload(cluster):
    said = cluster.daemon().ctl("submit", "/", expect=1)
    assert said == "duopolyctl: nothing was submitted: / is a folder, not a workload file\n"


def test_what_a_lost_host_takes_along_is_told(cluster):
    daemon = cluster.daemon(scripted=True)
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    attempt = h1.expect("start").start.attempt
    for seconds in (2, 2, 30):
        daemon.clock.advance(seconds * SECOND)
    assert f"Before, attempt {attempt} ('map') on h1 was lost." in daemon.ctl("explain", "1/0/0")["text"]


@pytest.mark.parametrize("keys", [True, False], ids=["keys", "no-keys"])
def test_a_task_that_is_lost_with_host_after_host_is_suspect(cluster, keys):
    """The first loss is no fault of its; each after it counts as a failure, and four of those end its job."""
    daemon = cluster.daemon(scripted=True, keys=keys)
    for n in range(1, 6):
        host = cluster.agent(daemon, f"h{n}", key=daemon.key(f"h{n}") if keys else None)
        host.join()
        if n == 1:
            daemon.ctl("submit", workload(daemon.folder, [one_job()]))
        while not host.running:
            host.receive_start()
        host.state(*host.running, "STARTED")
        wait_until(lambda: daemon.ctl("tasks")["tasks"][0]["state"] != "sent", "its start is known")
        for seconds in (2, 2, 30):
            daemon.clock.advance(seconds * SECOND)
        if n < 5:
            said = f"on h{n} was lost: the task is suspect, since {n} hosts were lost with it, and this counts as a failure"
            assert (said in daemon.ctl("explain", "1/0/0")["text"]) == (n > 1)
    job = daemon.ctl("job", 1)
    assert job["state"] == "failed" and "task 1/0/0 was lost with 5 hosts, last with h5: it is suspect of taking them down" in job["text"], job
    assert daemon.words().count("the task is suspect, since ") == 4


class Watcher:
    """A client of the Unix socket by the schema alone."""

    def __init__(self, daemon):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect(str(daemon.socket))
        assert self.ask(watch=pb.Watch()).HasField("accepted")

    def ask(self, **body):
        envelope = pb.Envelope(version=1)
        for kind, value in body.items():
            getattr(envelope, kind).CopyFrom(value)
        self.socket.send(envelope.SerializeToString())
        return pb.Envelope.FromString(self.socket.recv(65536))

    def event(self):
        return pb.Envelope.FromString(self.socket.recv(65536)).job_event

    def close(self):
        self.socket.close()


def test_a_client_that_leaves_half_way_leaves_nothing(cluster):
    daemon = cluster.daemon()
    client = Watcher(daemon)
    assert client.ask(submit_begin=pb.SubmitBegin(name="half", content=1)).submit_credit.parts == 1
    assert client.ask(submit_stage=pb.SubmitStage(tasks=2, demand=pb.Resources(slots=1), command="map")).submit_credit.parts == 2
    assert client.ask(submit_tasks=pb.SubmitTasks(first=5)).refused.text
    assert client.ask(submit_end=pb.SubmitEnd(parts=2)).refused.reason == pb.REASON_STATE
    assert client.ask(submit_begin=pb.SubmitBegin(name="half", content=2)).submit_credit.parts == 1
    assert client.ask(start=pb.Start()).refused.reason == pb.REASON_UNSUPPORTED
    assert "still being submitted" in client.ask(submit_commit=pb.SubmitCommit()).refused.text
    client.close()
    wait_until(lambda: daemon.ctl("jobs")["jobs"] == [], "the half job is gone")


def test_agents_counters_are_shown(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    h1.send(agent_counters=pb.AgentCounters(marked_bytes=range(8), unmarked_bytes=5, evictions=3))
    wait_until(lambda: daemon.counters("h1").get("evictions") == 3, "the counters arrive")
    assert daemon.counters("h1")["marked_bytes.7"] == 7


def test_one_controller_a_folder_and_a_socket(cluster):
    daemon = cluster.daemon()
    second = subprocess.run([BUILD / "duopolyd", "-c", daemon.folder / "duopolyd.yaml"], capture_output=True, text=True, timeout=20, check=False)
    assert second.returncode == 1 and "another controller uses" in second.stderr
    assert daemon.ctl("status")["epoch"] == 1


@pytest.mark.parametrize("text, sentence", [
    ("listne: x\n", "wrong.yaml:1:1: unknown key 'listne'; did you mean 'listen'?"),
    ("timers:\n  silent: 3\n", "wrong.yaml:2:11: silent: '3' is not a number with a unit of time"),
    ("policy: {place: best}\n", "'best' is none of: "),
    ("a: [\n", "wrong.yaml:2:1: "),
])
def test_wrong_configurations_are_told(tmp_path, text, sentence):
    (tmp_path / "wrong.yaml").write_text(text)
    for more in ([], ["--check"]):
        done = subprocess.run([BUILD / "duopolyd", "--config", tmp_path / "wrong.yaml", *more], capture_output=True, text=True,
                              timeout=20, check=False)
        assert done.returncode == 1 and sentence in done.stderr and len(done.stderr.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["wrong.yaml"], "nothing changed"


def test_wrong_arguments_are_told():
    for words in (["--nonsense"], ["too", "many"]):
        assert subprocess.run([BUILD / "duopolyd", *words], capture_output=True, timeout=20, check=False).returncode == 2
    for words in ([], ["frob"], ["job"], ["job", "x"], ["explain", "1/2"], ["status", "--undo"], ["submit", "f", "--id", "0"]):
        done = subprocess.run([BUILD / "duopolyctl", *words], capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 2 and done.stderr.startswith("duopolyctl: ") and len(done.stderr.splitlines()) == 1
    done = subprocess.run([BUILD / "duopolyctl", "-s", "/nowhere", "status"], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 3 and "no controller listens on /nowhere" in done.stderr


def test_the_mode_says_since_when_and_why(cluster):
    daemon = cluster.daemon(config="policy: {preset: duopoly}\n")
    mode = daemon.ctl("mode")
    assert (mode["mode_rule"], mode["mode_forced"], mode["mode_age_ns"], mode["mode_why"]) == ("first", False, None, None)
    assert daemon.ctl("mode", "history")["mode_changes"] == []
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job(maps=3)]))
    h1.expect("mode")
    assert daemon.ctl("mode")["mode_why"].startswith("the first job had 3 ready tasks for 1 free slot")
    daemon.ctl("policy", "mode", "rich")
    mode = wait_until(lambda: (m := daemon.ctl("mode"))["mode"] == "slot-rich" and m, "the mode changes")
    assert mode["mode_forced"] and mode["mode_age_ns"] >= 0 and mode["mode_why"] == "the rule rich forces it"
    assert mode["mode_use"].startswith("nats: only the first job"), "what the mode tells the policies in force"
    forced, starved = daemon.ctl("mode", "history")["mode_changes"]
    assert (forced["mode"], forced["mode_rule"], forced["text"]) == ("slot-rich", "rich", "the rule rich forces it")
    assert (starved["mode"], starved["mode_rule"], starved["ready"], starved["free"]) == ("slot-starved", "first", 3, 1)
    assert starved["text"] == "the first job had 3 ready tasks for 1 free slot" and starved["lasted_ns"] > 0
    assert starved["at"] <= forced["at"] and mode["mode_sequence"] == forced["mode_sequence"] > starved["mode_sequence"]
    daemon.ctl("policy", "place", "joint")
    daemon.ctl("policy", "network", "rank")
    wait_until(lambda: daemon.ctl("mode")["mode_use"].startswith("nothing: place joint and network rank"), "it tells them nothing")


def test_full_uplinks_are_named(cluster):
    daemon = cluster.daemon()
    agents = [cluster.agent(daemon, f"h{i}", host=i) for i in range(10)]
    for agent in agents:
        agent.join()
    assert daemon.ctl("status")["congested_uplinks"] is None
    for agent in agents[:3]:
        agent.acknowledged(agent.send(numbered=True, load=pb.Load(uplink_permille=950)))
    assert daemon.ctl("status")["congested_uplinks"] == daemon.ctl("mode")["congested_uplinks"] == "h0, h1, h2"
    for agent in agents[3:]:
        agent.acknowledged(agent.send(numbered=True, load=pb.Load(uplink_permille=950)))
    assert daemon.ctl("status")["congested_uplinks"] == "h0, h1, h2, h3, h4, h5, h6, h7 and 2 more"


def test_who_changed_what_is_in_the_log(cluster):
    daemon = cluster.daemon()
    cluster.agent(daemon, "h1").join()
    daemon.ctl("drain", "h1")
    daemon.ctl("drain", "h9", "--undo", expect=5)
    daemon.ctl("policy", "turn", "fifo")
    daemon.ctl("policy", "turn", "lifo", expect=1)
    daemon.ctl("cancel", 7, expect=5)
    daemon.ctl("host", "forget", "h1", expect=1)
    lines = [line for line in daemon.words().splitlines() if f"uid {os.getuid()} (process " in line]
    wanted = ["drain h1: host h1 gets no new tasks", "drain h9 --undo: refused, there is no host h9", "policy turn fifo: turn is fifo",
              "policy turn lifo: refused, turn has no policy 'lifo'", "cancel 7: refused, ",
              "host forget h1: refused, host h1 is up"]
    assert [w for w, line in zip(wanted, lines) if w not in line] == [] and len(lines) == len(wanted)


def test_unknown_jobs_have_no_lists(cluster):
    daemon = cluster.daemon()
    for words in (["tasks", 99999], ["tasks", 99999, "-a"], ["job", 99999]):
        assert daemon.ctl(*words, expect=5) == "duopolyctl: there is no job 99999\n"
    assert "the peer is not a duopoly-fastpath" in daemon.ctl("fastpath", expect=1)
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    assert daemon.ctl("tasks", 1)["tasks"] == []
    daemon.ctl("cancel", 1)
    assert daemon.ctl("tasks", 1, "-a")["tasks"] == []


def test_what_nobody_reads_is_not_sent_to_the_controller(cluster):
    daemon = cluster.daemon()
    for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
        command = f"exec {BUILD}/duopolyctl -s {daemon.socket} status {closed}"
        assert subprocess.run(["sh", "-c", command], stdout=subprocess.DEVNULL, timeout=20, check=False).returncode == 0
    assert daemon.counters()["clients.malformed"] == 0


@pytest.mark.parametrize("program", ["duopolyd", "duopolyctl", "duopoly-agent", "duopoly-task", "duopoly-sim", "duopoly-workload",
                                     "duopoly-mcmf", "duopoly-replay", "duopoly-verify", "replay-map", "replay-reduce", "replay-gpu", "replay-serve"])
def test_one_version_everywhere_and_a_full_output_is_said(program):
    done = subprocess.run([BUILD / program, "--version"], capture_output=True, text=True, check=True)
    version = subprocess.run([BUILD / "duopolyd", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    assert program in done.stdout and done.stdout.split()[-1] == version and done.stderr == ""
    with open("/dev/full", "w", encoding="utf-8") as full:
        for option in ("--version", "--help"):
            done = subprocess.run([BUILD / program, option], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            assert done.returncode == 1 and done.stderr == f"{program}: cannot write all of the output\n", (option, done)


def text_of(daemon, *words, expect=0):
    """What duopolyctl writes for people; its two streams."""
    done = subprocess.run([BUILD / "duopolyctl", "-s", daemon.socket, *map(str, words)], capture_output=True, text=True, timeout=20,
                          check=False)
    assert done.returncode == expect, done
    return done.stdout, done.stderr


def named(*names, **changes):
    return [dict(one_job(name), id=i, **changes) for i, name in enumerate(names, 1)]


@pytest.mark.parametrize("bad, sentence", [
    ({"stages": [{"tasks": 1, "demand": {"slots": 99}}]}, "job 'b': no known host could ever run a task of stage 0: it needs slots 99"),
    ({"stages": [{"tasks": 1, "constraint": "ssd"}]}, "job 'b': no known host could ever run a task of stage 0: none has label 'ssd'"),
    ({"name": "taken"}, "job 'taken': job 1 has that name and another content"),
    ({"stages": []}, "workload.jsonl:3: "),
])
def test_several_jobs_are_checked_before_the_first_begins(cluster, bad, sentence):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.join()
    taken = dict(one_job("taken"), stages=[{"tasks": 1, "compute_ms": 9}])
    daemon.ctl("submit", workload(daemon.folder, [taken]))
    run_attempt(h1, h1.expect("start").start)
    jobs = named("a", "b", "c")
    jobs[1].update(bad)
    out, err = text_of(daemon, "submit", workload(daemon.folder, jobs), expect=1)
    assert out == "" and err.startswith("duopolyctl: nothing was submitted: ") and sentence in err and len(err.splitlines()) == 1
    wait_until(lambda: daemon.ctl("jobs")["jobs"] == [], "what was checked is dropped")
    assert not h1.running and daemon.ctl("tasks")["tasks"] == [], "nothing began"
    assert [j["state"] for j in daemon.ctl("jobs", "-a")["jobs"]] == ["done"]


def test_a_full_table_is_known_before_the_first_begins(cluster):
    daemon = cluster.daemon(config="bounds: {jobs: 2}\n")
    err = text_of(daemon, "submit", workload(daemon.folder, named("a", "b", "c")), expect=1)[1]
    assert "nothing was submitted: job 'c': a bound of the controller on jobs is reached: 2" in err
    wait_until(lambda: daemon.ctl("jobs")["jobs"] == [], "what was checked is dropped")
    assert len(daemon.ctl("submit", workload(daemon.folder, named("a", "b")))["jobs"]) == 2


def test_many_jobs_begin_in_their_order(cluster):
    daemon = cluster.daemon()
    jobs = named(*(f"j{i}" for i in range(150)))
    rows = daemon.ctl("submit", workload(daemon.folder, jobs))["jobs"]
    assert [(r["job"], r["name"], r["answer"]) for r in rows] == [(i + 1, f"j{i}", "accepted") for i in range(150)]
    assert [j["state"] for j in daemon.ctl("jobs")["jobs"]] == ["active"] * 150


def test_what_ran_before_is_said(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.join()
    path = workload(daemon.folder, [dict(j, stages=[{"tasks": 1, "compute_ms": 1}]) for j in named("a", "b")])
    out, _ = text_of(daemon, "submit", path)
    assert out == ("JOB NAME ID IN FILE ANSWER\n"
                   "  1 a             1 accepted\n"
                   "  2 b             2 accepted\n")
    run_attempt(h1, next_start(h1)[1])
    for _ in range(4):
        attempt = next_start(h1)[1].attempt
        h1.acknowledged(h1.state(attempt, "FAILED", exit_status=1, text="out of luck"))
    out, _ = text_of(daemon, "submit", path)
    assert out == ("JOB NAME ID IN FILE ANSWER\n"
                   "  1 a             1 is job 1, done\n"
                   f"  2 b             2 is job 2, failed: task 2/0/0 failed 4 times; attempt {attempt} ('map') on h1 ended with exit code 1: "
                   "out of luck\n")
    job = one_job("twice")
    rows = daemon.ctl("submit", workload(daemon.folder, [dict(job, id=1), dict(job, id=2)]))["jobs"]
    assert [r["answer"] for r in rows] == ["accepted", f"is job {rows[0]['job']}, submitted with it"]


def test_of_two_that_submit_the_same_one_waits(cluster):
    daemon = cluster.daemon()
    first, second = Watcher(daemon), Watcher(daemon)
    begin = pb.SubmitBegin(name="same", content=1)
    stage = pb.SubmitStage(tasks=1, demand=pb.Resources(slots=1), command="map")
    assert first.ask(submit_begin=begin).submit_credit.parts == 1
    assert "another client is just submitting it" in second.ask(submit_begin=begin).refused.text
    assert first.ask(submit_stage=stage).submit_credit.parts == 2
    assert first.ask(submit_prepare=pb.SubmitPrepare(parts=9)).refused.text == "2 parts of the job came, 9 were sent"
    assert first.ask(submit_begin=begin).submit_credit.parts == 1
    assert "not complete" in first.ask(submit_prepare=pb.SubmitPrepare(parts=1)).refused.text
    first.ask(submit_begin=begin), first.ask(submit_stage=stage)
    prepared = first.ask(submit_prepare=pb.SubmitPrepare(parts=2)).accepted
    assert (prepared.left, prepared.text, prepared.durable) == (1, "checked", False), "it does not wait for the disk"
    assert "another client is just submitting it" in second.ask(submit_begin=begin).refused.text
    first.close()
    wait_until(lambda: daemon.ctl("jobs")["jobs"] == [], "it is dropped with its client")
    assert second.ask(submit_begin=begin).submit_credit.parts == 1
    second.ask(submit_stage=stage), second.ask(submit_prepare=pb.SubmitPrepare(parts=2))
    begun = second.ask(submit_commit=pb.SubmitCommit()).accepted
    assert (begun.left, begun.durable) == (0, True)
    assert [j["state"] for j in daemon.ctl("jobs")["jobs"]] == ["active"]
    assert second.ask(submit_commit=pb.SubmitCommit()).accepted.left == 0, "nothing is left: nothing happens"
    second.close()


def test_jobs_that_are_only_prepared_are_written_together(cluster):
    daemon = cluster.daemon()
    client = Watcher(daemon)
    stage = pb.SubmitStage(tasks=1, demand=pb.Resources(slots=1), command="map")
    before, began = daemon.counters()["store.commits"], time.monotonic()
    for n in range(200):
        client.ask(submit_begin=pb.SubmitBegin(name=f"job{n}", content=n + 1))
        client.ask(submit_stage=stage)
        assert client.ask(submit_prepare=pb.SubmitPrepare(parts=2)).accepted.left == n + 1
    commits, seconds = daemon.counters()["store.commits"] - before, time.monotonic() - began
    assert commits <= 2 + seconds, "one a second"
    begun = client.ask(submit_commit=pb.SubmitCommit()).accepted
    assert begun.durable
    client.close()


@pytest.mark.parametrize("end", ["refuse", "close"])
def test_a_submission_that_breaks_off_shows_what_began(tmp_path, end):
    """The controller is played: it takes three jobs, begins one, and goes or refuses the rest."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    listener.settimeout(20)
    path = workload(tmp_path, named("a", "b", "c"))
    ctl = subprocess.Popen([BUILD / "duopolyctl", "-s", tmp_path / "s", "submit", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    client = listener.accept()[0]
    client.settimeout(20)
    parts = prepared = committed = 0
    while True:
        kind = pb.Envelope.FromString(client.recv(65536)).WhichOneof("body")
        parts = 0 if kind == "submit_begin" else parts + 1
        answer = pb.Envelope(version=1)
        if kind == "submit_prepare":
            prepared += 1
            answer.accepted.CopyFrom(pb.Accepted(job=10 + prepared, text="checked", left=prepared))
        elif kind == "submit_commit" and not committed:
            committed += 1
            answer.accepted.CopyFrom(pb.Accepted(job=11, text="accepted", left=2))
        elif kind == "submit_commit" and end == "close":
            break
        elif kind == "submit_commit":
            answer.refused.CopyFrom(pb.Refused(text="the hosts have gone"))
        else:
            answer.submit_credit.parts = parts + 1
        client.send(answer.SerializeToString())
        if answer.HasField("refused"):
            break
    client.close()
    listener.close()
    out, err = ctl.communicate(timeout=20)
    rest = "not begun" if end == "refuse" else "not answered: submit it again to learn whether it has begun"
    assert ctl.returncode == 7 and len(err.splitlines()) == 1
    assert ("the hosts have gone" if end == "refuse" else "closed the connection") in err
    assert out == ("JOB NAME ID IN FILE ANSWER\n"
                   " 11 a             1 accepted\n"
                   f" 12 b             2 {rest}\n"
                   f" 13 c             3 {rest}\n")


def test_one_name_twice_in_a_file_is_refused(cluster):
    daemon = cluster.daemon()
    cluster.agent(daemon, "h1").join()
    path = workload(daemon.folder, [dict(one_job(name), id=i, priority=i) for i, name in ((7, "twin"), (8, "other"), (9, "twin"))])
    refused = daemon.ctl("submit", path, expect=1)
    assert f"{path}:4: job 9 has the name 'twin' of job 7 in line 2 and another content: give it another name" in refused
    assert "nothing was submitted" in refused and not daemon.ctl("jobs", "-a")["jobs"]
    assert [job["id"] for job in daemon.ctl("submit", path, "--id", "9")["jobs"]] == [9]


def test_a_trace_is_submitted(cluster):
    """As duopoly-workload reads it; the mapping is said."""
    daemon = cluster.daemon()
    cluster.agent(daemon, "h1").join()
    trace = daemon.folder / "trace.txt"
    trace.write_text("4 3\n1 0 2 0 1 1 2:10.0\n2 500 1 3 2 0:1.0 1:2.5\n7 900 1 0 1 3:4\n")
    said = daemon.ctl("submit", str(trace))
    assert [(job["name"], job["id"]) for job in said["jobs"]] == [("job-1", 1), ("job-2", 2), ("job-7", 7)]
    assert "trace.txt" in said["converted"]
    assert sorted((job["name"], job["task_count"]) for job in daemon.ctl("jobs")["jobs"]) == [("job-1", 3), ("job-2", 3), ("job-7", 2)]
    trace.write_text("4 1\n1 0 2 0 1 1 9:10.0\n")
    assert "trace.txt:2" in daemon.ctl("submit", str(trace), expect=1)
