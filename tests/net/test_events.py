"""What happens, as people see it: `events`, `watch` and `record`. Each kind appears; a reader that
sleeps bothers nobody and learns how many it lost; a restart of the controller is told, and the
stream goes on."""
import json
import os
import re
import signal
import socket
import subprocess
import threading

import pytest

from controller import BUILD, DEADLINE, SECOND, TOP, Client, pb, wait_until, workload
from test_controller import next_start, one_job, run_attempt
from test_frameworks import PATIENT, Framework

POLICIES_KEPT = 1024  # controller/notices.c
FIRST = "1:0"  # before the first event of a new controller


class Stream:
    """A duopolyctl that goes on. Its lines are read as they come: `rows`."""

    def __init__(self, *words):
        self.process = subprocess.Popen([BUILD / "duopolyctl", *map(str, words)], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.rows = []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.rows.append(json.loads(line) if line.startswith("{") else line)

    def until(self, condition, what):
        return wait_until(lambda: next((row for row in list(self.rows) if condition(row)), None),
                          what)

    def end(self, number=signal.SIGINT):
        """Its rows and what follows them; it has to end well."""
        self.process.send_signal(number)
        assert self.process.wait(timeout=DEADLINE) == 0 and not self.process.stderr.read()
        self.thread.join()
        return self.rows

    def close(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture(name="stream")
def _stream():
    made = []

    def begin(*words):
        made.append(Stream(*words))
        return made[-1]
    yield begin
    for one in made:
        one.close()


def watch(stream, daemon, *words):
    return stream("-j", "-s", daemon.socket, "watch", *words)


def short(row):
    return row["kind"], row["what"]


def kept(daemon, *words):
    return [short(row) for row in daemon.ctl("events", *words)["events"]]


def submit(daemon, name, **more):
    folder = daemon.folder / name
    folder.mkdir()
    return daemon.ctl("submit", workload(folder, [one_job(name, **more)]))["jobs"][0]["job"]


def change(client, name):
    answer = client.ask(set_policy=pb.SetPolicy(question="turn", name=name))
    assert answer.HasField("accepted"), answer


def test_each_kind_appears(cluster, stream):
    daemon = cluster.daemon(keys=True, config=PATIENT + "policy: {place: nats}\n")
    seen = watch(stream, daemon, "--since", FIRST)
    h1 = cluster.agent(daemon, "h1", slots=1, host=1, key=daemon.key("h1"))
    h2 = cluster.agent(daemon, "h2", slots=1, host=2, key=daemon.key("h2"))
    h1.join(), h2.join()
    job = submit(daemon, "first")
    where, start = next_start(h1, h2)
    assert where is h1, "next to its block"
    held = submit(daemon, "waits")  # for its block's host, which is busy
    seen.until(lambda row: short(row) == ("hold", "hold") and row["job"] == str(held), "a hold")
    run_attempt(h1, start)
    seen.until(lambda row: short(row) == ("task", "done") and row["job"] == str(job), "its end")
    daemon.ctl("cancel", held)
    daemon.ctl("job", "set", job, "priority=3")
    daemon.ctl("policy", "mode", "starved")
    daemon.ctl("policy", "turn", "fifo", "--dry-run")
    client = Client(daemon)
    assert client.ask(set_stance=pb.SetStance(stance=pb.STANCE_MARK)).HasField("accepted")
    client.close()
    app = Framework(daemon, "app-1", key=daemon.key("app-1", "framework")).begin()
    app.tell(job=pb.FrameworkJob(job=7, name="query-7"))
    app.settle()
    app.close()
    h2.close()
    last = seen.until(lambda row: short(row) == ("framework", "away"), "the end of the session")
    assert last["name"] == "app-1"
    expected = {
        ("key", "changed"), ("host", "joined"), ("job", "submitted"), ("task", "start"),
        ("hold", "hold"), ("task", "done"), ("job", "cancelled"), ("job", "changed"),
        ("mode", "slot-starved"), ("policy", "changed"), ("stance", "changed"),
        ("framework", "session"), ("framework", "away"), ("job", "submitted")}
    wait_until(lambda: {short(row) for row in list(seen.rows)} >= expected, "all")
    rows, last = seen.end()[:-1], seen.rows[-1]
    assert last["schema"] == "events" and last["partial"] is False
    numbers = [int(row["sequence"].removeprefix("1:")) for row in rows]
    assert numbers == list(range(1, len(rows) + 1)), "none is missing"
    one = {short(row): row for row in reversed(rows)}
    assert one["job", "submitted"]["name"] == "first"
    start = one["task", "start"]
    assert (start["job"], start["stage"], start["task"]) == (str(job), "0", "0")
    assert start["host"] == "h1" and start["reason"] == start["text"]
    mode = one["mode", "slot-starved"]
    assert mode["text"] == "the rule starved forces it", mode
    policy, = [row for row in rows if row["kind"] == "policy"]
    assert "policy mode starved" in policy["text"] and "uid" in policy["by"]
    key = one["key", "changed"]
    assert "keys make h1" in key["text"]
    for name in ("h1", "h2", "app-1"):
        words = (daemon.folder / "keys" / f"{name}.key").read_text()
        for secret in (line.split()[1] for line in words.splitlines() if "secret" in line):
            assert secret not in json.dumps(rows)
    shorts = [short(row) for row in rows]
    assert kept(daemon)[:len(rows)] == shorts, "what is kept is the same"
    assert kept(daemon, "--kind", "mode,stance") == [("mode", "slot-starved"),
                                                     ("stance", "changed")]
    assert len(kept(daemon, "--limit", 2)) == 2
    assert kept(daemon, "--since", "1h", "--kind", "mode") == [("mode", "slot-starved")]
    assert kept(daemon, "--since", "2099-01-01") == []
    assert kept(daemon, "--since", f"1:{len(rows) - 3}")[:3] == shorts[-3:]
    other = daemon.ctl("events", "--since", "9:5", "--limit", 1)["events"]
    assert other[0]["what"] == "restarted" and other[0]["sequence"] is None


def words_of_the_page():
    """What the page says of each kind."""
    page = (TOP / "docs" / "operate" / "cli.md").read_text(encoding="utf-8")
    table = page[page.index("| KIND | WHAT |"):].split("\n\n")[0]
    return {kind: words for kinds, words in re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.M)
            for kind in re.findall("[a-z]+", kinds)}


def tasks_of(daemon, name, tasks):
    """A job of tasks that read nothing; its number."""
    folder = daemon.folder / name
    folder.mkdir()
    stage = {"tasks": tasks, "input_bytes": 0, "compute_ms": 5}
    file = workload(folder, [{"id": 1, "name": name, "stages": [stage]}])
    return daemon.ctl("submit", file)["jobs"][0]["job"]


def end(agent, phase):
    """The next attempt that it is told to start ends so."""
    wait_until(lambda: agent.running or agent.receive_start(), "a start")
    attempt = agent.running.popitem()[0]
    agent.state(attempt, "STARTED")
    agent.acknowledged(agent.state(attempt, phase))


def test_what_jobs_and_tasks_do_is_told(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.join()
    job = tasks_of(daemon, "first", 3)
    for phase in ("REFUSED", "FAILED", "DONE"):
        end(h1, phase)
    wait_until(lambda: h1.running or h1.receive_start(), "a start")
    daemon.ctl("job", "requeue", job)
    assert h1.expect("stop").stop.attempt in h1.running
    end(h1, "KILLED")
    daemon.ctl("job", "set", job, "priority=2")
    daemon.ctl("job", "hold", job)
    daemon.ctl("job", "release", job)
    for _ in range(2):
        end(h1, "DONE")
    fails = tasks_of(daemon, "fails", 1)
    for _ in range(4):
        end(h1, "FAILED")
    daemon.ctl("cancel", tasks_of(daemon, "cancelled", 1))
    wait_until(lambda: daemon.ctl("job", fails)["state"] == "failed", "it failed")
    seen = set(kept(daemon, "--kind", "job,task"))
    assert seen >= {("job", what) for what in (
        "submitted", "held", "released", "requeued", "changed", "done", "failed", "cancelled")}
    assert seen >= {("task", what) for what in (
        "start", "stop", "done", "failed", "refused", "killed")}
    page = words_of_the_page()
    assert all(re.search(rf"\b{what}\b", page[kind]) for kind, what in seen), seen


def test_what_hosts_do_and_what_is_tried_is_told(cluster):
    daemon = cluster.daemon(scripted=True)
    h1, h2 = cluster.agent(daemon, "h1", slots=1), cluster.agent(daemon, "h2", slots=1)
    h1.join(), h2.join()
    tasks_of(daemon, "runs", 2)
    daemon.ctl("drain", "h1")
    daemon.ctl("drain", "h1", "--undo")
    h1.acknowledged(h1.send(numbered=True, host_room=pb.HostRoom(text="its disk is full")))
    h1.acknowledged(h1.send(numbered=True, host_room=pb.HostRoom()))
    h1.slots, h1.hello_sequence = 3, 2
    h1.socket.close()
    h1.connect()
    h1.join()
    daemon.clock.advance(4 * SECOND)
    daemon.clock.advance(30 * SECOND)
    daemon.ctl("host", "forget", "h2")
    for words in (["policy", "turn", "fair"], ["stance", "mark", "--all"]):
        daemon.ctl(*words, "--confirm", "60s")
        daemon.ctl(*words)
        words[1 if words[0] == "stance" else 2] = "observe" if words[0] == "stance" else "fifo"
        daemon.ctl(*words, "--confirm", "2s")
        daemon.clock.advance(2 * SECOND)
    seen = set(kept(daemon))
    assert seen >= {("host", what) for what in (
        "joined", "changed", "back", "silent", "full", "lost", "drained", "undrained", "forgotten")}
    assert seen >= {(kind, what) for kind in ("policy", "stance")
                    for what in ("changed", "confirmed", "undone")}
    assert ("task", "lost") in seen
    page = words_of_the_page()
    assert all(re.search(rf"\b{what}\b", page[kind]) for kind, what in seen), seen


def test_it_goes_on_behind_a_sequence(cluster, stream):
    daemon = cluster.daemon()
    client = Client(daemon)
    seen = watch(stream, daemon, "--since", FIRST)
    for name in ("fifo", "sjf"):
        change(client, name)
    wait_until(lambda: len(seen.rows) == 2, "both")
    change(client, "fair")
    wait_until(lambda: len(seen.rows) == 3, "the third")
    behind = seen.end()[1]["sequence"]
    change(client, "srpt")
    again = watch(stream, daemon, "--since", behind)
    wait_until(lambda: len(again.rows) == 2, "what followed")
    assert ["fair" in again.rows[0]["text"], "srpt" in again.rows[1]["text"]] == [True, True]
    only = watch(stream, daemon, "--kind", "policy", "--limit", 1)
    wait_until(lambda: change(client, "fifo") or only.process.poll() is not None, "it has one")
    only.thread.join()
    assert len(only.rows) == 2 and only.process.returncode == 0
    client.close()


def test_a_reader_that_sleeps_is_told_what_it_lost(cluster, stream):
    daemon = cluster.daemon(log=None)
    client = Client(daemon)
    seen = watch(stream, daemon, "--kind", "policy,mode", "--since", FIRST)
    change(client, "fifo")
    seen.until(lambda row: row["kind"] == "policy", "the first")
    seen.process.send_signal(signal.SIGSTOP)
    changes = POLICIES_KEPT + 100
    for number in range(changes):
        change(client, ("sjf", "fifo")[number % 2])
    assert client.ask(get_status=pb.GetStatus()).HasField("status"), "others are served"
    seen.process.send_signal(signal.SIGCONT)
    wait_until(lambda: seen.rows[-1].get("sequence") == f"1:{changes + 1}", "the newest", 0.1)
    lost, = [row for row in seen.rows if row["what"] == "lost"]
    shown = [row for row in seen.rows if row["kind"] == "policy"]
    assert lost["lost"] > 0 and lost["lost"] + len(shown) == changes + 1
    assert str(lost["lost"]) in lost["text"]
    seen.end()
    late = daemon.ctl("events", "--since", "1:1")["events"]
    assert late[0]["lost"] == 100 and len(late) == 1 + POLICIES_KEPT
    client.close()


def test_it_goes_on_after_a_restart_and_says_so(cluster, stream):
    daemon = cluster.daemon()
    seen = watch(stream, daemon, "--since", FIRST, "--kind", "job")
    before = submit(daemon, "before")
    seen.until(lambda row: row["job"] == str(before), "the job")
    daemon.kill()
    seen.until(lambda row: short(row) == ("watch", "disconnected"), "it notes that")
    assert seen.process.poll() is None
    daemon.start()
    seen.until(lambda row: short(row) == ("watch", "restarted"), "it is back")
    after = submit(daemon, "after")
    seen.until(lambda row: row["job"] == str(after), "the next job")
    rows = [(row["what"], row["sequence"]) for row in seen.end()[:-1]]
    assert [what for what, _ in rows] == ["submitted", "disconnected", "restarted", "submitted"]
    assert rows[0][1].startswith("1:") and rows[3][1].startswith("2:")


def test_a_reader_over_tcp_may_watch(cluster, stream):
    daemon = cluster.daemon(keys=True)
    reader = daemon.key("ann", role="read-only")
    there = ("--controller", daemon.address, "--key", reader)
    seen = stream("-j", *there, "watch", "--since", FIRST)
    row = seen.until(lambda row: row["kind"] == "key", "the key")
    assert "keys make ann" in row["text"]
    first = daemon.remote(reader, "events")["events"][0]
    assert first["text"] == row["text"]
    daemon.key("bob", role="read-only")
    seen.until(lambda row: "bob" in row["text"], "another key")
    seen.end()
    again = stream("-j", *there, "watch", "--since", FIRST)
    again.until(lambda row: "bob" in row["text"], "all of them")
    daemon.ctl("keys", "revoke", "ann")
    assert again.process.wait(timeout=DEADLINE) == 7
    again.thread.join()
    assert "does not take the key of ann" in again.rows[-1]["error"]["text"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_it_is_asked_to(cluster, stream, number):
    daemon = cluster.daemon()
    seen = watch(stream, daemon, "--since", FIRST)
    client = Client(daemon)
    change(client, "fifo")
    client.close()
    seen.until(lambda row: row["kind"] == "policy", "the first")
    assert seen.end(number)[-1]["partial"] is False
    people = stream("-s", daemon.socket, "watch", "--since", FIRST)
    people.until(lambda row: "policy" in row, "lines")
    head, row = people.end(number)
    assert head.startswith("SEQUENCE") and row.startswith("1:1 ")


def test_it_ends_with_its_reader(cluster):
    daemon = cluster.daemon()
    ours, its = os.pipe()
    process = subprocess.Popen([BUILD / "duopolyctl", "-s", daemon.socket, "watch"], stdout=its,
                               stderr=subprocess.PIPE)
    os.close(its)
    os.close(ours)
    assert process.wait(timeout=DEADLINE) == -signal.SIGPIPE and not process.stderr.read()
    process.stderr.close()


def test_a_stream_into_a_file(cluster, stream, tmp_path):
    daemon = cluster.daemon()
    client = Client(daemon)
    file = tmp_path / "events"
    begun = stream("--form", "json-lines", "-s", daemon.socket, "record", file, "--since", FIRST)
    change(client, "fifo")
    wait_until(lambda: file.exists() and "policy turn fifo" in file.read_text(), "it is there")
    daemon.kill()
    daemon.start()
    wait_until(lambda: "restarted" in file.read_text(), "it goes on")
    summary = begun.end(signal.SIGTERM)[0]
    assert summary == {"file": str(file), "events": 1, "lost": 0, "restarts": 1}
    *rows, last = map(json.loads, file.read_text().splitlines())
    assert last["schema"] == "events" and last["partial"] is False
    assert [row["what"] for row in rows] == ["changed", "disconnected", "restarted"]
    before = file.read_bytes()
    assert "overwrites nothing" in daemon.ctl("record", file, expect=1)
    assert "No such file" in daemon.ctl("record", tmp_path / "none" / "events", expect=5)
    assert file.read_bytes() == before
    client.close()


def test_wrong_arguments_are_told(cluster):
    daemon = cluster.daemon()
    assert "there is no kind 'fish'" in daemon.ctl("events", "--kind", "fish", expect=2)
    for since in ("yesterday", "0:4", "3:", ":4", "3:4x"):
        assert f"not '{since}'" in daemon.ctl("watch", "--since", since, expect=2)
    assert "needs the name" in daemon.ctl("record", "", expect=2)
    assert "takes no --kind" in daemon.ctl("status", "--kind", "job", expect=2)
    assert "has no time" in daemon.ctl("jobs", "--since", "1h", expect=2)
    assert "takes no --who" in daemon.ctl("events", "--who", "ann", expect=2)


def test_an_older_controller_is_no_fault_of_the_reader(tmp_path):
    """It is asked what it does not know; and what a controller says is no command for a
    terminal."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        for old in (True, False):
            process = subprocess.Popen([BUILD / "duopolyctl", "-s", tmp_path / "s", "events"],
                                       text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            client = listener.accept()[0]
            with client:
                assert pb.Envelope.FromString(client.recv(65536)).HasField("get_events")
                answer = pb.Envelope(version=1)
                if old:
                    answer.refused.reason = pb.REASON_UNSUPPORTED
                    answer.refused.text = "clients cannot ask with a message of kind 'unknown'"
                else:
                    answer.event_page.rows.add(what="lost", host="h\x1b[31m1", text="a\nb\tc")
                client.send(answer.SerializeToString())
                text, words = process.communicate(timeout=DEADLINE)
            if old:
                assert process.returncode == 1 and "is older than this" in words
            else:
                assert "h?[31m1" in text and "a?b?c" in text and "\x1b" not in text
                assert len(text.splitlines()) == 2
