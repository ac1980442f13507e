"""`duopolyctl whatif`: a controller's state run on as it is and changed. What it says comes true;
asking changes nothing; and who cannot be answered is told why."""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from controller import BUILD, SECOND, TOP, Client, Played, pb, wait_until, workload
from test_controller import beat

POLICY = "policy: {turn: fifo, place: greedy, network: none}\n"
STATE = (TOP / "tests" / "fuzz" / "state" / "one_slot").read_bytes()


def computing(name, seconds, tasks=1):
    return {"name": name, "stages": [{"tasks": tasks, "compute_ms": 1000 * seconds}]}


def submit(daemon, *jobs):
    """Their numbers."""
    numbered = [dict(job, id=n + 1) for n, job in enumerate(jobs)]
    return [job["job"] for job in daemon.ctl("submit", workload(daemon.folder, numbered))["jobs"]]


def begin(cluster, slots, hosts=1, **more):
    """Hosts h1, h2, … with so many slots, at time 0."""
    daemon = cluster.daemon(scripted=True, config=POLICY, **more)
    agents = []
    for n in range(hosts):
        key = daemon.key(f"h{n + 1}") if more.get("keys") else None
        agents.append(cluster.agent(daemon, f"h{n + 1}", slots=slots, host=n + 1, key=key))
        agents[-1].join()
    return daemon, agents


def run_started(daemon, agents, n):
    """Until so many attempts have begun to run."""
    def running():
        return sum(task["state"] != "sent" for task in daemon.ctl("tasks")["tasks"])
    while sum(len(agent.running) for agent in agents) < n:
        for agent in agents:
            while agent.socket.poll(50):
                agent.receive_start()
    for agent in agents:
        for attempt in agent.running:
            agent.state(attempt, "STARTED")
    wait_until(lambda: running() == n, "they run")


def three(cluster, **more):
    """One slot: `one` has run for 2 of its 20 s; `two` (40 s) and `three` (10 s) wait."""
    daemon, agents = begin(cluster, 1, **more)
    jobs = submit(daemon, computing("one", 20), computing("two", 40), computing("three", 10))
    run_started(daemon, agents, 1)
    daemon.clock.advance(2 * SECOND)
    beat(daemon, agents[0])
    return daemon, agents, jobs


def lefts(answer, member="left_ns"):
    return {row["name"]: row[member] / SECOND for row in answer["jobs"]
            if row[member] is not None}


# ---- what it says ----


def test_another_policy_changes_the_order(cluster):
    daemon, _, jobs = three(cluster)
    answer = daemon.ctl("whatif", "policy", "turn=sjf")
    assert answer["what_if"] == "the policy were turn=sjf"
    assert lefts(answer) == {"one": 18, "two": 58, "three": 68}
    assert lefts(answer, "changed_left_ns") == {"one": 18, "two": 68, "three": 28}
    assert lefts(answer, "changed_jct_ns") == {"one": 20, "two": 70, "three": 30}
    assert lefts(answer, "later_ns") == {"one": 0, "two": 10, "three": -40}
    rows = {row["job"]: row for row in answer["starts"]}
    assert answer["otherwise"] == 2 and set(rows) == set(jobs[1:])
    two = rows[jobs[1]]
    assert (two["stage"], two["task"], two["host"], two["changed_host"]) == (0, 0, "h1", "h1")
    assert (two["starts_ns"], two["changed_starts_ns"]) == (18 * SECOND, 28 * SECOND)
    assert (answer["earlier_jobs"], answer["later_jobs"], answer["same_jobs"]) == (1, 1, 1)
    assert (answer["slots"], answer["attempts"]) == (1, 1)
    nothing = daemon.ctl("whatif", "policy", "turn=fifo")
    assert nothing["otherwise"] == 0 and not nothing["starts"] and nothing["same_jobs"] == 3


def test_jobs_of_a_file_say_when_they_would_end(cluster, tmp_path):
    daemon, _, jobs = three(cluster)
    path = workload(tmp_path, [dict(computing("new", 10), id=1)])
    answer = daemon.ctl("whatif", "job", path)
    row, = [row for row in answer["jobs"] if row["new"]]
    assert row["name"] == "new" and row["job"] not in jobs and row["end"] is None
    assert lefts(answer, "changed_left_ns") == {"one": 18, "two": 58, "three": 68, "new": 78}
    assert [job["name"] for job in daemon.ctl("jobs")["jobs"]] == ["one", "two", "three"]
    text = ctl("-s", daemon.socket, "whatif", "job", path).stdout
    assert re.search(r"^what if +\S+ were submitted$", text, re.M), text
    assert re.search(r"^ *\d+ +- +78\.0 s +- +new +yes$", text, re.M), text
    assert "none" not in text.splitlines(), "nothing had to be assumed"


def test_a_host_goes_down_as_it_was_said(cluster):
    """It is asked, and then it happens."""
    daemon, (h1, h2) = begin(cluster, 2, hosts=2)
    job, = submit(daemon, computing("j", 20, tasks=4))
    run_started(daemon, [h1, h2], 4)
    mine = {start.task for start in h1.running.values()}
    answer = daemon.ctl("whatif", "host-down", "h1")
    assert answer["what_if"] == "host h1 went down" and answer["hosts_up"] == 2
    assert {row["task"] for row in answer["starts"]} == mine and len(mine) == 2
    assert {row["job"] for row in answer["starts"]} == {job}
    assert {(row["host"], row["changed_host"]) for row in answer["starts"]} == {(None, "h2")}
    after_ns, = {row["changed_starts_ns"] for row in answer["starts"]}
    assert lefts(answer) == {"j": 20} and lefts(answer, "changed_left_ns") == {"j": 50}
    left = dict(h2.running)
    h2.running.clear()
    for _ in range(10):
        daemon.clock.advance(2 * SECOND)
        beat(daemon, h2)
    for attempt in left:
        h2.state(attempt, "DONE")
    wait_until(lambda: daemon.ctl("job", job)["done"] == 2, "its tasks on h2 are done")
    while daemon.clock.now < after_ns - SECOND:
        daemon.clock.advance(SECOND)
        beat(daemon, h2)
    assert not daemon.ctl("tasks", "--filter", "host=h2")["tasks"], "not before it was said"
    daemon.clock.advance(SECOND)
    run_started(daemon, [h2], 2)
    assert {start.task for start in h2.running.values()} == mine


def test_a_host_that_all_need(cluster):
    daemon, _, _ = three(cluster)
    answer = daemon.ctl("whatif", "host-down", "h1")
    assert answer["changed_endless_jobs"] == 3 and answer["endless_jobs"] == 0
    assert {row["changed_end"] for row in answer["jobs"]} == {"never"}
    text = ctl("-s", daemon.socket, "whatif", "host-down", "h1").stdout
    assert re.search(r"^jobs that never end changed +3$", text, re.M), text


def test_one_state_one_answer_and_nothing_else(cluster):
    """The same state says the same; of the question nothing is left but that it was counted."""
    daemon, _, _ = three(cluster)
    words = ("-j", "-s", daemon.socket, "whatif", "host-down", "h1")
    before, audit, said = daemon.counters(), daemon.ctl("audit"), daemon.words()
    documents = []
    for _ in range(2):
        done = ctl(*words)
        assert done.returncode == 0 and not done.stderr, done
        documents.append(json.loads(done.stdout))
        del documents[-1]["generated_at"]
    assert documents[0] == documents[1] and documents[0]["items"][0]["otherwise"] == 2
    after = daemon.counters()
    other = {name for name in after if after[name] != before.get(name)}
    assert "clients.received" in other
    told = {"clients.received", "clients.sent", "clients.spent_ns", "agents.spent_ns",
            "refused.get_state"}  # the last: it asked again
    assert not {name for name in other - told if not name.startswith("loop.")}, other
    assert daemon.ctl("audit") == audit and daemon.words() == said
    assert daemon.stop() == 0
    assert not [line for line in daemon.log() if "host_lost" in line and line[0] == "e"]


# ---- who else asks ----


def ctl(*words):
    return subprocess.run([BUILD / "duopolyctl", *map(str, words)], capture_output=True, text=True,
                          timeout=40, check=False)


def large(cluster):
    """A state that is longer than a pipe has room for."""
    daemon, _ = begin(cluster, 1)
    submit(daemon, computing("large", 1, tasks=40000))
    return daemon


def page(client, taken=0):
    return client.ask(get_state=pb.GetState(**{"from": taken}))


def children(daemon):
    found = subprocess.run(["pgrep", "-P", str(daemon.process.pid)], capture_output=True,
                           text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def test_it_is_told_to_one_at_a_time(cluster, tmp_path):
    daemon = large(cluster)
    client = Client(daemon)
    first = page(client).state_page
    assert len(first.part) == 32768 and not first.last
    said = daemon.ctl("whatif", "host-down", "h1", expect=1)
    assert said == "duopolyctl: the state is being told to somebody else: ask again\n"
    assert daemon.ctl("status")["hosts_up"] == 1, "it answers others meanwhile"
    parts = [first.part]
    while True:
        got = page(client, sum(map(len, parts))).state_page
        parts.append(got.part)
        if got.last:
            break
    text = b"".join(parts)
    assert text.startswith(b"duopoly-log 1\n") and text.endswith(b"\nend state\n")
    (tmp_path / "state").write_bytes(text)
    simulated = subprocess.run([BUILD / "duopoly-sim", "whatif", tmp_path / "state", "--policy",
                                "turn=sjf"], timeout=60, check=False)
    assert simulated.returncode == 0
    client.close()
    assert not children(daemon)


def test_who_leaves_makes_room(cluster):
    daemon = large(cluster)
    client = Client(daemon)
    assert page(client).HasField("state_page") and children(daemon)
    client.close()
    daemon.ctl("whatif", "host-down", "h1")
    assert not children(daemon)


def test_a_place_that_is_none_is_refused(cluster):
    daemon = large(cluster)
    client, other = Client(daemon), Client(daemon)
    first = page(client).state_page
    for asker, taken in ((other, len(first.part)), (client, 7), (client, len(first.part))):
        refused = page(asker, taken).refused
        assert refused.reason == pb.REASON_STATE
        assert refused.text.startswith("no state goes on there: ")
    client.close(), other.close()


def test_a_child_that_dies_is_told(cluster):
    daemon = large(cluster)
    client = Client(daemon)
    taken = len(page(client).state_page.part)
    for child in children(daemon):
        os.kill(child, signal.SIGKILL)
    while (answer := page(client, taken)).HasField("state_page"):
        assert not answer.state_page.last
        taken += len(answer.state_page.part)
    said = "the child that writes the state was ended by signal 9, and it is not whole: ask again"
    assert answer.refused.text == said and said in daemon.words()
    client.close()
    daemon.ctl("whatif", "host-down", "h1")


def test_readers_ask_from_elsewhere(cluster):
    daemon, agents, _ = three(cluster, keys=True)
    reader = daemon.key("ann", role="read-only")
    beat(daemon, agents[0])
    answer = daemon.remote(reader, "whatif", "policy", "turn=sjf")
    assert lefts(answer, "changed_left_ns") == {"one": 18, "two": 68, "three": 28}


# ---- what cannot be answered ----


def test_what_is_not_there_is_told(cluster, tmp_path):
    daemon, _, _ = three(cluster)
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"duopoly_workload":1,"hosts":1}\n{"id":1,"stages":[{"tasks":-1}]}\n')

    def refused(*words, code):
        done = ctl("-s", daemon.socket, "whatif", *words)
        assert done.returncode == code and not done.stdout and done.stderr.count("\n") == 1, done
        return done.stderr
    assert "has no host h9; did you mean 'h1'?" in refused("host-down", "h9", code=5)
    assert "turn has no policy 'nonsense'" in refused("policy", "turn=nonsense", code=1)
    assert "'' is no preset" in refused("policy", "", code=1)
    assert f"{broken}:2" in refused("job", broken, code=1)
    assert f"{tmp_path}/none cannot be read: No such file" in refused("job", tmp_path / "none",
                                                                      code=5)
    refused("job", tmp_path, code=1)
    assert "cannot be a host's name" in refused("host-down", "", code=2)


def test_a_cluster_without_hosts(cluster):
    daemon = cluster.daemon()
    said = daemon.ctl("whatif", "policy", "turn=fifo", expect=1)
    assert said == "duopolyctl: this state has no hosts, so nothing can run on\n"


def test_a_controller_that_starts_is_not_judged(cluster):
    daemon, _, _ = three(cluster)
    daemon.kill()
    daemon.start()
    said = daemon.ctl("whatif", "host-down", "h1", expect=1)
    assert said.startswith("duopolyctl: the controller is starting: hosts that were known before "
                           "are awaited")
    daemon.clock.advance(5 * SECOND)
    assert "silent hosts" in daemon.ctl("whatif", "host-down", "h1")["assumed"][0]["text"]


def test_without_the_simulator_nothing_is_asked(tmp_path):
    shutil.copy(BUILD / "duopolyctl", tmp_path)
    with Played(tmp_path / "s", lambda request: None) as played:
        done = subprocess.run([tmp_path / "duopolyctl", "-s", played.path, "whatif", "host-down",
                               "h1"], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 5 and not played.asked, done
    assert done.stderr == ("duopolyctl: duopoly-sim is not installed beside this program: it runs "
                           "what-ifs\n")


def played_says(tmp_path, answers):
    """What it prints of a controller that answers so, one after the other; None: it goes away."""
    left = list(answers)
    with Played(tmp_path / "s", lambda request: left.pop(0)) as played:
        done = ctl("-s", played.path, "whatif", "host-down", "h0")
    assert not left and not done.stdout and done.stderr.count("\n") == 1, done
    return done.returncode, done.stderr.removeprefix("duopolyctl: ").rstrip("\n")


def told(part, last=False):
    return pb.Envelope(version=1, state_page=pb.StatePage(part=part, last=last))


@pytest.mark.parametrize("answers, code, sentence", [
    ([pb.Envelope(version=1, refused=pb.Refused(
        reason=pb.REASON_UNSUPPORTED, text="clients cannot ask with a message of kind 'x'"))], 1,
     "this controller is older and does not tell its state"),
    ([told(STATE[:500]), None], 3, ".* closed the connection"),
    ([told(STATE[:500]), told(b"")], 1, "the controller told nothing of its state where more .*"),
    ([told(STATE[:-len("end state\n")], last=True)], 1,
     r"the controller's state cannot be run on: line 34: the state ends before its last line, .*"),
    ([told(STATE.replace(b"dump clock", b"dump clok"), last=True)], 1,
     r"the controller's state cannot be run on: line \d+: .*clok.*"),
    ([told(b"duopoly-log 2\n", last=True)], 1,
     "the controller's state cannot be run on: line 1: this is no state of this version: .*"),
], ids=["older", "away", "empty", "torn", "wrong", "version"])
def test_what_a_controller_says_that_is_no_state(tmp_path, answers, code, sentence):
    got, said = played_says(tmp_path, answers)
    assert got == code and re.fullmatch(sentence, said), (got, said)
