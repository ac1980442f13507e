"""Orders about jobs and hosts: priority, hold, release, requeue; drains of racks, and waiting for
them. What is ordered lasts until the job ends, also over a restart of the controller."""
import subprocess

from controller import BUILD, pb, wait_until, workload


def submit(daemon, name, maps):
    folder = daemon.folder / name
    folder.mkdir()
    stage = {"tasks": maps, "input_bytes": 0, "compute_ms": 5}
    file = workload(folder, [{"id": 1, "name": name, "stages": [stage]}])
    return daemon.ctl("submit", file)["jobs"][0]["job"]


def starts(agent, n):
    """The attempts that this agent is told to start; n of them."""
    while len(agent.running) < n:
        agent.receive_start()
    return sorted(agent.running)


def told(daemon, number):
    job = daemon.ctl("job", number)
    return {key: job[key] for key in ("held_by", "priority", "running", "state")}


def test_a_job_is_held_until_it_is_released(cluster):
    daemon = cluster.daemon(keys=True)
    h1 = cluster.agent(daemon, "h1", slots=1, key=daemon.key("h1"))
    h1.join()
    olga = daemon.key("olga", role="operator")
    job = submit(daemon, "long", 2)
    first, = starts(h1, 1)
    answer = daemon.remote(olga, "job", "hold", job)["text"]
    assert answer == f"nothing of job {job} starts until it is released; 1 of its tasks runs on"
    assert told(daemon, job) == {"held_by": "olga", "priority": 0, "running": 1, "state": "active"}
    assert daemon.ctl("jobs")["jobs"][0]["text"] == "held by olga"
    why = daemon.ctl("explain", f"{job}/0/1")["text"]
    assert "its job is held by olga for" in why and f"`duopolyctl job release {job}`" in why
    assert "is held already, by olga" in daemon.ctl("job", "hold", job, expect=1)
    other = submit(daemon, "other", 1)
    del h1.running[first]
    h1.acknowledged(h1.state(first, "DONE"))
    second, = starts(h1, 1)
    assert h1.running.pop(second).job == other
    daemon.ctl("job", "release", job)
    assert told(daemon, job)["held_by"] is None
    h1.acknowledged(h1.state(second, "DONE"))
    assert h1.running[starts(h1, 1)[0]].job == job
    assert f"job {job} is not held" in daemon.ctl("job", "release", job, expect=1)
    who = [(row["who"], row["what"]) for row in daemon.ctl("audit", "--what", "job ")["audit"]]
    assert ("key of olga (operator)", f"job hold {job}") in who


def test_orders_outlive_the_controller(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.join()
    job, other = submit(daemon, "held", 1), submit(daemon, "urgent", 1)
    daemon.ctl("job", "hold", job)
    answer = daemon.ctl("job", "set", other, "priority=-5")["text"]
    assert "which no policy in force looks at" in answer
    daemon.ctl("policy", "turn", "by-priority")
    answer = daemon.ctl("job", "set", other, "priority=5")["text"]
    assert "by which it is served: turn by-priority" in answer
    for _ in range(2):
        daemon.kill()
        daemon.start()
        shown = told(daemon, job)
        assert shown["held_by"] and shown["state"] == "active"
        assert told(daemon, other)["priority"] == 5
    daemon.ctl("job", "release", job)
    for number in (job, other):
        daemon.ctl("cancel", number)
    assert daemon.stop() == 0
    daemon.start()
    assert daemon.ctl("jobs")["jobs"] == []


def test_what_runs_runs_again(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1", slots=2)
    h1.join()
    job = submit(daemon, "again", 3)
    first = starts(h1, 2)
    h1.running.clear()
    answer = daemon.ctl("job", "requeue", job)["text"]
    assert answer == f"job {job}: 2 attempts are stopped, and their tasks run again"
    stopped = sorted(h1.expect("stop").stop.attempt for _ in range(2))
    assert stopped == first
    for attempt in stopped:
        h1.state(attempt, "KILLED")
    assert len(starts(h1, 2)) == 2
    assert daemon.ctl("job", job)["evictions"] == 2


def test_a_deadline_is_not_taken(cluster):
    daemon = cluster.daemon()
    assert "no policy looks at it" in daemon.ctl("job", "set", 1, "deadline=5min", expect=2)
    for words in ("job set 1", "job set 1 priority=x", "job hold", "job frob 1", "job hold 1 2",
                  "drain", "drain h1 --rack r1", "drain --host h1", "drain h1 --undo --wait",
                  "drain h1 --wait=soon", "jobs --wait"):
        daemon.ctl(*words.split(), expect=2)


def join_all(agents):
    """After a restart the controller waits for all that it knew."""
    for agent in agents:
        agent.hello()
        agent.epoch = agent.expect("welcome").epoch
        agent.send(numbered=True, inventory_end=pb.InventoryEnd())
    for agent in agents:
        agent.acknowledged(agent.sent)


def drained(daemon):
    return {host["name"] for host in daemon.ctl("hosts")["hosts"] if host["state"] == "draining"}


def test_a_rack_is_drained_as_one(cluster):
    daemon = cluster.daemon()
    agents = [cluster.agent(daemon, f"h{n}", slots=1) for n in range(3)]
    for n, agent in enumerate(agents):
        agent.rack = f"r{n // 2}"
    join_all(agents)
    answer = daemon.ctl("drain", "--rack", "r0")["text"]
    assert answer == "hosts of rack r0 that get no new tasks: 2"
    assert drained(daemon) == {"h0", "h1"}
    daemon.kill()
    daemon.start()
    for agent in agents:
        agent.close()
        agent.__init__(daemon, agent.name, slots=1, hello_sequence=2)
        agent.rack = "r0" if agent.name != "h2" else "r1"
    join_all(agents)
    assert drained(daemon) == {"h0", "h1"}
    daemon.ctl("drain", "--rack", "r0", "--undo")
    assert drained(daemon) == set()
    assert [row["what"] for row in daemon.ctl("audit", "--what", "drain")["audit"]] == \
        ["drain --rack r0", "drain --rack r0 --undo"]


def test_waiting_ends_when_nothing_runs_there(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.rack = "r1"
    h1.join()
    submit(daemon, "long", 1)
    attempt, = starts(h1, 1)
    late = daemon.ctl("drain", "h1", "--wait=200ms", expect=6)
    assert "h1 is drained, and something still runs there" in late
    command = [BUILD / "duopolyctl", "-s", daemon.socket, "drain", "--rack", "r1", "--wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waits:
        wait_until(lambda: daemon.ctl("audit", "--what", "--rack r1")["audit"], "the drain")
        assert waits.poll() is None
        h1.acknowledged(h1.state(attempt, "DONE"))
        assert "nothing runs on hosts of rack r1" in waits.communicate(timeout=20)[0]
        assert waits.returncode == 0
    assert daemon.ctl("drain", "h1", "--wait")["idle"] == "nothing runs on h1"
