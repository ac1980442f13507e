"""Policies as an operator sets and lists them: a real daemon and duopolyctl; agents are played by
the test."""

import itertools
import subprocess

from controller import BUILD

QUESTIONS = ("turn", "place", "commit", "network", "mode", "users")


def ends_and_replays(daemon):
    """The log decides the same again."""
    assert daemon.stop() == 0
    log = daemon.folder / "log" / "duopoly.log"
    replay = [BUILD / "duopoly-sim", "replay", "--quiet", log]
    assert subprocess.run(replay, timeout=20, check=False).returncode == 0


def test_policies_are_set_and_agents_hear_of_the_mode(cluster):
    daemon = cluster.daemon()
    h1, h2 = cluster.agent(daemon, "h1"), cluster.agent(daemon, "h2")
    h1.join(), h2.join()
    assert "mode is starved" in daemon.ctl("policy", "mode", "starved")["text"]
    assert [a.expect("mode").mode.mode for a in (h1, h2)] == [1, 1]
    assert daemon.ctl("mode")["mode"] == "slot-starved"
    assert "rich" in daemon.ctl("policy", "mode", "rich")["text"]
    assert h1.expect("mode").mode.mode == 0
    daemon.ctl("policy", "network", "none")
    daemon.ctl("policy", "turn", "fifo")
    assert daemon.ctl("status")["policy"] == "turn fifo, place joint, commit single, network none"
    for question, name, sentence in (
            ("mode", "poor", "there are: first, all, rich, starved"),
            ("place", "best", "there are: nats, "),
            ("colour", "red", "there are: turn, place, commit, network, mode, users")):
        assert sentence in daemon.ctl("policy", question, name, expect=1)
    ends_and_replays(daemon)


def in_force(daemon, word):
    """What `duopolyctl policy` says of a parameter: its policy and its value; None: that is not
    there."""
    rows = [r for r in daemon.ctl("policy")["policies"] if r["parameter"] == word]
    return (rows[0]["policy"], rows[0]["value"]) if rows else None


REFUSED = (
    (["place", "random", "even_wait=1 s"],
     "place random has no parameter 'even_wait'; it has: none"),
    (["place", "delay", "wait=1 s"],
     "place delay has no parameter 'wait'; it has: even_wait, start_wait"),
    (["place", "delay", "even_wait=25 h"],
     "even_wait: '25 h' is out of range: from 0 ns to 86400 s"),
    (["mode", "first", "ignore_held=2"], "ignore_held: '2' is neither true nor false"))


def test_parameters_of_policies_are_set_shown_and_kept(cluster):
    daemon = cluster.daemon()
    assert {r["question"]: r["policy"] for r in daemon.ctl("policy")["policies"]} == {
        "turn": "srpt", "place": "joint", "commit": "single", "network": "rank", "mode": "first",
        "users": "none"}
    assert in_force(daemon, "even_wait") == ("joint", "200 ms")
    said = daemon.ctl("policy", "place", "nats", "even_wait=1.5 s", "start_wait=2 s")["text"]
    assert "place is nats with even_wait=1.5 s, start_wait=2 s from now on" in said
    assert in_force(daemon, "even_wait") == ("nats", "1500 ms")
    assert in_force(daemon, "start_wait") == ("nats", "2 s")
    assert "mode is first" in daemon.ctl("policy", "mode", "first", "ignore_held=yes")["text"]
    for words, sentence in REFUSED:
        assert sentence in daemon.ctl("policy", *words, expect=1)
    bare = daemon.ctl("policy", "place", "delay", "even_wait", expect=2)
    assert "is no parameter: WORD=VALUE" in bare
    assert in_force(daemon, "even_wait") == ("nats", "1500 ms"), "what is refused changes nothing"
    changes = [row["what"] for row in daemon.ctl("audit")["audit"]]
    assert "policy place nats even_wait=1.5 s start_wait=2 s" in changes
    assert daemon.stop() == 0
    daemon.start()
    assert in_force(daemon, "even_wait") == ("nats", "1500 ms")
    assert in_force(daemon, "ignore_held") == ("first", "yes")
    daemon.ctl("policy", "place", "configured")
    assert in_force(daemon, "even_wait") == ("joint", "200 ms")
    assert in_force(daemon, "start_wait") == ("joint", "0 ns")
    ends_and_replays(daemon)


def combination(row):
    return tuple(row[question] for question in QUESTIONS)


def walk(daemon, rows, now):
    """Sets every policy once, beside what is in force; what was said of each."""
    said = {}
    for row in rows:
        others = [q for q in QUESTIONS if row[q] != now[q]]
        if row["works"] and len(others) == 1:
            question = others[0]
            said[question, row[question]] = daemon.ctl("policy", question, row[question])["text"]
            daemon.ctl("policy", question, now[question])
    return said


def test_the_table_of_combinations_is_listed(cluster):
    """Each row can be put in force if it says so, and is refused with its words if not; one is in
    force."""
    daemon = cluster.daemon()
    rows = daemon.ctl("policy", "--all")["combinations"]
    choices = [sorted({row[q] for row in rows}) for q in QUESTIONS]
    assert sorted(map(combination, rows)) == sorted(itertools.product(*choices))
    now = {r["question"]: r["policy"] for r in daemon.ctl("policy")["policies"]}
    assert [combination(row) for row in rows if row["in_force"]] == [combination(now)]
    assert all(row["works"] != bool(row["text"]) for row in rows)
    walked = walk(daemon, rows, now)
    assert all(f"{q} is {name} from now on" in said for (q, name), said in walked.items())
    assert len(walked) > 10
    command = [BUILD / "duopolyctl", "-s", daemon.socket, "policy", "--all"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    lines = [tuple(line.split()[:6]) for line in text.splitlines() if line]
    assert "IN FORCE" in text and lines[1:] == [combination(row) for row in rows]
    assert "it sets none" in daemon.ctl("policy", "--all", "turn", "fifo", expect=2)
