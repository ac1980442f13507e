"""place flow that stops what runs, by a real controller and agents of the schema: a late job of the
highest priority gets the slot of a running task, which runs again on another host; what it lost is
in lists and explained."""

import pytest

from controller import Agent, Daemon, wait_until, workload

CONFIG = "policy: {preset: flow, turn: fifo, objective: borg, preempt: yes}\n"


@pytest.fixture
def made():
    things = [Daemon(config=CONFIG)]
    yield things
    for thing in reversed(things):
        thing.remove() if isinstance(thing, Daemon) else thing.close()


def submit(daemon, number, **more):
    """A job of one task on w1 or, if it is not the highest, anywhere."""
    stage = {"tasks": 1, "compute_ms": 60_000, **({"constraint": "host=w1"} if more else {})}
    line = {"id": number, "name": f"job-{number}", "arrival_ms": 0, "stages": [stage], **more}
    return daemon.ctl("submit", workload(daemon.folder, [line]))["jobs"][0]["job"]


def join(made, name):
    agent = Agent(made[0], name, slots=1)
    made.append(agent)
    agent.join()
    return agent


def test_a_late_job_takes_a_slot(made):
    daemon = made[0]
    w1 = join(made, "w1")
    wait_until(lambda: daemon.ctl("status")["hosts_up"] == 1, "w1")
    long = submit(daemon, 1)
    first = w1.expect("start").start
    w1.state(first.attempt, "COMPUTING")
    late = submit(daemon, 2, priority=5)
    assert w1.expect("stop").stop.attempt == first.attempt
    said = daemon.ctl("explain", f"{long}/0/0")["text"]
    assert "a task of priority 5 has its slot" in said and f"Task {late}/0/0 was to have" in said
    said = daemon.ctl("explain", f"{late}/0/0")["text"]
    assert f"Task {long}/0/0 was stopped on w1 for it" in said
    w1.state(first.attempt, "KILLED")
    assert w1.expect("start").start.job == late
    w2 = join(made, "w2")
    again = next(iter(w2.running.values()), None) or w2.expect("start").start
    assert again.job == long and again.attempt != first.attempt
    row = next(row for row in daemon.ctl("jobs")["jobs"] if row["job"] == long)
    assert row["evictions"] == 1 and row["evicted_ns"] > 0
