"""What the controller keeps: killed at any time it begins where it ended; nothing is acknowledged
that is not on its disk."""
import contextlib
import os
import resource
import shutil
import sqlite3
import stat
import subprocess

import pytest

from controller import BUILD, DEADLINE, Client, pb, wait_until, workload
from test_controller import next_start, one_job, run_attempt


def back(agent, attempts=()):
    """The agent's next session, after the controller was away."""
    agent.hello_sequence += 1
    agent.socket.close()
    agent.connect()
    agent.running = {}
    agent.join(attempts)


def lease_of(agent):
    while True:
        envelope = agent.receive()
        if envelope.HasField("lease"):
            return envelope


def running(start, phase="COMPUTING"):
    return pb.AttemptState(attempt=start.attempt, phase=getattr(pb, "PHASE_" + phase), job=start.job, stage=start.stage,
                           task=start.task, resources=pb.Resources(slots=1))


def tasks_of(daemon, job):
    return sorted((t["stage"], t["task"], t["state"]) for t in daemon.ctl("tasks", job, "-a")["tasks"])


def test_a_killed_controller_goes_on_where_it_was(cluster):
    daemon = cluster.daemon()
    h1, h2 = cluster.agent(daemon, "h1", host=1), cluster.agent(daemon, "h2", host=2)
    h1.join(), h2.join()
    configured = daemon.ctl("status")["policy"]
    daemon.ctl("policy", "turn", "fifo")
    path = workload(daemon.folder, [one_job("long", maps=3, reduces=2), dict(one_job("ended"), id=2)])
    daemon.ctl("submit", path)
    daemon.ctl("cancel", 2)
    starts = [next_start(h1, h2) for _ in range(3)]
    while any(start.job != 1 for _, start in starts):  # those of the job that was cancelled are stopped
        starts = [s for s in starts if s[1].job == 1] + [next_start(h1, h2)]
    (done_on, done), (runs_on, runs), (ends_on, ends) = starts
    run_attempt(done_on, done)
    daemon.ctl("drain", "h2")
    age = daemon.ctl("jobs")["jobs"][0]["age_ns"]
    daemon.kill()
    daemon.start()
    status = daemon.ctl("status")
    assert status["epoch"] == 2 and status["policy"].startswith("turn fifo")
    rows = {r["name"]: r for r in daemon.ctl("jobs", "-a")["jobs"]}
    assert rows["long"]["job"] == 1 and rows["long"]["age_ns"] > age and rows["long"]["done"] == 1
    assert rows["ended"]["state"] == "cancelled" and rows["ended"]["text"].startswith("cancelled by ")
    assert [h["state"] for h in daemon.ctl("hosts")["hosts"]] == ["silent", "silent"]
    again = daemon.ctl("submit", path)["jobs"]
    assert [j["answer"] for j in again] == ["is job 1, active", f"is job 2, {rows['ended']['text']}"]
    assert "another content" in daemon.ctl("submit", workload(daemon.folder, [one_job("long")]), expect=1)
    # One attempt runs, the other ended while nobody listened.
    for agent in (h1, h2):
        back(agent, [running(s, p) for on, s, p in ((runs_on, runs, "COMPUTING"), (ends_on, ends, "DONE")) if on is agent])
    assert {h["name"]: h["state"] for h in daemon.ctl("hosts")["hosts"]} == {"h1": "up", "h2": "draining"}
    assert tasks_of(daemon, 1)[:3] == sorted([(0, done.task, "done"), (0, runs.task, "computing"), (0, ends.task, "done")])
    runs_on.state(runs.attempt, "DONE")
    for _ in range(2):
        agent, start = next_start(h1)
        assert start.stage == 1 and start.attempt >> 32 == 2
        run_attempt(agent, start)
    assert {j["job"]: j["state"] for j in daemon.ctl("jobs", "-a")["jobs"]} == {1: "done", 2: "cancelled"}
    daemon.ctl("drain", "h2", "--undo")
    daemon.kill()
    daemon.start()
    assert {j["job"]: j["state"] for j in daemon.ctl("jobs", "-a")["jobs"]} == {1: "done", 2: "cancelled"}
    assert [(t["task"], t["state"]) for t in daemon.ctl("tasks", 1, "-a")["tasks"] if t["stage"] == 1] == [(0, "done"), (1, "done")]
    assert "on h" in daemon.ctl("explain", "1/1/0")["text"]
    assert "as the configuration says" in daemon.ctl("policy", "turn", "configured")["text"]
    daemon.kill()
    daemon.start()
    assert daemon.ctl("status")["policy"] == configured


def test_a_host_that_booted_anew_lost_its_outputs(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    run_attempt(*next_start(h1))
    daemon.kill()
    daemon.start()
    h1.boot = 2
    back(h1)
    _, start = next_start(h1)
    assert (start.stage, start.task) == (0, 0), "the map runs again"


def test_half_a_submission_was_never_there(cluster):
    daemon = cluster.daemon()
    client = Client(daemon)
    assert client.ask(submit_begin=pb.SubmitBegin(name="j", content=5, estimate_bytes=-1, estimate_ns=-1)).HasField("submit_credit")
    assert client.ask(submit_stage=pb.SubmitStage(stage=0, tasks=2, demand=pb.Resources(slots=1))).HasField("submit_credit")
    daemon.kill()
    client.close()
    daemon.start()
    assert daemon.ctl("jobs", "-a")["jobs"] == []
    assert daemon.ctl("submit", workload(daemon.folder, [one_job()]))["jobs"][0]["answer"] == "accepted"


def test_a_full_disk_refuses_and_is_waited_out(cluster):
    """New requests are refused, what runs goes on, and its ends are acknowledged when they are
    kept."""
    daemon = cluster.daemon(log=None, config="log: {folder: none}\n")
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    configured = daemon.ctl("status")["policy"]
    daemon.ctl("submit", workload(daemon.folder, [one_job(maps=2)]))
    first, second = next_start(h1)[1], next_start(h1)[1]
    unlimited = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (4096, unlimited[1]))
    sequence = h1.state(first.attempt, "DONE")
    wait_until(lambda: "nothing is changed, for it could not be kept" in daemon.words(), "the operator is told")
    for words in (["cancel", 1], ["drain", "h1"], ["policy", "turn", "fifo"], ["submit", workload(daemon.folder, [one_job("x")])]):
        assert "nothing is changed, for it could not be kept" in daemon.ctl(*words, expect=1)
    assert "nothing is changed, for it could not be kept" in daemon.ctl("status")["text"]
    h1.state(second.attempt, "DONE")
    _, reduce = next_start(h1)
    assert reduce.stage == 1, "what runs goes on"
    assert lease_of(h1).acknowledged < sequence, "its end is not acknowledged"
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, unlimited)
    h1.acknowledged(sequence + 1)
    wait_until(lambda: "the store is written again" in daemon.words(), "the operator is told that too")
    assert not daemon.ctl("status").get("text")
    assert daemon.ctl("drain", "h1")["text"] and daemon.ctl("status")["policy"] == configured
    daemon.kill()
    daemon.start()
    assert tasks_of(daemon, 1) == [(0, 0, "done"), (0, 1, "done"), (1, 0, "ready")]


class Disk:
    """A small file system at a folder; `trouble` begins there, and `over` ends it."""

    def __init__(self, folder, trouble):
        self.folder, self.kind = folder, trouble
        run("mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=64,mode=0700", "duopoly-test", folder)

    def trouble(self):
        if self.kind == "read-only":
            run("mount", "-o", "remount,ro", self.folder)
        for n in range(64 if self.kind == "no inode" else 0):
            with contextlib.suppress(OSError):
                (self.folder / f"empty{n}").touch()
        with contextlib.suppress(OSError), open(self.folder / "ballast", "ab", buffering=0) as file:
            while self.kind == "full":
                file.write(b"x" * 4096)

    def over(self):
        run("mount", "-o", "remount,rw", self.folder)
        for path in [*self.folder.glob("empty*"), *self.folder.glob("ballast")]:
            path.unlink()

    def remove(self):
        run("umount", "-l", self.folder)


def run(*words):
    subprocess.run([*map(str, words)], check=True)


@pytest.fixture
def disk():
    disks = []

    def make(*arguments):
        disks.append(Disk(*arguments))
        return disks[-1]
    yield make
    for each in disks:
        each.remove()


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")
@pytest.mark.parametrize("trouble, end", [("full", "kill"), ("full", "stop"), ("no inode", "stop"), ("read-only", "kill"), ("read-only", "stop")])
def test_a_start_on_a_disk_in_trouble_serves_what_runs(cluster, disk, trouble, end):
    """It refuses what is new, twice in a row, and takes it when the disk takes it."""
    daemon = cluster.daemon(log=None)
    daemon.kill()
    small = disk(daemon.folder / "state", trouble)
    daemon.start()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job(maps=2)]))
    first, second = next_start(h1)[1], next_start(h1)[1]
    getattr(daemon, end)()
    small.trouble()
    daemon.start()
    daemon.kill()
    daemon.start()
    back(h1, [running(first), running(second)])
    assert daemon.ctl("status")["epoch"] == 3 and [j["name"] for j in daemon.ctl("jobs")["jobs"]] == ["j"]
    h1.state(first.attempt, "DONE")
    h1.state(second.attempt, "DONE")
    reduce = next_start(h1)[1]
    assert reduce.stage == 1 and reduce.attempt >> 32 == 3, "what runs goes on"
    for words in (["cancel", 1], ["drain", "h1"], ["submit", workload(daemon.folder, [one_job("new")])]):
        assert "nothing is changed, for it could not be kept" in daemon.ctl(*words, expect=1)
    small.over()
    wait_until(lambda: "the store is written again" in daemon.words(), "the operator is told")
    assert daemon.ctl("submit", workload(daemon.folder, [one_job("new")]))["jobs"][0]["answer"] == "accepted"
    assert "rows of the store are sound" in daemon.ctl("store", "check")["text"]
    h1.acknowledged(2)
    daemon.kill()
    daemon.start()
    assert daemon.ctl("status")["epoch"] == 4
    assert tasks_of(daemon, 1)[:2] == [(0, 0, "done"), (0, 1, "done")]


@pytest.fixture
def failing_disk(tmp_path):
    """A real file system at a folder, in a file; `fail` lets the kernel end it as after an error of
    its disk, `again` mounts it anew."""
    class Failing:
        image, folder = tmp_path / "disk", None

        def begin(self, folder, errors):
            self.image.touch()
            os.truncate(self.image, 32 << 20)
            run("mkfs.ext4", "-q", self.image)
            self.mount(folder, errors)
            (self.folder / "lost+found").rmdir()
            self.folder.chmod(0o700)

        def mount(self, folder, errors):
            if subprocess.run(["mount", "-o", f"loop,errors={errors}", self.image, folder], check=False).returncode:
                pytest.skip("no file system can be mounted from a file here")
            self.folder = folder

        def fail(self):
            run("mount", "-o", "remount,abort", self.folder)

        def end(self):
            """A writer that was killed, or a dump's child, may hold it for a moment longer."""
            if self.folder:
                wait_until(lambda: subprocess.run(["umount", self.folder], check=False).returncode == 0, "nothing uses %s" % self.folder)
            self.folder = None

        def again(self):
            folder = self.folder
            self.end()
            self.mount(folder, "continue")
    made = Failing()
    yield made
    if made.folder:
        run("umount", "-l", made.folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")
@pytest.mark.parametrize("errors", ["continue", "remount-ro"])
def test_a_disk_that_fails_loses_nothing_that_was_acknowledged(cluster, failing_disk, errors):
    """What runs goes on, what is new is refused; what was taken before is there when the disk is
    sound again."""
    daemon = cluster.daemon(log=None)
    daemon.kill()
    failing_disk.begin(daemon.folder / "state", errors)
    daemon.start()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    for name in ("one", "two"):
        assert daemon.ctl("submit", workload(daemon.folder, [one_job(name, maps=2)]))["jobs"][0]["answer"] == "accepted"
    first = next_start(h1)[1]
    second = next_start(h1)[1]
    failing_disk.fail()
    # Whether the failure shows when the job is prepared, when it begins or before: it has not
    # begun, and one sentence says so.
    said = daemon.ctl("submit", workload(daemon.folder, [one_job("new")]), expect=1)
    assert "store.db cannot be written" in said and "in force" not in said, said
    assert "new" not in {job["name"] for job in daemon.ctl("jobs")["jobs"]}
    assert "nothing is changed, for it could not be kept" in daemon.ctl("drain", "h1", expect=1)
    h1.state(first.attempt, "DONE")
    h1.state(second.attempt, "DONE")
    while next_start(h1)[1].stage != 1:  # what runs goes on
        pass
    assert {job["name"] for job in daemon.ctl("jobs")["jobs"]} >= {"one", "two"}
    daemon.kill()
    failing_disk.again()
    daemon.start()
    assert {job["name"] for job in daemon.ctl("jobs")["jobs"]} >= {"one", "two"}
    assert "rows of the store are sound" in daemon.ctl("store", "check")["text"]
    assert daemon.ctl("submit", workload(daemon.folder, [one_job("newer")]))["jobs"][0]["answer"] == "accepted"
    daemon.kill()


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")
def test_an_epoch_that_nobody_can_know_is_not_guessed(cluster, disk):
    """After a boot with a read-only file system an earlier epoch may have been given that no file
    tells of."""
    daemon = cluster.daemon(log=None)
    daemon.kill()
    small = disk(daemon.folder / "state", "read-only")
    daemon.start()
    daemon.kill()
    (daemon.folder / "s.epoch").unlink()
    small.trouble()
    with pytest.raises(AssertionError, match="epoch cannot be written: Read-only file system"):
        daemon.start()
    small.over()
    daemon.start()
    assert daemon.ctl("status")["epoch"] == 2


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")
@pytest.mark.parametrize("trouble", ["full", "no inode", "read-only"])
def test_a_log_folder_in_trouble_keeps_no_controller_from_its_start(cluster, disk, trouble):
    """Steps are left out of the recording, which is said, and goes on when it can."""
    daemon = cluster.daemon(log=None)
    daemon.kill()
    (daemon.folder / "disk").mkdir()
    small = disk(daemon.folder / "disk", trouble)
    daemon.extra = f"log: {{folder: {daemon.folder}/disk/log}}\n"
    small.trouble()
    daemon.start()
    wait_until(lambda: "cannot be written: steps are left out" in daemon.words(), "the operator is told")
    assert daemon.ctl("submit", workload(daemon.folder, [one_job()]))["jobs"][0]["answer"] == "accepted"
    small.over()
    wait_until(lambda: daemon.ctl("policy", "turn", "fifo") and "goes on in a new file" in daemon.words(), "and that it goes on", every=0.1)


def test_a_stance_is_answered_when_it_is_kept_and_taken_on_a_full_disk_too(cluster):
    """It may be the emergency stop."""
    daemon = cluster.daemon(log=None, config="log: {folder: none}\n")
    h1 = cluster.agent(daemon, "h1")
    assert h1.join().stance == pb.STANCE_ENFORCE
    client = Client(daemon)
    kept = client.ask(set_stance=pb.SetStance(stance=pb.STANCE_MARK)).accepted
    assert kept.durable and "undo" not in kept.text
    trial = client.ask(set_stance=pb.SetStance(stance=pb.STANCE_OBSERVE, host="h1", confirm_s=60)).accepted
    assert trial.text and not trial.durable, "it goes by itself"
    unlimited = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (4096, unlimited[1]))
    assert client.ask(drain_host=pb.DrainHost(name="h1")).HasField("refused")
    wait_until(lambda: "nothing is changed, for it could not be kept" in daemon.words(), "the operator is told")
    told = client.ask(set_stance=pb.SetStance(stance=pb.STANCE_OBSERVE)).accepted
    assert "all : observe, 1 told, but a restart may undo it: " in told.text and not told.durable
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, unlimited)
    wait_until(lambda: "the store is written again" in daemon.words(), "the operator is told that too")
    assert client.ask(set_policy=pb.SetPolicy(question="turn", name="fifo")).accepted.durable, "and all before it"
    client.close()
    daemon.kill()
    daemon.start()
    h1.hello_sequence += 1
    h1.socket.close()
    h1.connect()
    assert h1.join().stance == pb.STANCE_OBSERVE


def test_every_change_is_in_the_audit(cluster):
    daemon = cluster.daemon()
    cluster.agent(daemon, "h1").join()
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    daemon.ctl("drain", "h1")
    daemon.ctl("drain", "nowhere", expect=5)
    daemon.ctl("policy", "turn", "fifo")
    daemon.ctl("policy", "turn", "best", expect=1)
    daemon.ctl("cancel", 1)
    daemon.ctl("cancel", 9, expect=5)
    daemon.ctl("host", "forget", "h1", expect=1)
    assert daemon.stop() == 0
    daemon.start()
    rows = daemon.ctl("audit")["audit"]
    assert [r["n"] for r in rows] == list(range(1, 9))
    assert all(f"uid {os.getuid()} (process " in r["who"] and r["time"].endswith("Z") for r in rows)
    assert [r["what"] for r in rows] == ["submit j as job 1", "drain h1", "drain nowhere", "policy turn fifo", "policy turn best",
                                         "cancel 1", "cancel 9", "host forget h1"]
    assert [r["result"].startswith("refused, ") for r in rows] == [False, False, True, False, True, False, True, True]

    def asked(*filters):
        return [row["n"] for row in daemon.ctl("audit", *filters)["audit"]]
    assert asked("--result", "refused") == [3, 5, 7, 8] and asked("--result", "done") == [1, 2, 4, 6]
    assert asked("--what", "cancel") == [6, 7] and asked("--what", "cancel", "--result", "refused") == [7]
    assert asked("--who", f"uid {os.getuid()}") == list(range(1, 9)) and asked("--who", "nobody") == []
    assert asked("--since", "1h") == list(range(1, 9)) == asked("--since", "2020-02-29") and asked("--since", "2099-01-01T00:00:00Z") == []
    newest = daemon.ctl("audit", "--limit", "3")
    assert [row["n"] for row in newest["audit"]] == [6, 7, 8] and newest["more"].startswith("5 older lines not shown")
    for wrong in (("--since", "soon"), ("--since", "2026-02-30"), ("--result", "no"), ("--limit", "0"), ("--who", "")):
        assert wrong[0] in daemon.ctl("audit", *wrong, expect=2)
    assert "takes no --who" in daemon.ctl("jobs", "--who", "me", expect=2)


def test_the_store_is_checked_and_copied_while_it_runs(cluster):
    daemon = cluster.daemon()
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    backup = daemon.folder / "backup.db"
    assert "rows of the store are sound" in daemon.ctl("store", "check")["text"]
    assert "all sound" in daemon.ctl("store", "backup", backup)["text"]
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert "is there already" in daemon.ctl("store", "backup", backup, expect=1)
    assert f"{daemon.folder}/state/another is a copy" in daemon.ctl("store", "backup", "another")["text"]
    assert "neither a path from / on nor a name" in daemon.ctl("store", "backup", "../up", expect=1)
    assert "No such file" in daemon.ctl("store", "backup", daemon.folder / "no" / "where", expect=1)
    assert "check, backup FILE" in daemon.ctl("store", "mend", expect=2)
    daemon.ctl("cancel", 1)
    assert daemon.stop() == 0
    at = daemon.folder / "state" / "store.db"
    content = bytearray(at.read_bytes())
    place = content.index(b"finished number=1")
    content[place] ^= 1
    at.write_bytes(content)
    with pytest.raises(AssertionError, match="does not have the hash"):
        daemon.start()


def killed_with_jobs(cluster, jobs=5):
    """What was acknowledged is in the log (-wal) only; the names of the jobs."""
    daemon = cluster.daemon(log=None)
    names = [f"job{n}" for n in range(jobs)]
    for name in names:
        daemon.ctl("submit", workload(daemon.folder, [one_job(name)]))
    daemon.kill()
    return daemon, names


def turn_bit(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def test_a_bit_in_the_log_loses_nothing_in_silence(cluster):
    daemon, names = killed_with_jobs(cluster)
    log = daemon.folder / "state" / "store.db-wal"
    turn_bit(log, log.stat().st_size // 2)
    for _ in range(2):
        with pytest.raises(AssertionError, match=r"store.db lacks \d+ commits that were on the disk.*duopolyd --restore nothing"):
            daemon.start()
    daemon.arguments = ["--restore", "nothing"]
    daemon.start()
    left = [job["name"] for job in daemon.ctl("jobs", "-a")["jobs"]]
    assert left == names[:len(left)] and len(left) < len(names)
    daemon.arguments = []
    daemon.kill()
    daemon.start()
    assert [job["name"] for job in daemon.ctl("jobs", "-a")["jobs"]] == left


@pytest.mark.parametrize("gone", [["store.db-wal"], ["store.db", "store.db-wal"], ["store.db", "store.db-wal", "store.db.last"]])
def test_an_emptied_store_does_not_begin_in_silence(cluster, gone):
    daemon, _ = killed_with_jobs(cluster, jobs=1)
    for name in gone:
        (daemon.folder / "state" / name).unlink()
    for _ in range(2):
        with pytest.raises(AssertionError, match=r"store.db (lacks \d+ commits|is missing or empty).*duopolyd --restore FILE"):
            daemon.start()
    daemon.arguments = ["--restore", "nothing"]
    daemon.start()
    assert daemon.ctl("jobs", "-a")["jobs"] == []


def test_rows_that_are_gone_are_missed(cluster):
    daemon, _ = killed_with_jobs(cluster)
    daemon.start()
    assert daemon.stop() == 0
    with contextlib.closing(sqlite3.connect(daemon.folder / "state" / "store.db")) as store, store:
        store.execute("DELETE FROM jobs WHERE job=3")
    with pytest.raises(AssertionError, match="table jobs has 4 rows, 5 were written; go on with a backup"):
        daemon.start()


def test_a_backup_begins_above_every_epoch(cluster):
    daemon = cluster.daemon()
    daemon.ctl("submit", workload(daemon.folder, [one_job("kept")]))
    daemon.ctl("store", "backup", daemon.folder / "backup.db")
    daemon.ctl("submit", workload(daemon.folder, [one_job("after")]))
    daemon.kill()
    shutil.rmtree(daemon.folder / "state")
    daemon.arguments = ["--restore", daemon.folder / "backup.db"]
    daemon.start()
    h1 = cluster.agent(daemon, "h1")
    h1.epoch = 7
    daemon.started = daemon.words().count("agents on")
    h1.hello()
    assert "begins again above the epoch" in h1.expect("refused").refused.text
    daemon.address = wait_until(daemon.address_said, "it begins again")
    h1.socket.close()
    h1.connect()
    assert h1.join().epoch == 8
    assert [j["name"] for j in daemon.ctl("jobs", "-a")["jobs"]] == ["kept"]
    number = daemon.ctl("submit", workload(daemon.folder, [one_job("new")]))["jobs"][0]["job"]
    assert number == 1000001, "no number that was given after the backup is given again"
    assert daemon.ctl("audit")["audit"][-2]["what"] == f"restore {daemon.folder}/backup.db"


def test_what_a_backup_revives_is_said_before_it_counts(cluster):
    daemon = cluster.daemon(keys=True)
    w1, w2 = daemon.key("w1"), daemon.key("w2")
    daemon.ctl("stance", "enforce", "--all")
    agent = cluster.agent(daemon, "w1", key=w1)
    agent.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job("ends")]))
    daemon.ctl("store", "backup", daemon.folder / "backup.db")
    run_attempt(*next_start(agent))
    run_attempt(*next_start(agent))
    assert daemon.ctl("jobs", "-a")["jobs"][0]["state"] == "done"
    daemon.ctl("stance", "observe", "--all", expect=6)  # the agent does not answer
    daemon.ctl("drain", "w1")
    daemon.ctl("keys", "revoke", "w2")
    daemon.key("w3")
    daemon.ctl("keys", "revoke", "w3")
    daemon.key("w4")
    daemon.kill()
    said = ["key w2/1 was revoked since: it stays so", "job 1 (ends) has ended since, done: by the backup it goes on",
            'drain w1 was set to "yes" since: by the backup it is not set', "by the backup, and was set to"]
    state = sorted((daemon.folder / "state").iterdir())
    look = subprocess.run([BUILD / "duopolyd", "--config", daemon.folder / "duopolyd.yaml", "--check", "--restore", daemon.folder / "backup.db"],
                          capture_output=True, text=True, timeout=DEADLINE, check=True).stderr
    assert all(words in look for words in said), look
    assert [path for path in sorted((daemon.folder / "state").iterdir()) if "wal" not in path.name and "shm" not in path.name] == \
        [path for path in state if "wal" not in path.name and "shm" not in path.name]
    daemon.arguments = ["--restore", daemon.folder / "backup.db"]
    daemon.start()
    words = daemon.words()
    assert all(f"restore: {line}" in words or line in words for line in said), words
    states = {row["name"]: row["state"] for row in daemon.ctl("keys", "list")["keys"]}
    assert (states["w1"], states["w2"], states["w3"], states["w4"]) == ("valid", "revoked", "revoked", "valid")
    assert daemon.ctl("jobs", "-a")["jobs"][0]["state"] == "active"
    revoked = cluster.agent(daemon, "w2", key=w2)
    revoked.hello()
    wait_until(lambda: "its key is revoked" in daemon.words(), "who was revoked since is kept out")
    daemon.arguments = []
    daemon.kill()
    (daemon.folder / "state" / "store.db").unlink(missing_ok=True)
    (daemon.folder / "state" / "store.db.before-restore").unlink()
    daemon.arguments = ["--restore", daemon.folder / "backup.db"]
    daemon.start()
    assert "what was set since the backup is not known" in daemon.words()


@pytest.mark.parametrize("keys", [True, False], ids=["keys", "no-keys"])
def test_no_host_alone_uses_up_the_epochs(cluster, keys):
    daemon = cluster.daemon(keys=keys)
    key = {name: daemon.key(name) if keys else None for name in ("liar", "h1")}
    daemon.kill()
    daemon.arguments = ["--restore", "nothing"]
    daemon.start()
    liar = cluster.agent(daemon, "liar", key=key["liar"])
    for epoch in (2**32 - 3, 2**31, 2**32 - 3):
        liar.epoch = epoch
        liar.hello()
        assert "older than one you knew" in liar.expect("refused").refused.text
    assert "agent liar says that it has seen epoch 4294967293: that is more than 1048576 beyond" in daemon.words()
    h1 = cluster.agent(daemon, "h1", key=key["h1"])
    h1.epoch = 7
    daemon.started = daemon.words().count("agents on")
    h1.hello()
    daemon.address = wait_until(daemon.address_said, "it begins again above what others say")
    daemon.arguments = []
    for _ in range(2):
        daemon.kill()
        daemon.start()
    assert daemon.ctl("status")["epoch"] == 10


def test_a_lost_folder_has_a_way_back(cluster):
    daemon = cluster.daemon()
    daemon.kill()
    shutil.rmtree(daemon.folder / "state")
    daemon.start()
    h1 = cluster.agent(daemon, "h1")
    h1.epoch = 5
    h1.hello()
    assert "start it once with --restore" in h1.expect("refused").refused.text
    daemon.kill()
    daemon.arguments = ["--restore", "nothing"]
    daemon.start()
    h1.socket.close()
    h1.connect()
    h1.epoch = 5
    daemon.started = daemon.words().count("agents on")
    h1.hello()
    daemon.address = wait_until(daemon.address_said, "it begins again")
    h1.socket.close()
    h1.connect()
    assert h1.join().epoch == 6


def test_what_is_no_backup_is_not_taken(cluster):
    daemon = cluster.daemon()
    daemon.ctl("policy", "turn", "fifo")
    assert daemon.stop() == 0
    (daemon.folder / "no.db").write_text("this is no store, but as long as a page of one\n" * 100)
    daemon.arguments = ["--restore", daemon.folder / "no.db"]
    with pytest.raises(AssertionError, match="is not taken"):
        daemon.start()
    daemon.arguments = []
    daemon.start()
    assert daemon.ctl("status")["policy"].startswith("turn fifo"), "what was there is there"
