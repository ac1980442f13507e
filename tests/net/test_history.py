"""Where the time of ended jobs went: `explain JOB`, `history`; of our jobs and of frameworks',
before and after a restart of the controller."""
import re

from controller import Client, pb, wait_until, workload
from test_frameworks import Framework
from test_store import running

SECOND = 10 ** 9
PARTS = ("turn", "held", "ordered", "receiving", "computing", "again")
# A scripted clock passes over what agents would send meanwhile.
PATIENT = "timers: {heartbeat: 60 s, silent: 300 s, host_lost: 600 s, lease: 600 s}\n"


def facts(daemon, *words):
    answer = daemon.ctl("explain", *words)
    return answer["text"], {fact["name"]: fact["value"] for fact in answer["facts"]}


def parts(of):
    """Seconds of each part that there is; they add up to the job's time."""
    rest = ("idle", "unknown")
    each = {name: float(of[f"{name}_s"]) for name in PARTS + rest}
    assert abs(sum(each.values()) - float(of["lasted_s"])) < 0.01, of
    return {name: seconds for name, seconds in each.items() if seconds}


def row_of(daemon, job, *words):
    rows = [row for row in daemon.ctl("history", *words)["history"] if row["job"] == job]
    return rows[0] if rows else None


def started(*agents):
    """Attempts that were told to start since, by agent."""
    for agent in agents:
        while agent.socket.poll(0):
            agent.receive_start()
    return {agent: list(agent.running.values()) for agent in agents if agent.running}


def tell(agent, start, *phases):
    for phase in phases:
        sequence = agent.state(start.attempt, phase, received_bytes=4000)
    agent.acknowledged(sequence)
    if phases[-1] in ("DONE", "FAILED"):
        del agent.running[start.attempt]


def one_starts(*agents):
    """The agent that runs something, and what, when there is one."""
    found = wait_until(lambda: started(*agents), "a start")
    (agent, (start,)), = found.items()
    return agent, start


def test_a_jobs_time_is_divided_until_its_end_and_known_after_a_restart(cluster):
    """Three maps on two slots: one waits, one fails and runs again; then a reduce task."""
    daemon = cluster.daemon(scripted=True, config=PATIENT)
    agents = [cluster.agent(daemon, f"h{n}", slots=1, host=n) for n in (1, 2)]
    for agent in agents:
        agent.join()
    job = {"id": 1, "name": "sort", "stages": [
        {"tasks": 3, "input_bytes": 0, "compute_ms": 5},
        {"tasks": 1, "compute_ms": 7, "parents": [{"stage": 0, "sums": [4000]}]}]}
    daemon.ctl("submit", workload(daemon.folder, [job]))
    first = wait_until(lambda: len(started(*agents)) == 2 and started(*agents), "both run")
    for agent in agents:
        tell(agent, first[agent][0], "STARTED")
    daemon.clock.advance(9 * SECOND)
    text, now = facts(daemon, 1)
    assert parts(now) == {"turn": 3, "computing": 6}, "two of three run"
    assert text.startswith("Job 1 (sort) is active. So far it lasted 9.000 s: 3.000 s waiting")
    assert now["job_place"] == "1 of 1"
    fails, goes_on = agents
    failed = fails.running[first[fails][0].attempt]
    tell(goes_on, first[goes_on][0], "DONE")
    _, third = one_starts(goes_on)
    tell(goes_on, third, "STARTED")
    tell(fails, failed, "FAILED")
    daemon.clock.advance(10 * SECOND)
    tell(goes_on, third, "DONE")
    agent, again = one_starts(*agents)
    assert again.task == failed.task
    tell(agent, again, "STARTED")
    daemon.clock.advance(4 * SECOND)
    tell(agent, again, "DONE")
    agent, reduces = one_starts(*agents)
    tell(agent, reduces, "STARTED", "RECEIVING")
    daemon.clock.advance(3 * SECOND)
    tell(agent, reduces, "COMPUTING")
    daemon.clock.advance(2 * SECOND)
    tell(agent, reduces, "DONE")
    divided = {"turn": 8, "computing": 13, "again": 4, "receiving": 3}
    on_one_host = {"turn": 8, "computing": 16, "again": 4}  # what it reads is where it runs
    for restart in range(3):
        if restart:
            (daemon.stop if restart == 1 else daemon.kill)()
            daemon.start()
        text, of = facts(daemon, 1)
        assert parts(of) in (divided, on_one_host), of
        assert text.startswith("Job 1 (sort) is done. It lasted 28.000 s: 8.000 s waiting for its")
        assert " The largest part is computing, " in text and " of that in stage 0. " in text
        assert of["stage_0"] == "3 tasks, turn 8.000 s, computing 11.000 s, again 4.000 s"
        row = row_of(daemon, 1)
        seconds = [row[f"{part}_ns"] / SECOND for part in ("lasted", "turn", "again")]
        assert seconds == [28, 8, 4]
        assert (row["state"], row["task_count"], row["stage_count"]) == ("done", 4, 2)
        text, of = facts(daemon, f"1/0/{failed.task}")
        assert text.startswith(f"Done by attempt {again.attempt} on "), text
        if restart:
            assert "It waited 10.000 s and ran for 4.000 s." in text
        else:
            assert of["ran_in_vain"] == "1" and "ended with exit code 0" in text


def test_a_job_that_lived_through_a_restart_says_what_is_unknown(cluster):
    daemon = cluster.daemon(scripted=True, config=PATIENT)
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.join()
    job = {"id": 1, "name": "long", "stages": [{"tasks": 1, "input_bytes": 0, "compute_ms": 5}]}
    daemon.ctl("submit", workload(daemon.folder, [job]))
    _, runs = one_starts(h1)
    daemon.kill()
    daemon.start()
    h1.connect()
    h1.hello_sequence += 1
    h1.join([running(runs, "COMPUTING")])
    daemon.clock.advance(5 * SECOND)
    of = parts(facts(daemon, 1)[1])
    assert of.pop("unknown", 0) < 60
    assert of == {"computing": 5}


def test_a_frameworks_job_is_explained_when_it_is_over(cluster):
    """With a summary of each of its stages, also by a controller that began anew since."""
    daemon = cluster.daemon()
    agents = [cluster.agent(daemon, f"h{n}", host=n) for n in (1, 2)]
    for agent in agents:
        agent.join()
    app = Framework(daemon).begin()
    try:
        app.two_stages(7, maps=6, reduces=3)
        app.tell(replayed=pb.FrameworkReplayed())
        app.run(7, 0, 6, first=100)
        app.run(7, 1, 3, first=200)
        app.tell(end=pb.FrameworkEnd(job=7, outcome=pb.OUTCOME_DONE))
        app.settle()
    finally:
        app.close()
    row, = daemon.ctl("history", "--what", "query")["history"]
    job = str(row["job"])
    text, before = facts(daemon, job)
    assert text.startswith(f"Job {job} (app-1/query-7) is done. It lasted ")
    assert parts(before) and row["compute_ns"] + row["receive_ns"] > 0
    assert before["stage_0"].startswith("6 tasks, ") and before["stage_1"].startswith("3 tasks, ")
    assert "again" not in parts(before), "an allow that nobody used has not run"
    daemon.kill()
    daemon.start()
    after = facts(daemon, job)[1]
    assert before.pop("ended_s_ago") != after.pop("ended_s_ago")
    assert after == before
    again, = daemon.ctl("history", "--what", "query")["history"]
    assert again == row


def test_history_is_filtered_by_the_controller(cluster):
    """By user, name, outcome and age; the newest first; more than a page."""
    daemon = cluster.daemon()
    daemon.ctl("user", "set", "ann", "number=5")
    jobs = [{"id": n, "name": f"j{n}", "user": 5 if n % 2 else 0,
             "stages": [{"tasks": 1, "input_bytes": 0, "compute_ms": 5}]} for n in range(1, 151)]
    daemon.ctl("submit", workload(daemon.folder, jobs, 1))
    for n in range(1, 151):
        daemon.ctl("cancel", n)

    def told(*words):
        return [row["job"] for row in daemon.ctl("history", *words)["history"]]
    assert told() == list(range(150, 0, -1))
    assert told("--who", "ann") == list(range(149, 0, -2))
    assert told("--limit", "3") == [150, 149, 148]
    assert told("--what", "j14", "--who", "ann") == [149, 147, 145, 143, 141]
    assert told("--result", "done") == [] and len(told("--result", "cancelled")) == 150
    assert len(told("--since", "1h")) == 150 and told("--since", "2999-01-01") == []
    assert told("--filter", "name~j14,user_name=ann") == [149, 147, 145, 143, 141]
    assert told("--filter", "job<=3", "--sort", "job") == [1, 2, 3]
    assert told("--who", "ann", "--since", "1h", "--filter", "user=5", "--limit", "2") == [149, 147]
    client = Client(daemon)
    page = client.ask(list=pb.List(of=pb.LIST_HISTORY, filter="job=7")).history_page
    assert [row.job for row in page.rows] == [7] and not page.cursor
    client.close()
    row = row_of(daemon, 149)
    assert row["user_name"] == "ann" and row["text"].startswith("cancelled by ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", row["ended"])
    columns = ("turn", "held", "ordered", "receive", "compute", "again", "idle", "unknown")
    assert sum(row[f"{part}_ns"] for part in columns) == row["lasted_ns"]
    assert "not 'x'" in daemon.ctl("history", "--result", "x", expect=2)
    assert "no attempt and no job 999" in daemon.ctl("explain", 999, expect=5)
