"""`duopolyctl macroflows` and `coflows`: what tasks and stages receive now, over many pages."""

from controller import pb, wait_until, workload
from test_controller import one_job

SAME = ("job", "stage", "task", "coflow_level", "macroflow_level")
SMALL, REDUCES = 70, 140  # jobs of one reduce; reduces of one job: both are more than a page


def run_maps(agent, reduces):
    """Ends maps as they start; the starts of so many reduces by their attempts."""
    found = {}
    while len(found) < reduces:
        envelope = agent.receive()
        if envelope.HasField("start") and envelope.start.stage == 0:
            agent.state(envelope.start.attempt, "STARTED")
            agent.state(envelope.start.attempt, "DONE")
        elif envelope.HasField("start"):
            found[envelope.start.attempt] = envelope.start
    return found


def told(daemon, what, *key):
    rows = daemon.ctl(what)[what]
    by_key = {tuple(row[name] for name in key): row for row in rows}
    assert len(by_key) == len(rows), "one is told twice"
    return by_key


def test_each_is_told_once_while_it_receives(cluster):
    daemon = cluster.daemon(scripted=True, config="policy:\n  preset: fair\n")
    agent = cluster.agent(daemon, "h1", slots=250)
    agent.join()
    assert not told(daemon, "macroflows", "attempt") and not told(daemon, "coflows", "job")
    jobs = [dict(one_job(f"small{n}"), id=n + 1) for n in range(SMALL)]
    jobs.append(dict(one_job("large", reduces=REDUCES), id=SMALL + 1))
    daemon.ctl("submit", workload(daemon.folder, jobs, hosts=1))
    starts = run_maps(agent, SMALL + REDUCES)

    macroflows = told(daemon, "macroflows", "attempt")
    assert set(macroflows) == {(attempt,) for attempt in starts}
    for (attempt,), row in macroflows.items():
        start = starts[attempt]
        assert all(row[key] == getattr(start, key) for key in SAME) and row["host"] == "h1"
        assert (row["bytes"], row["received_bytes"], row["left_bytes"]) == (2000, 0, 2000)
        assert row["level"] == start.coflow_level
    coflows = told(daemon, "coflows", "name", "stage")
    assert set(coflows) == {(job["name"], 1) for job in jobs}
    large = coflows["large", 1]
    assert (large["receiving"], large["task_count"], large["done"]) == (REDUCES, REDUCES, 0)
    assert large["bytes"] == large["left_bytes"] == 2000 * REDUCES
    assert large["on_wire"] and large["hosts"] == "h1"

    assert [row["name"] for row in daemon.ctl("coflows", "--filter", "receiving>1")["coflows"]] == \
        ["large"]
    wanted = ["--filter", f"job={large['job']},left_bytes>=2kB", "--sort", "-task"]
    of_large = daemon.ctl("macroflows", *wanted)["macroflows"]
    assert [row["task"] for row in of_large] == list(range(REDUCES - 1, -1, -1))
    assert daemon.ctl("macroflows", *wanted, "--limit", 2, "--columns", "task") == \
        {"macroflows": [{"task": REDUCES - 1}, {"task": REDUCES - 2}]}

    first, second = [attempt for attempt, start in starts.items()
                     if start.job == large["job"]][:2]
    agent.state(first, "STARTED")
    agent.send(progress=pb.Progress(attempts=[pb.AttemptBytes(attempt=first, received_bytes=500)]))
    wait_until(lambda: told(daemon, "macroflows", "attempt")[first,]["received_bytes"] == 500,
               "its progress")
    assert told(daemon, "macroflows", "attempt")[first,]["left_bytes"] == 1500
    large = told(daemon, "coflows", "name", "stage")["large", 1]
    assert large["left_bytes"] == 2000 * REDUCES - 500
    agent.state(second, "STARTED")
    agent.state(second, "COMPUTING", received_bytes=2000)
    wait_until(lambda: (second,) not in told(daemon, "macroflows", "attempt"),
               "the second to compute")
    assert told(daemon, "coflows", "name", "stage")["large", 1]["receiving"] == REDUCES - 1

    for attempt in starts:
        if attempt not in (first, second):
            agent.state(attempt, "STARTED")
        agent.acknowledged(agent.state(attempt, "DONE", received_bytes=2000))
    assert not told(daemon, "macroflows", "attempt") and not told(daemon, "coflows", "job")
