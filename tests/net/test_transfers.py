"""`duopolyctl macroflows` and `coflows`: what tasks and stages receive now, over many pages."""

from controller import Client, pb, wait_until, workload
from test_controller import one_job

SAME = ("job", "stage", "task", "coflow_level", "macroflow_level")
SMALL, REDUCES = 70, 140  # jobs of one reduce; reduces of one job: both are more than a page
MANY, LOOKS = 5000, 4096  # reduces of one job, and how many of them a page looks at


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


def start_all(agent, reduces):
    """Ends maps as they start, until so many reduces run."""
    running = 0
    while running < reduces:
        envelope = agent.receive()
        if not envelope.HasField("start"):
            continue
        agent.state(envelope.start.attempt, "STARTED")
        if envelope.start.stage == 0:
            agent.state(envelope.start.attempt, "DONE")
        else:
            running += 1


def pages(client, **more):
    ask = pb.List(of=pb.LIST_COFLOWS, **more)
    while True:
        page = client.ask(list=ask).coflow_page
        yield page
        if not page.cursor:
            return
        ask.cursor, ask.stage = page.cursor, page.stage
        if more:
            ask.so_far.CopyFrom(page.so_far)


def test_a_large_stage_is_looked_at_in_portions(cluster):
    """A page looks at no more than others do, and the row is whole."""
    daemon = cluster.daemon(scripted=True, config="policy: {preset: fair}\n"
                                                  f"bounds: {{tasks_per_host: {2 * MANY}}}\n")
    agent = cluster.agent(daemon, "h1", slots=2 * MANY)
    agent.join()
    jobs = [dict(one_job("small"), id=1), dict(one_job("large", reduces=MANY), id=2),
            dict(one_job("last"), id=3)]
    daemon.ctl("submit", workload(daemon.folder, jobs, hosts=1))
    start_all(agent, MANY + 2)
    everything = [("small", 1), ("large", MANY), ("last", 1)]
    assert [(row["name"], row["receiving"]) for row in daemon.ctl("coflows")["coflows"]] == \
        everything
    client = Client(daemon)
    first, *others = pages(client, so_far=pb.CoflowPart())
    assert [row.name for row in first.rows] == ["small"] and first.so_far.task == LOOKS
    assert first.so_far.receiving == LOOKS and first.so_far.hosts == 1
    rows = [(row.name, row.receiving) for page in (first, *others) for row in page.rows]
    assert rows == everything
    assert [row.hosts for page in others for row in page.rows] == ["h1", "h1"]
    of_older = [(row.name, row.receiving) for page in pages(client) for row in page.rows]
    assert of_older == [("small", 1), ("large", LOOKS), ("last", 1)], "it cannot go on with it"
    client.close()
