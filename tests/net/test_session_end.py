"""What an application of a framework holds, and gives back: slots that it is allowed and does not
use, and all of it when its session ends. Over real connections to the real controller."""
import json
import time

import pytest
from controller import pb, wait_until, workload
from test_account import tell_all
from test_frameworks import Framework

HOSTS, SLOTS = ("a", "b"), 4
ALL = len(HOSTS) * SLOTS
PATIENT = "silent: 60 s, host_lost: 120 s"
BRIEF = "heartbeat: 100 ms, silent: 1 s, host_lost: 2 s, forget: 60 s"


@pytest.fixture
def site(cluster):
    """A controller with two hosts, and what makes applications."""
    made = []

    class Site:
        def daemon(self, bounds="", timers=""):
            self.made = cluster.daemon(config=f"bounds: {{agent_messages: 1000000{bounds}}}\ntimers: {{{timers or PATIENT}}}\n", log=None)
            self.agents = [cluster.agent(self.made, name, slots=SLOTS) for name in HOSTS]
            for agent in self.agents:
                agent.join()
            return self.made

        def framework(self, name, user):
            made.append(Framework(self.made, name, user=user))
            return made[-1].begin()

    yield Site()
    for thing in reversed(made):
        thing.close()


def running(daemon):
    return sum(row["running"] for row in daemon.ctl("hosts")["hosts"])


def explained(daemon):
    """Of a task that waits; "": for now none of the first job's does."""
    job = next(iter(daemon.ctl("jobs")["jobs"]))["job"]
    tasks = daemon.ctl("tasks", job, "-a")["tasks"]
    task = next((row for row in tasks if row["state"] == "ready"), None)
    if not task:
        return ""
    return json.dumps(daemon.ctl("explain", f"{job}/{task['stage']}/{task['task']}"))


def jobs(daemon):
    return {row["name"]: row for row in daemon.ctl("jobs")["jobs"]}


def test_who_uses_no_allow_leaves_the_slots_to_who_does(site):
    """An offered stage takes all that is free once; then an honest driver has its tasks allowed as
    fast as it runs them."""
    daemon = site.daemon()
    idle, honest = site.framework("idle", 1), site.framework("honest", 2)
    idle.stage(1, 0, 1000, phase=pb.PHASE_OFFERED)
    idle.until(lambda: len(idle.of(1, 0)) == ALL, "all slots are offered to it")
    for job in range(5):
        honest.stage(job, 0, 20, phase=pb.PHASE_OFFERED)
    honest.until(lambda: honest.allows, "it has its turn when these lapse")
    before = time.monotonic()
    for job in range(5):
        honest.run(job, 0, 20, first=100 * job)
        honest.tell(end=pb.FrameworkEnd(job=job, outcome=pb.OUTCOME_DONE))
    assert time.monotonic() - before < 4, "it waited for another's allows"
    idle.until(lambda: len(idle.of(1, 0)) <= 1, "it has one at a time")
    wait_until(lambda: "allows lapse without a start" in explained(daemon), "it is said why")
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "stages": [{"tasks": ALL - 1}]}]))
    wait_until(lambda: running(daemon) >= ALL - 1, "what it does not hold is there for others")


def test_what_runs_by_its_word_alone_goes_with_its_session(site):
    daemon = site.daemon()
    claims = site.framework("claims", 1)
    for attempt in range(1, 40):
        claims.task(pb.TASK_STARTED, attempt, 1, 0, attempt, host="ab"[attempt % 2])
    claims.settle()
    assert running(daemon) > 4
    leave(claims)
    wait_until(lambda: running(daemon) == 0, "nothing of it runs")
    assert len(jobs(daemon)) == 1  # it may come back for it


def test_nobody_is_allowed_anything_without_a_session(site):
    daemon = site.daemon()
    gone = site.framework("gone", 1)
    gone.stage(1, 0, 1000, phase=pb.PHASE_OFFERED)
    gone.until(lambda: len(gone.of(1, 0)) == ALL, "all slots are offered to it")
    gone.socket.close()
    wait_until(lambda: running(daemon) == 0, "they lapse, and nothing more is allowed")
    assert "has no session" in explained(daemon)
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "stages": [{"tasks": ALL}]}]))
    wait_until(lambda: running(daemon) == ALL, "all slots are others'")
    daemon.ctl("cancel", next(row["job"] for row in jobs(daemon).values() if "gone" not in row["name"]))
    for agent in site.agents:
        while len(agent.running) < SLOTS:
            agent.receive_start()
        for attempt in agent.running:
            agent.state(attempt, "KILLED")
    gone.connect()
    gone.hello_sequence += 1
    gone.begin()
    gone.stage(1, 0, 1000, phase=pb.PHASE_OFFERED)
    gone.until(lambda: gone.of(1, 0), "it is back, and has its turn")


def leave(app):
    app.close()
    app.close = lambda: None
    return time.monotonic()


def test_executors_and_attempts_of_who_stays_away_are_lost_as_a_hosts(site):
    """Its jobs stay: it may come back for them."""
    daemon = site.daemon(timers=BRIEF)
    app = site.framework("app", 1)
    app.tell(executor=pb.FrameworkExecutor(executor="1", host="x", resources=pb.Resources(slots=3)))
    app.stage(1, 0, 10, phase=pb.PHASE_OFFERED)
    app.until(lambda: len(app.of(1, 0)) == 3, "it is allowed what it has")
    app.start(app.of(1, 0)[0], 1)
    app.settle()
    x = next(row for row in daemon.ctl("hosts")["hosts"] if row["name"] == "x")
    assert x["slots"] == 3, x
    leave(app)
    wait_until(lambda: all(row["slots"] == 0 and row["running"] == 0 for row in daemon.ctl("hosts")["hosts"] if row["name"] == "x"),
               "nothing of it is there")
    assert len(jobs(daemon)) == 1 and daemon.counters()["frameworks.forgotten"] == 0


def test_who_holds_much_is_forgotten_sooner(site):
    daemon = site.daemon(bounds=", framework_memory: 1 MB", timers=BRIEF)
    small, large = site.framework("small", 1), site.framework("large", 2)
    tell_all(small, [("job", pb.FrameworkJob(job=1, name="q"))])
    tell_all(large, [("stage", pb.FrameworkStage(job=1, stage=0, tasks=700))])
    assert len(jobs(daemon)) == 2
    leave(small)
    since = leave(large)
    wait_until(lambda: len(jobs(daemon)) == 1, "the large one is forgotten")
    assert time.monotonic() - since < 30
    assert "small/q" in jobs(daemon) and "application large has had no session for" in daemon.words()
