"""`duopolyctl explain HOST`, `explain HOST:LINK` and `explain mode` of a real controller: what
agents told it stands there, with its time, what is compared with it, who is first there, and what
would change it."""
import re
import subprocess

import pytest

from controller import BUILD, SECOND, Agent, Played, pb, workload
from test_controller import beat, next_start, one_job, run_attempt

DUOPOLY = "policy: {preset: duopoly}\n"
GREEDY = "policy: {preset: duopoly, turn: fifo, place: greedy}\n"


@pytest.fixture(name="daemon")
def _daemon(cluster):
    """Its clock is the test's, and has run for a second."""
    daemon = cluster.daemon(scripted=True, config=DUOPOLY)
    daemon.clock.advance(SECOND)
    return daemon


def run(*words):
    return subprocess.run([BUILD / "duopolyctl", *words], capture_output=True, text=True,
                          timeout=20, check=False)


def explained(daemon, *words):
    """The text, and the facts."""
    answer = daemon.ctl("explain", *words)
    return answer["text"], {fact["name"]: fact["value"] for fact in answer["facts"]}


def tell(agent, **message):
    agent.acknowledged(agent.send(numbered=True, **message))


def pass_s(daemon, seconds, *agents):
    """Time passes, in which these are heard."""
    for _ in range(seconds):
        daemon.clock.advance(SECOND)
        for agent in agents:
            beat(daemon, agent)


def submit(daemon, name, tasks=1, **stage):
    """A job of maps; its number."""
    job = {"id": 1, "name": name, "stages": [{"tasks": tasks, "compute_ms": 5, **stage}]}
    return daemon.ctl("submit", workload(daemon.folder, [job]))["jobs"][0]["job"]


# ---- hosts ----


UNUSED = (" 4 of its 4 slots are free. No task is ready: they are used when one is that may run "
          "here. It has not said how full its links are.")


def test_a_host_says_since_when_it_is_as_it_is(cluster, daemon):
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    pass_s(daemon, 2, h1)
    text, facts = explained(daemon, "h1")
    assert text == "h1 is up: it joined 2.0 s ago." + UNUSED
    assert (facts["host"], facts["state"], facts["state_for_s"]) == ("h1", "up", "2.000")
    assert (facts["slots"], facts["slots_free"], facts["attempts"]) == ("4", "4", "0")
    daemon.ctl("drain", "h1")
    pass_s(daemon, 1, h1)
    text, facts = explained(daemon, "h1")
    assert text.startswith("h1 is draining for 1.0 s: what runs there goes on, and nothing starts "
                           "there until `duopolyctl drain h1 --undo`.")
    assert (facts["state"], facts["drained_s"]) == ("draining", "1.000")
    daemon.ctl("drain", "h1", "--undo")
    assert explained(daemon, "h1")[0] == "h1 is up: its drain was undone 0.0 s ago." + UNUSED
    tell(h1, host_room=pb.HostRoom(text="its disk is full"))
    pass_s(daemon, 1, h1)
    text, facts = explained(daemon, "h1")
    assert text == (
        "h1 is full for 1.0 s: its disk is full. Nothing starts there until it has room again.")
    assert (facts["state"], facts["no_room"]) == ("full", "its disk is full")
    tell(h1, host_room=pb.HostRoom(text=""))
    assert explained(daemon, "h1")[0] == "h1 is up: it came back 0.0 s ago." + UNUSED
    pass_s(daemon, 4)
    text, facts = explained(daemon, "h1")
    assert text == ("h1 is silent: it was not heard for 4.0 s. Nothing starts there until it is; "
                    "in 26.0 s it is lost (host_lost), and what runs there runs elsewhere.")
    assert (facts["heard_s_ago"], facts["host_lost_s"]) == ("4.000", "30.000")
    daemon.clock.advance(30 * SECOND)
    text, facts = explained(daemon, "h1")
    assert text.startswith("h1 is lost for 4.0 s: what ran there runs elsewhere")
    assert facts["state_for_s"] == "4.000"
    assert text.endswith("`duopolyctl host forget h1` forgets it.")


def test_what_was_before_a_restart_is_not_guessed(cluster, daemon):
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("drain", "h1")
    daemon.kill()
    daemon.start()
    daemon.clock.advance(SECOND)
    text, facts = explained(daemon, "h1")
    assert text.startswith("h1 is silent: it was not heard for 1.0 s.")
    assert facts["state"] == "silent"
    h1.hello_sequence += 1
    h1.connect()
    h1.join()
    text, facts = explained(daemon, "h1")
    assert text.startswith("h1 is draining since before the controller's start: ")
    assert "drained_s" not in facts


def test_a_suspect_host_says_of_what_and_when_it_is_tried_again(cluster, daemon):
    """Three tasks fail on it that are done elsewhere."""
    h1, h2 = cluster.agent(daemon, "h1", slots=1), cluster.agent(daemon, "h2", slots=1)
    h1.join(), h2.join()
    for n in range(3):
        daemon.ctl("drain", "h2")
        submit(daemon, f"j{n}")
        start = h1.expect("start").start
        h1.state(start.attempt, "STARTED")
        daemon.ctl("drain", "h1")
        h1.acknowledged(h1.state(start.attempt, "FAILED", exit_status=3, text="no disk"))
        daemon.ctl("drain", "h2", "--undo")
        run_attempt(*next_start(h2))
        daemon.ctl("drain", "h1", "--undo")
    pass_s(daemon, 2, h1, h2)
    text, facts = explained(daemon, "h1")
    assert (facts["state"], facts["suspect_s"], facts["failed_in_a_row"]) == (
        "suspect", "2.000", "3")
    assert (" It is suspect for 2.0 s, and gets no new work. The last 3 attempts there failed or "
            "were lost, the newest: ") in text
    assert ("ended with exit code 3: no disk. It gets one task as a probe in 3 s; a task that is "
            "done there ends this.") in text
    assert "slots are free" not in text


def test_why_free_slots_are_free(cluster, daemon):
    h1, h2 = cluster.agent(daemon, "h1", slots=4), cluster.agent(daemon, "h2", slots=1)
    h1.join(), h2.join()
    block = {"replicas": [[1]], "input_bytes": 1000}
    first = submit(daemon, "first", **block)
    h2.expect("start")
    small = submit(daemon, "small", constraint="host=h1")
    h1.expect("start")
    tell(h1, load=pb.Load(uplink_permille=950, downlink_permille=20))
    pass_s(daemon, 1, h1, h2)
    why = {submit(daemon, "second", **block): ("congested", 1),
           submit(daemon, "third", tasks=2, constraint="host=h2"): ("constraint", 2),
           submit(daemon, "fourth", demand={"slots": 4}): ("no-room", 1)}
    text, facts = explained(daemon, "h1")
    listed = daemon.ctl("jobs", "--columns", "job,place")["jobs"]
    places = {row["job"]: row["place"] for row in listed}
    waiting = sorted(why, key=places.get)
    assert [facts[f"waiting_{n}"] for n in (1, 2, 3)] == [
        f"{job}/0, {why[job][1]} ready, place {places[job]}: {why[job][0]}" for job in waiting]
    assert (facts["tasks_ready"], facts["slots_free"], facts["first_job"]) == ("4", "3", str(small))
    assert text.startswith("h1 is up: it joined 1.0 s ago. 3 of its 4 slots are free. First in "
                           f"turn of those that run there is job {small} (small), ")
    held, other, large = why
    assert (f" Stage 0 of job {held} (second), {places[held]} of 5 in turn, has 1 ready task. Held "
            f"back: while the network is congested other jobs than the first ({first}) start only "
            "tasks next to their blocks. The uplink of h1 is at or above 800 per mille. The hold "
            "ends after 0.2 s at the latest.") in text
    assert (f" Stage 0 of job {other} (third), {places[other]} of 5 in turn, has 2 ready tasks. "
            "None may run here: this host does not meet 'host=h2'.") in text
    assert (f" Stage 0 of job {large} (fourth), {places[large]} of 5 in turn, has 1 ready task. "
            "Each needs slots 4 in one unit, and the most that is free in one here is slots 3."
            ) in text
    assert text.endswith(
        " By its report of 1.0 s ago its uplink is 95.0 % full and its downlink 2.0 %; 0 tasks "
        "receive there. Its uplink counts as full for 1.0 s, until it is below 80.0 % (`duopolyctl "
        "explain h1:uplink`).")
    assert (facts["uplink_permille"], facts["downlink_permille"]) == ("950", "20")
    assert (facts["load_told_s_ago"], facts["uplink_full_s"]) == ("1.000", "1.000")
    assert explained(daemon, "h2")[0].startswith(
        "h2 is up: it joined 1.0 s ago. No slot of its 1 is free: one is when an attempt "
        f"there ends, of which there is 1. First in turn of those that run there is job {first} "
        "(first), ")


def test_a_disk_of_which_too_much_is_asked_is_told(cluster, daemon):
    h1 = cluster.agent(daemon, "h1")
    h1.disk_bytes_s = 100_000_000
    h1.join()
    asked = "140.0 % of what its disk reads is asked of it, by 3 readers"
    tell(h1, load=pb.Load(disk_permille=1400, disk_readers=3))
    pass_s(daemon, 1, h1)
    text, facts = explained(daemon, "h1")
    assert text.endswith(f" {asked}: more than it has, for 1.0 s, until some of them end.")
    assert (facts["disk_permille"], facts["disk_readers"], facts["disk_over_s"]) == (
        "1400", "3", "1.000")
    tell(h1, load=pb.Load(disk_permille=1400, disk_readers=3, disk_hangs=True))
    assert explained(daemon, "h1")[0].endswith("; it answers nothing.")
    tell(h1, load=pb.Load(disk_permille=1000, disk_readers=1))
    text, facts = explained(daemon, "h1")
    assert text.endswith(" 100.0 % of what its disk reads is asked of it, by 1 reader.")
    assert "disk_over_s" not in facts


# ---- links ----


def receiving(cluster, daemon):
    """A map is done on h1, and a reduce task on h2 reads what it made."""
    h1, h2 = cluster.agent(daemon, "h1", host=1, slots=1), cluster.agent(daemon, "h2", host=2)
    h1.join(), h2.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job(reduces=2)]))
    run_attempt(h1, h1.expect("start").start)
    return h1, h2


def test_a_link_says_what_it_carries_and_whose_it_is(cluster, daemon):
    h1, h2 = receiving(cluster, daemon)
    start = h2.expect("start").start
    for phase, received in (("STARTED", 0), ("RECEIVING", 500)):
        h2.acknowledged(h2.state(start.attempt, phase, received_bytes=received))
    tell(h1, load=pb.Load(uplink_permille=950, downlink_permille=10))
    tell(h2, load=pb.Load(uplink_permille=10, downlink_permille=850))
    pass_s(daemon, 2, h1, h2)
    transfer = f"1/1/{start.task} on h2 at level {start.coflow_level}"
    reads = (f"{transfer}; levels are those of Coflows, since the mode is slot-rich. First in turn "
             "there is job 1 (j), 1 of 1.")
    text, facts = explained(daemon, "h1:uplink")
    assert text == (
        "The uplink of h1 is 95.0 % full of its 100.0 Mbit/s, by the report of 2.0 s ago. It "
        "counts as full for 2.0 s, until a report has less than 80.0 %. The network is congested "
        "for 2.0 s: 1 of 2 uplinks is not below 80.0 %, and it stays so while more than 0 are "
        "not. 1 task reads from it. By level: " + reads)
    assert {name: facts[name] for name in facts if name.startswith("uplink_")} == {
        "uplink_permille": "950", "uplink_bps": "100000000", "uplink_told_s_ago": "2.000",
        "uplink_full_s": "2.000", "uplink_congested_permille": "900",
        "uplink_cleared_permille": "800", "uplink_transfers": "1",
        "uplink_transfer_1": f"1/1/{start.task} on h2 level {start.coflow_level} (Coflow "
                             f"{start.coflow_level}, Macroflow {start.macroflow_level}) 500 of "
                             "2000 bytes",
        "uplink_first_job": "1", "uplink_first_job_place": "1 of 1"}
    assert (facts["congested"], facts["congested_for_s"], facts["uplinks"]) == ("yes", "2.000", "2")
    assert [facts["uplinks_" + name] for name in ("over", "uncleared", "for_congestion")] == [
        "1", "1", "1"]
    text, facts = explained(daemon, "h2:downlink")
    assert text == (
        "The downlink of h2 is 85.0 % full of its 100.0 Mbit/s, by the report of 2.0 s ago. It is "
        "full when a report has more than 90.0 %. Congestion is judged by uplinks alone. 1 task "
        "receives there. By level: " + reads)
    assert facts["downlink_transfers"] == "1" and "congested" not in facts
    text, facts = explained(daemon, "h2", "uplink")
    assert text.endswith(" No task reads from it.") and facts["uplink_transfers"] == "0"
    tell(h1, load=pb.Load(uplink_permille=799, downlink_permille=10))
    text, facts = explained(daemon, "h1:uplink")
    assert (" It counts as full when a report has more than 90.0 %. The network is not congested "
            "for 0.0 s: 0 of 2 uplinks are over 90.0 %, and it becomes so when more than 0 are."
            ) in text
    assert facts["congested"] == "no" and "uplink_full_s" not in facts
    h2.acknowledged(h2.state(start.attempt, "COMPUTING", received_bytes=2000))
    assert explained(daemon, "h2:downlink")[0].endswith(" No task receives there.")


def test_of_many_transfers_the_most_urgent_are_told(cluster):
    daemon = cluster.daemon(scripted=True, config=GREEDY)
    h1 = cluster.agent(daemon, "h1", host=1, slots=6)
    h2 = cluster.agent(daemon, "h2", host=2, slots=6)
    h1.join()
    for name, size in (("large", 10_000_000_000), ("small", 1000)):
        job = one_job(name, maps=1, reduces=3)
        job["stages"][1]["parents"][0]["sums"] = [size] * 3
        job["stages"][1]["constraint"] = "host=h2"
        if name == "large":
            h2.join()
        daemon.ctl("submit", workload(daemon.folder, [job]))
        run_attempt(h1, h1.expect("start").start)
    found = {}
    for _ in range(6):
        start = next_start(h2)[1]
        h2.acknowledged(h2.state(start.attempt, "STARTED"))
        h2.acknowledged(h2.state(start.attempt, "RECEIVING", received_bytes=1))
        found.setdefault(start.job, []).append(start.coflow_level)
    assert min(found[1]) > max(found[2]), "the small one is the more urgent"
    text, facts = explained(daemon, "h2:downlink")
    assert " 6 tasks receive there. By level: 2/1/0 on h2 at level " in text
    assert facts["downlink_transfers"] == "6"
    told = [facts[f"downlink_transfer_{n}"] for n in range(1, 5)]
    assert [transfer.split("/")[0] for transfer in told] == ["2", "2", "2", "1"]
    assert "downlink_transfer_5" not in facts and " and 2 more; levels are those of Coflows" in text
    row, = daemon.ctl("jobs", "--sort", "place", "--limit", 1, "--columns", "job")["jobs"]
    assert facts["downlink_first_job"] == str(row["job"])
    text, facts = explained(daemon, "h1:uplink")
    assert facts["uplink_transfers"] == "6"


LINK = {"place": 0, "port": "eth0", "rate_bps": 10**9, "sent_bps": 250_000_000,
        "received_bps": 10**6, "sent_peak_bps": 500_000_000, "received_peak_bps": 2 * 10**6,
        "dropped": 3}


def test_a_port_says_what_its_agent_told(cluster, daemon):
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    link = pb.Link(received_ceiling_bps=4 * 10**8, **LINK)
    tell(h1, links_part=pb.LinksPart(ports=1, links=[link]))
    pass_s(daemon, 1, h1)
    text, facts = explained(daemon, "h1:eth0")
    assert text.startswith(
        "Port eth0 of h1, of 1.0 Gbit/s, sends 250.0 Mbit/s (500.0 Mbit/s in its fullest tenth, "
        "25.0 % of its rate) and receives 1.0 Mbit/s (2.0 Mbit/s in its fullest tenth, 0.1 % of "
        "its rate), by its report of 1.0 s ago. It never receives more than 400.0 Mbit/s, less "
        "than half of its rate: something on the way is slower. The uplink of h1 has 100.0 "
        "Mbit/s; how full it is has not been reported. ")
    assert " The downlink of h1 has 100.0 Mbit/s; how full it is has not been reported." in text
    row, = daemon.ctl("links")["links"]
    assert (facts["port"], facts["dropped"], facts["port_told_s_ago"]) == ("eth0", "3", "1.000")
    assert all(facts[name] == str(row[name]) for name in ("rate_bps", "sent_bps", "received_bps"))
    assert explained(daemon, "h1", "eth0") == (text, facts), "as `links` has them, side by side"
    pass_s(daemon, 4)
    assert explained(daemon, "h1:eth0")[0] == (
        "What the port eth0 of h1 carries is not known: h1 is not heard for 4 s.")


class Switch(Agent):
    def hello(self):
        self.send(hello=pb.Hello(version_min=1, version_max=1, name=self.name, boot=self.boot,
                                 role=pb.ROLE_SWITCH, hello_sequence=self.hello_sequence))


def test_a_switch_has_ports_alone(daemon):
    switch = Switch(daemon, "s")
    try:
        switch.join()
        text, facts = explained(daemon, "s")
        assert text.startswith("s is a switch: nothing runs there. ")
        assert facts == {"host": "s", "state": "up"}
        assert "has told of no port yet" in daemon.ctl("explain", "s:p1", expect=5)
        tell(switch, links_part=pb.LinksPart(ports=1, links=[pb.Link(**dict(LINK, port="p1"))]))
        text, facts = explained(daemon, "s:p1")
        assert text.startswith("Port p1 of s, of 1.0 Gbit/s, ")
        assert text.endswith(", by its report of 0.0 s ago.")
        assert daemon.ctl("explain", "s:uplink", expect=5) == (
            "duopolyctl: s has no link 'uplink'; did you mean 'p1'? (duopolyctl links s lists its "
            "ports)\n")
        assert daemon.ctl("switch", "s", expect=5) == (
            "duopolyctl: there is no switch s: its agent has said nothing of one\n")
        assert daemon.ctl("switch", "s1", expect=5) == (
            "duopolyctl: there is no switch s1; did you mean 's'?\n")
    finally:
        switch.close()


# ---- the mode ----


USE = ("nats: only the first job is served while slot-starved; cans: levels by Coflow while "
       "slot-rich, by Macroflow while slot-starved")


def test_the_mode_says_what_would_change_it(cluster, daemon):
    text, facts = explained(daemon, "mode")
    assert text == ("The mode is slot-rich, and has not changed since the controller's start. Now "
                    "no job is active. It is slot-starved as soon as ready tasks outnumber their "
                    "free slots: with 1 more ready, or as many slots fewer. A mode lasts at least "
                    f"0.050 s (dwell). It tells {USE}.")
    assert "mode_for_s" not in facts and facts["misses"] == "1"
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.join()
    submit(daemon, "j", tasks=4)
    h1.expect("mode")
    pass_s(daemon, 2, h1)
    text, facts = explained(daemon, "mode")
    assert text == ("The mode is slot-starved for 2.0 s: the first job had 4 ready tasks for 1 "
                    "free slot. Now the first job, 1 (j), has 3 ready tasks and 0 free slots for "
                    "them. It is slot-rich as soon as ready tasks do not outnumber their free "
                    "slots: with 3 fewer ready, or as many slots more. A mode lasts at least "
                    f"0.050 s (dwell). It tells {USE}.")
    assert facts == {
        "mode": "slot-starved", "mode_rule": "first", "mode_forced": "no",
        "mode_wanted": "slot-starved", "mode_sequence": "1", "mode_for_s": "2.000",
        "changed_by": "first", "changed_ready": "4", "changed_free": "1", "ready": "3", "free": "0",
        "first_job": "1", "misses": "3", "dwell_s": "0.050", "dwell_left_s": "0.000",
        "mode_use": USE}
    said = daemon.ctl("mode")
    assert [said[name] for name in ("mode", "first_job", "first_ready", "first_free")] == [
        "slot-starved", 1, 3, 0]
    daemon.ctl("policy", "mode", "rich")
    text, facts = explained(daemon, "mode")
    assert text.startswith("The mode is slot-rich for 0.0 s: the rule rich forces it. Now the "
                           "first job, 1 (j), has 3 ready tasks and 0 free slots for them. The "
                           "rule rich forces it, whatever these are: `duopolyctl policy mode "
                           "first` lets them decide.")
    assert facts["mode_forced"] == "yes" and "misses" not in facts
    daemon.ctl("policy", "mode", "first")
    text, facts = explained(daemon, "mode")
    assert [facts[name] for name in ("mode", "mode_wanted", "dwell_left_s")] == [
        "slot-rich", "slot-starved", "0.050"]
    assert (" By that it is to be slot-starved, and becomes so when it has lasted 0.050 s, in "
            "0.050 s.") in text
    daemon.clock.advance(SECOND // 10)
    assert explained(daemon, "mode")[1]["mode"] == "slot-starved"


def test_people_get_a_sentence_and_a_table(daemon):
    done = run("-s", daemon.socket, "explain", "mode")
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.splitlines()[0].startswith("why The mode is slot-rich, and has not changed")
    assert [line.split(None, 1) for line in done.stdout.splitlines()[2:6]] == [
        ["FACT", "VALUE"], ["mode", "slot-rich"], ["mode_rule", "first"], ["mode_forced", "no"]]


# ---- what is no thing ----


def test_names_that_mean_something_else_have_a_colon(cluster, daemon):
    for name in ("mode", "7", "rack:7"):
        cluster.agent(daemon, name).join()
    assert explained(daemon, "mode")[0].startswith("The mode is slot-rich")
    for name in ("mode", "7", "rack:7"):
        assert explained(daemon, name + ":")[0].startswith(f"{name} is up: "), name
        assert explained(daemon, name + ":uplink") == explained(daemon, name, "uplink")
    assert "there is no attempt and no job 7" in daemon.ctl("explain", "7", expect=5)
    assert daemon.ctl("explain", "rack:7", expect=5) == (
        "duopolyctl: there is no host or switch rack; did you mean 'rack:7'?\n")


def test_of_what_is_not_there_the_nearest_is_named(cluster, daemon):
    assert daemon.ctl("explain", "w1", expect=5) == "duopolyctl: there is no host or switch w1\n"
    for name in ("w1", "w12", "switch"):
        cluster.agent(daemon, name).join()
    for wrong, right in (("w2", "w1"), ("w122", "w12"), ("swich", "switch"), ("W12:uplink", "w12")):
        name = wrong.split(":", maxsplit=1)[0]
        assert daemon.ctl("explain", wrong, expect=5) == (
            f"duopolyctl: there is no host or switch {name}; did you mean '{right}'?\n")
    assert daemon.ctl("explain", "w1:uplnk", expect=5) == (
        "duopolyctl: w1 has no link 'uplnk'; did you mean 'uplink'? (duopolyctl links w1 lists its "
        "ports)\n")


@pytest.mark.parametrize("words, sentence", [
    (["1/2"], "a task is written JOB/STAGE/TASK"), (["0"], "a task is written JOB/STAGE/TASK"),
    ([""], "a task is written"), (["1/2/3/4"], "a task is written"),
    ([":uplink"], "'' cannot be a host's name; what is explained is a TASK, a JOB, a HOST, "),
    (["w1/eth0"], "'w1/eth0' cannot be a host's name"), (["w 1"], "'w 1' cannot be a host's name"),
    (["w" * 64], "cannot be a host's name"), (["w1", ""], "a port of host w1 needs a name"),
    (["w1:" + "p" * 64], "is longer than a port's name, which has 63 bytes"),
    (["a", "b", "c"], "write: duopolyctl explain TASK | JOB | HOST"),
    ([], "write: duopolyctl explain ")])
def test_what_nobody_can_mean_is_refused(words, sentence):
    done = run("explain", *words)
    assert done.returncode == 2 and not done.stdout and sentence in done.stderr, done
    assert len(done.stderr.splitlines()) == 1


def test_an_older_controller_explains_tasks_and_jobs_alone(tmp_path):
    def answer(_request):
        return pb.Envelope(version=1, refused=pb.Refused(reason=pb.REASON_UNSUPPORTED, text="none"))
    with Played(tmp_path / "s", answer) as played:
        for word in ("mode", "w1", "w1:uplink"):
            done = run("-s", played.path, "explain", word)
            assert done.returncode == 1 and done.stderr == (
                "duopolyctl: this controller is older than this command, and explains tasks and "
                "jobs alone\n")
    assert [request.WhichOneof("body") for request in played.asked] == 3 * ["explain_thing"]


# ---- what it costs ----


def test_what_is_looked_at_is_bounded(cluster):
    """Of a hundred jobs that wait for another host as many are told of as of four."""
    daemon = cluster.daemon(scripted=True, config=GREEDY)
    h1, h2 = cluster.agent(daemon, "h1"), cluster.agent(daemon, "h2", slots=1)
    h1.join(), h2.join()
    stage = {"tasks": 1, "compute_ms": 5, "constraint": "host=h2"}
    jobs = [{"id": n + 1, "name": f"j{n}", "stages": [stage]} for n in range(100)]
    daemon.ctl("submit", workload(daemon.folder, jobs))
    text, facts = explained(daemon, "h1")
    assert [name for name in facts if name.startswith("waiting_")] == [
        "waiting_1", "waiting_2", "waiting_3"]
    assert facts["waiting_1"] == "2/0, 1 ready, place 2: constraint"
    assert facts["jobs_looked_at"] == "4 of 100"
    assert len(re.findall("does not meet 'host=h2'", text)) == 3
