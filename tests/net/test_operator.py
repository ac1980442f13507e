"""What an operator reads in duopolyctl of jobs, on real namespaces: what is left of one, what its
tasks waited for and took, which of them are shown first, and how many are not. And what an operator
asks of a cluster that runs: duopolyctl alone answers, and the recording agrees."""

import fcntl
import os
import re
import signal
import time

import pytest

import kills
import questions
import small_site
from test_metrics import find, metric_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the testbed needs root")


def commands(_name, seen):
    """One that ends at once, and one that ends when nobody holds a lock."""
    return {"short": "true", "waits": "flock -s %s/gate true" % seen}


@pytest.fixture
def site(tmp_path):
    with small_site.site(str(tmp_path), 2, commands) as made:
        yield made


def test_what_runs_is_shown_first(site):
    with open(os.path.join(site.seen, "gate"), "w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        number = site.submit({"tasks": 100, "command": "short", "compute_ms": 1},
                             {"tasks": 50, "command": "waits", "compute_ms": 1000, "parents": [{"stage": 0, "sums": [1000] * 50}]},
                             {"tasks": 15, "command": "short", "compute_ms": 1, "parents": [{"stage": 1, "sums": [100] * 15}]})
        job = site.wait(number, lambda job: job["done"] == 100 and job["running"] == 4)
        rows = job["tasks"]
        assert len(rows) == 96 and job["more"] == "69 more are not shown: duopolyctl tasks %s -a lists all" % number
        assert [row["stage"] for row in rows[:50]] == [1] * 50
        assert sorted(row["state"] for row in rows[:50]) == sorted(["ready"] * 46 + [row["state"] for row in rows[:4]])
        assert [row["stage"] for row in rows[50:65]] == [2] * 15 and {row["state"] for row in rows[65:]} == {"done"}
        # What is left: 50 tasks of a second, 15 of a millisecond; their input, which these tasks do
        # not say that they have.
        assert job["left_ns"] == 50_015_000_000 and 0 < job["left_bytes"] <= 50 * 1000 + 15 * 100
        assert len(site.running.ask("tasks", number, "-a")["tasks"]) == 165
    job = site.wait(number, lambda job: job["state"] == "done")
    assert job["left_ns"] is None and job["more"].startswith("69 more are not shown") and "not_kept" not in job
    said = site.text("jobs", "-a")
    assert "WORK LEFT" in said and "BYTES LEFT" in said and "ESTIMATE" not in said


def test_what_a_job_took_is_kept(site):
    number = site.submit({"tasks": 4, "compute_ms": 200},
                         {"tasks": 2, "compute_ms": 300, "parents": [{"stage": 0, "sums": [2_000_000] * 2}]})
    job = site.wait(number, lambda job: job["state"] == "done")
    assert job["measured_tasks"] == 6 and job["received_bytes"] > 1_000_000
    assert job["compute_ns"] >= 0.9 * (4 * 200 + 2 * 300) * 1_000_000 and job["receive_ns"] > 0 and job["slot_wait_ns"] >= 0
    rows = job["tasks"]
    assert sum(row["compute_ns"] for row in rows) == job["compute_ns"]
    assert sum(row["receive_ns"] for row in rows) == job["receive_ns"]
    assert sum(row["wait_ns"] for row in rows) == job["slot_wait_ns"]
    reduces = [row for row in rows if row["stage"] == 1]
    assert all(row["bytes"] == 2_000_000 and row["receive_ns"] > 0 for row in reduces)
    said = site.text("job", number)
    for heading in ("waits of tasks", "their transfers", "their computing", "they received", "WAITED", "TRANSFER", "COMPUTE"):
        assert heading in said


# ---- questions: each asks, and returns what checks the answer by the recordings ----


CHANGES = ["user set ann share=2", "drain w3", "drain w3 --undo"]
ALONE = re.compile(r"alone it would take the whole cluster ([\d.]+) s by its estimate")


def which_job_is_first_and_why(site):
    listed = site.ask("jobs", "--sort", "place", "--limit", 1, "--columns", "job,name,place")
    row, = listed.answer["jobs"]
    assert (row["job"], row["name"], row["place"]) == (site.first, "first", 1)
    assert listed.shows(site.first, "first")
    said = site.ask("explain", site.first)
    turn = said.answer["text"][said.answer["text"].index("It is 1 of 2 in turn"):]
    own, other = ALONE.findall(turn)
    assert float(own) < float(other) and "Behind it is job %d (second)" % site.second in turn
    assert said.facts()["turn"] == "sjf" and said.facts()["job_behind"] == str(site.second)
    assert said.shows(turn)

    def check(_yesterday, today):
        text, facts = today.explained("%d/1/0" % site.first)[0]
        assert facts["job_place"] == "1 of 1 by sjf" and ALONE.findall(text) == [own]
        text, facts = today.explained("%d/1/0" % site.second)[0]
        assert facts["job_place"] == "2 of 2 by sjf" and ALONE.findall(text) == [other]
    return check


def why_task_waits(site):
    task = "%d/1/0" % site.second
    said = site.ask("explain", task)
    facts = said.facts()
    assert facts["task_state"] == "ready" and float(facts["waits_s"]) > 0
    assert said.answer["text"].startswith("Held back: "), said.answer
    assert said.shows("Held back: ", "hold_reason %s" % facts["hold_reason"])

    def check(_yesterday, today):
        hold = today.last("hold", said.at_ns, job=site.second, stage=1)
        assert not today.all("start", said.at_ns, job=site.second, stage=1)
        assert [facts["hold_" + name] for name in ("reason", "left", "right")] == \
            [hold[name] for name in ("reason", "left", "right")]
        reasons = [explained["hold_reason"] for _, explained in today.explained(task)]
        assert facts["hold_reason"] in reasons
    return check


def what_its_transfer_gets(site):
    """Its level, on which port, and how much it gets there."""
    said = site.ask("macroflows", "--filter", "job=%d,stage=1,task=0" % site.first, "--columns",
                    "attempt,host,port,level,coflow_level,rate_bps")
    row, = said.answer["macroflows"]
    attempt, host, level = row["attempt"], row["host"], row["level"]
    assert row["port"] == "eth0" and level == row["coflow_level"]
    assert said.shows("%s eth0 %d" % (host, level), "Mbit/s")
    flows = site.ask("flows", host, "--filter", "attempt=%d,received_bytes>0" % attempt,
                     "--columns", "peer_host,port,level,wire_level,received_bps")
    mine = flows.answer["flows"]
    assert mine and {flow["port"] for flow in mine} == {"eth0"}
    assert {flow["peer_host"] for flow in mine} <= set(site.net.hosts) - {host}
    assert {(flow["level"], flow["wire_level"]) for flow in mine} == {(level, level)}
    gets = sum(flow["received_bps"] for flow in mine)
    # WHY so wide: over 0.2 s what had waited for a lost packet comes at once.
    assert 0.3 * kills.LINK_BPS < gets < 2 * kills.LINK_BPS, mine
    assert flows.shows("eth0", "RECEIVES", "Mbit/s")
    queue = site.ask("queues", "s", "--filter", "port=%s,level=%d" % (host, level), "--columns",
                     "port,traffic,level,rate_bps,backlog_bytes")
    port, = queue.answer["port_queues"]
    assert 0.6 * kills.LINK_BPS < port["rate_bps"] < 1.2 * kills.LINK_BPS
    assert queue.shows("%s level %d" % (host, level))
    link = site.ask("explain", "%s:downlink" % host)
    told = link.facts()
    assert told["downlink_first_job"] == str(site.first) and told["downlink_transfers"] == "1"
    assert told["downlink_transfer_1"].startswith("%d/1/0 on %s level %d " % (site.first, host, level))
    assert link.shows("First in turn there is job %d (first), 1 of 2." % site.first)
    used = site.ask("explain", host)
    assert used.facts()["waiting_1"].startswith("%d/1, 3 ready, place 2: " % site.second)
    assert used.shows("Stage 1 of job %d (second), 2 of 2 in turn, " % site.second, "Held back: ")

    def check(_yesterday, today):
        start = today.last("start", said.at_ns, attempt=attempt)
        assert (start["job"], start["stage"], start["task"]) == (str(site.first), "1", "0")
        assert start["coflow_level"] == str(level) and start["host"] == str(today.hosts[host])
        counted = today.received_bps(attempt, said.at_ns, 2)
        assert abs(row["rate_bps"] - counted) < 0.2 * kills.LINK_BPS, (row, counted)
    return check


def when_and_why_the_mode_changed(site):
    said = site.ask("mode")
    mode = said.answer
    assert mode["mode"] == "slot-rich" and said.shows(mode["mode_why"], "slot-rich")
    listed = site.ask("mode", "history", "--limit", 1, "--columns", "at,mode,ready,free,text")
    row, = listed.answer["mode_changes"]
    assert (row["mode"], row["text"]) == (mode["mode"], mode["mode_why"])
    assert listed.shows(row["text"])
    now = site.ask("explain", "mode")
    facts = now.facts()
    assert [facts["changed_" + name] for name in ("by", "ready", "free")] == [
        "first", str(row["ready"]), str(row["free"])]
    assert facts["first_job"] == str(site.first) and now.shows("It is slot-starved as soon as")

    def check(_yesterday, today):
        change = today.last("mode", said.at_ns)
        assert change["mode"] == "0" and (row["ready"], row["free"]) == \
            (int(change["left"]), int(change["right"]))
        assert abs(today.wall_s(change.at_ns) - questions.seconds_of(row["at"])) < questions.LATE_S
        assert abs(said.at_ns - change.at_ns - mode["mode_age_ns"]) < 500_000_000
        text, _ = today.explained("mode")[-1]
        assert "%s ready tasks and %s free slots" % (change["left"], change["right"]) in text
    return check


def which_host_is_worst_off(site):
    said = site.ask("status")
    status = said.answer
    (link, full), = re.findall(r"its (up|down)link is ([\d.]+) % full", status["worst_why"])
    permille = round(10 * float(full))
    assert said.shows("worst off w", "because its ", "link is ") and status["healthy"]

    def check(_yesterday, today):
        loads = {name: today.loads(host, ("up", "down").index(link), said.at_ns)
                 for name, host in today.hosts.items()}
        assert permille in loads[status["worst_host"]], (status, loads)
        assert all(min(told) <= permille for told in loads.values()), (status, loads)
    return check


def which_host_is_not_heard(site):
    os.kill(site.agent("w3"), signal.SIGSTOP)
    site.wait("its silence", lambda: site.host("w3")["state"] == "silent")
    said = site.ask("status", code=questions.UNHEALTHY)
    assert (said.answer["worst_host"], said.answer["worst_why"]) == ("w3", "it is not heard")
    assert said.shows("verdict unhealthy: w3 is not heard", "worst off w3")
    os.kill(site.agent("w3"), signal.SIGCONT)
    site.wait("its return", lambda: site.host("w3")["state"] == "up")

    def check(_yesterday, today):
        silent = today.last("host_silent", said.at_ns)
        assert silent["host"] == str(today.hosts["w3"])
        backs = [back.at_ns for back in today.all("host_back", host=silent["host"])
                 if back.at_ns > silent.at_ns]
        assert backs and backs[0] > said.at_ns
    return check


def what_changed_of_late_and_by_whom(site):
    said = site.ask("audit", "--since", "10min", "--filter", "what!~submit")
    rows = sorted(said.answer["audit"], key=lambda row: row["n"])
    assert [row["what"] for row in rows] == CHANGES
    assert all("root" in row["who"] for row in rows), rows
    assert said.shows(*(row["what"] for row in rows), *(row["who"] for row in rows))
    events = site.ask("events", "--since", "10min", "--kind", "policy,host")
    told = [(row["kind"], row["what"]) for row in events.answer["events"]]
    assert ("policy", "changed") in told and told[-2:] == [("host", "drained"),
                                                           ("host", "undrained")]

    def check(_yesterday, today):
        change = today.last("user_set", name="ann")
        drains = today.all("host_drain", said.at_ns)
        assert [drain["undo"] for drain in drains] == ["0", "1"] and change["share"] == "2"
        for row, record in zip(rows, (change, *drains)):
            assert abs(questions.seconds_of(row["time"]) - today.wall_s(record.at_ns)) < questions.LATE_S
    return check


def why_yesterdays_job_was_slow(site):
    listed = site.ask("history", "--since", "36h", "--what", "yesterday", "--columns",
                      "job,name,state,ended,lasted_ns,turn_ns")
    row, = listed.answer["history"]
    ago_s = time.time() - questions.seconds_of(row["ended"])
    assert row["job"] == site.past and 0 < ago_s - questions.DAY_S < 300
    assert not site.running.ask("history", "--since", "10min", "--what", "yesterday")["history"]
    said = site.ask("explain", site.past)
    facts, text = said.facts(), said.answer["text"]
    assert "The largest part is waiting for its turn" in text and said.shows(text)
    assert abs(float(facts["turn_s"]) - row["turn_ns"] / 1e9) < 0.001
    assert 0 < float(facts["ended_s_ago"]) - questions.DAY_S < 300

    def check(yesterday, _today):
        (recorded, _), = yesterday.explained(site.past)
        assert recorded.startswith("Job %d is done. It lasted " % site.past)
        assert recorded.split(" is done. ")[1] == text.split(" is done. ")[1]
        done = yesterday.last("job_done", job=site.past)
        assert abs(yesterday.wall_s(done.at_ns) - questions.seconds_of(row["ended"])) < questions.LATE_S
    return check


def what_if_a_host_went_down(site):
    said = site.ask("whatif", "host-down", "w2")
    answer = said.answer
    assert answer["what_if"] == "host w2 went down" and answer["hosts_up"] == 3
    jobs = {row["job"]: row for row in answer["jobs"]}
    first = jobs[site.first]
    assert (first["end"], first["changed_end"]) == ("done", "done")
    # What ran there is lost after 30 s, and so is what its maps made.
    assert first["later_ns"] > 10_000_000_000 and set(jobs) == {site.first, site.second}
    rows = [row for row in answer["starts"] if row["job"] == site.first]
    assert rows and all(row["changed_host"] in ("w1", "w3") for row in answer["starts"])
    assert said.shows("host w2 went down", site.first, "first")

    def check(_yesterday, today):
        ran = {start["task"]: start["host"] for start in
               today.all("start", said.at_ns, job=site.first, stage=1)}
        lost = {task for task, host in ran.items() if host == str(today.hosts["w2"])}
        moved = {str(row["task"]) for row in rows if row["stage"] == 1 and row["host"] is None}
        assert lost <= moved and lost, (ran, rows)
    return check


def what_a_scrape_has(site):
    """The numbers that duopolyctl has, in the format's rules (exposition.py)."""
    before = {(row["source"], row["name"]): row["value"] for row in site.counters()}
    scraped = site.scrape()
    after = {(row["source"], row["name"]): row["value"] for row in site.counters()}
    said = site.ask("status")
    for name in ("epoch", "hosts_up", "slots", "jobs_active"):
        assert scraped["duopoly_" + name].value() == said.answer[name], name
    for (source, name), value in before.items():
        if source.startswith(("uid ", "key of ")):
            continue  # who asks is not in metrics: there may be any number of them
        metric, labels = metric_of(name)
        if source != "controller":
            metric, labels = "host_" + metric, {**labels, "host": source}
        family = find(scraped, "duopoly_" + metric)
        assert family, (source, name)
        counted = sum(n for (_, has), n in family.samples.items() if set(labels.items()) <= set(has))
        if family.type == "counter" and not metric.endswith("_seconds"):
            assert value <= counted <= after[source, name], (source, name)
    marked = scraped["duopoly_host_marked_bytes_total"].samples
    sent = {dict(labels)["host"] for (_, labels), n in marked.items() if n > 0}
    assert sent >= set(site.net.hosts), "each host sends marked bytes"

    def check(_yesterday, today):
        def times(name):
            family = scraped["duopoly_%s_seconds" % name]
            return family.samples[family.name + "_count", ()]
        assert 0 < times("start") <= len(today.all("start", said.at_ns))
        assert 0 < times("mode_change") <= len(today.all("mode", said.at_ns))
        assert min(times("decision"), times("commit")) > 0
    return check


QUESTIONS = (which_job_is_first_and_why, why_task_waits, what_its_transfer_gets,
             when_and_why_the_mode_changed, which_host_is_worst_off,
             what_changed_of_late_and_by_whom, why_yesterdays_job_was_slow,
             what_if_a_host_went_down, what_a_scrape_has, which_host_is_not_heard)


def test_what_operators_ask_is_answered_by_duopolyctl_alone(begin, tmp_path):
    site = begin(kills.REAL, questions.Site)
    site.past = site.run_to_end(site.wide("yesterday"))
    site.a_day_passes()
    site.today()
    checks = [question(site) for question in QUESTIONS]
    site.write(tmp_path / "transcript")
    site.end()
    for check in checks:
        check(*site.recordings())
