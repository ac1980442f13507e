"""Hosts that speak for others: each with a key of its own, or by its name alone. Nothing that they
cannot know counts."""
import pytest

from controller import pb, wait_until, workload

REFUSED = "speaks of what it cannot know"


@pytest.fixture(params=[True, False], ids=["keys", "no-keys"])
def site(request, cluster):
    """A daemon, and what makes agents of it by name."""
    daemon = cluster.daemon(keys=request.param, config="timers: {silent: 10 s, host_lost: 20 s}\npolicy: {preset: fair}\n")
    count = iter(range(1, 100))

    def agent(name, **arguments):
        key = daemon.key(name) if request.param else None
        made = cluster.agent(daemon, name, slots=1, host=next(count), key=key, **arguments)
        made.join()
        return made

    daemon.agent = agent
    return daemon


def job_of(daemon):
    return daemon.ctl("jobs", "-a")["jobs"][0]


def host_of(daemon, name):
    return next(row for row in daemon.ctl("hosts")["hosts"] if row["name"] == name)


def said(agent, **body):
    """Sends, and returns when the controller has taken it."""
    agent.acknowledged(agent.send(numbered=True, **body))


def one_task(daemon):
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "name": "victim", "stages": [{"tasks": 1, "compute_ms": 100000}]}], hosts=1))


def is_refused(daemon, name, words):
    row = host_of(daemon, name)
    assert row["refused_words"] == words and " refused, the last: " in row["text"], row
    assert sum(f"agent {name} {REFUSED}" in line for line in daemon.words().splitlines()) == 1


@pytest.mark.parametrize("phase", ["DONE", "FAILED", "KILLED", "REFUSED", "LOST", "STARTED"])
def test_an_attempt_ends_by_the_word_of_its_host_alone(site, phase):
    a = site.agent("a")
    one_task(site)
    wait_until(a.receive_start, "a start")
    attempt = next(iter(a.running))
    a.acknowledged(a.state(attempt, "STARTED"))
    b = site.agent("b")
    for _ in range(5):
        b.acknowledged(b.state(attempt, phase, job=1, text="b says so"))
    job = job_of(site)
    assert (job["state"], job["running"], job["done"], job.get("reason")) == ("active", 1, 0, None), job
    assert host_of(site, "a")["running"] == 1 and host_of(site, "b")["running"] == 0
    is_refused(site, "b", 5)
    assert site.counters()["refused.attempt_state"] == 5
    a.acknowledged(a.state(attempt, "DONE"))
    assert job_of(site)["state"] == "done" and host_of(site, "a")["refused_words"] == 0


def test_a_number_that_was_never_given_adopts_no_task(site):
    a, b = site.agent("a"), None
    one_task(site)
    wait_until(a.receive_start, "a start")
    attempt = next(iter(a.running))
    a.acknowledged(a.state(attempt, "STARTED"))
    b = site.agent("b")
    for number in (attempt + 1, 5, 1 << 63, attempt + (1 << 32)):
        for phase in ("COMPUTING", "DONE"):
            b.acknowledged(b.state(number, phase, job=1, stage=0, task=0))
    assert job_of(site)["state"] == "active" and host_of(site, "a")["running"] == 1
    is_refused(site, "b", 8)


def test_after_a_restart_each_host_brings_what_it_has_once(site):
    a = site.agent("a")
    one_task(site)
    wait_until(a.receive_start, "a start")
    attempt = next(iter(a.running))
    a.acknowledged(a.state(attempt, "STARTED"))
    a.close()
    site.kill()
    site.start()
    running = pb.AttemptState(attempt=attempt, phase=pb.PHASE_STARTED, job=1, resources=pb.Resources(slots=1))
    a.context = a.zmq.Context()
    a.connect()
    a.join([running])
    b = site.agent("b")
    b.acknowledged(b.state(attempt, "DONE", job=1))
    b.acknowledged(b.state(attempt + 7, "DONE", job=1))  # of that epoch, after its inventory
    assert job_of(site)["state"] == "active" and host_of(site, "a")["running"] == 1
    is_refused(site, "b", 2)
    a.acknowledged(a.state(attempt, "DONE"))
    assert job_of(site)["state"] == "done"


def test_what_was_sent_before_a_restart_is_its_hosts_alone(site):
    """Whoever comes first: each shows the number that came with the start."""
    a, b = site.agent("a"), site.agent("b")
    site.ctl("submit", workload(site.folder, [{"id": 1, "name": "j", "stages": [{"tasks": 2, "compute_ms": 100000}]}], hosts=1))
    starts = {}
    for agent in (a, b):
        wait_until(lambda: agent.running or agent.receive_start(), "a start")
        starts[agent.name] = start = next(iter(agent.running.values()))
        assert start.proof
        agent.acknowledged(agent.state(start.attempt, "STARTED", job=1, task=start.task, proof=start.proof))
    assert starts["a"].proof != starts["b"].proof
    a.acknowledged(a.send(numbered=True, output_lost=pb.OutputLost(job=9)))  # what was noted is on the disk
    site.kill()
    site.start()
    for agent in (b, a):  # first who lies
        agent.socket.close()
        agent.connect()
        agent.hello_sequence += 1
        theirs, own = starts["a" if agent is b else "b"], starts[agent.name]
        agent.join([pb.AttemptState(attempt=of.attempt, phase=phase, job=1, task=of.task, proof=of.proof, resources=pb.Resources(slots=1))
                    for of, phase in ([(theirs, pb.PHASE_DONE)] if agent is b else []) + [(own, pb.PHASE_STARTED)]])
    job = job_of(site)
    assert (job["state"], job["running"], job["done"]) == ("active", 2, 0), job
    assert host_of(site, "a")["running"] == 1 and host_of(site, "a")["refused_words"] == 0
    is_refused(site, "b", 1)


def shuffle_begin(site):
    """A map that is done on a, and two reduces that read it, on a and b; x runs nothing."""
    agents = {"a": site.agent("a")}
    site.ctl("submit", workload(site.folder, [{"id": 1, "name": "j", "stages": [
        {"tasks": 1}, {"tasks": 2, "parents": [{"stage": 0, "sums": [10**6, 10**6]}]}]}], hosts=1))
    wait_until(agents["a"].receive_start, "the map's start")
    of_map = next(iter(agents["a"].running))
    agents["b"] = site.agent("b")
    agents["x"] = site.agent("x")
    site.ctl("drain", "x")
    agents["a"].state(of_map, "STARTED")
    agents["a"].acknowledged(agents["a"].state(of_map, "DONE"))
    reduces = {}
    for name in "ab":
        wait_until(lambda: len(agents[name].running) == (2 if name == "a" else 1) or agents[name].receive_start(), "a reduce's start")
        reduces[name] = max(agents[name].running)
        agents[name].acknowledged(agents[name].state(reduces[name], "STARTED"))
    return agents, of_map, reduces


def address_of(agent):
    return b"\0" * 10 + b"\xff\xff\x0a\x4d" + agent.host.to_bytes(2, "big")


def test_who_reads_nothing_makes_no_source_suspect(site):
    agents, of_map, reduces = shuffle_begin(site)
    x = agents["x"]
    for attempt in reduces.values():
        said(x, source_state=pb.SourceState(attempt=attempt, address=address_of(agents["a"]), flows=False, others=1))
    said(x, output_lost=pb.OutputLost(job=1, stage=0, task=0, attempt=of_map))
    said(x, progress=pb.Progress(attempts=[pb.AttemptBytes(attempt=n, received_bytes=10**9) for n in reduces.values()]))
    assert host_of(site, "a")["readers"] == 0 and host_of(site, "a")["state"] == "up"
    job = job_of(site)
    assert (job["running"], job["done"]) == (2, 1), job
    is_refused(site, "x", 5)
    assert all(row["received_bytes"] in (0, None) for row in site.ctl("tasks", "1")["tasks"] if row["stage"] == 1)
    # Who reads from there is heard.
    said(agents["b"], source_state=pb.SourceState(attempt=reduces["b"], address=address_of(agents["a"]), flows=False, others=0))
    assert host_of(site, "a")["readers"] == 1
    said(agents["b"], output_lost=pb.OutputLost(job=1, stage=0, task=0, attempt=of_map))
    assert job_of(site)["done"] == 0
    assert host_of(site, "b")["refused_words"] == 0
