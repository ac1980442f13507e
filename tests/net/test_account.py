"""What one submitter, host or application may make the controller hold and begin: bounds that count
whatever the numbers say, over real connections to the real controller."""
import os
import time

import pytest
from controller import pb, wait_until, workload
from test_frameworks import Framework
from test_store import Client

HUGE = 1 << 62
PATIENT = "timers: {silent: 60 s, host_lost: 120 s}\n"


def sessions(daemon):
    return daemon.counters()["sessions.begun"]


@pytest.fixture(params=[True, False], ids=["keys", "no-keys"])
def site(request, cluster):
    """A controller and what makes hosts and clients; each has a key of its own, or none has."""
    made = []

    def key(daemon, name, role):
        return daemon.key(name, role) if request.param else None

    class Site:
        def daemon(self, **arguments):
            return cluster.daemon(keys=request.param, **arguments)

        def agent(self, daemon, name, **arguments):
            return cluster.agent(daemon, name, key=key(daemon, name, "agent"), **arguments)

        def host(self, daemon, name, **arguments):
            agent = self.agent(daemon, name, **arguments)
            agent.join()
            return agent

        def framework(self, daemon, name="app-1", **arguments):
            made.append(Framework(daemon, name, key=key(daemon, name, "framework"), **arguments))
            return made[-1]

        def client(self, daemon):
            made.append(Client(daemon))
            return made[-1]

    yield Site()
    for thing in reversed(made):
        thing.close()


@pytest.mark.parametrize("demand", [{}, {"slots": 0}, {"slots": 0, "mem_bytes": 0}])
def test_a_task_that_demands_nothing_is_refused(site, demand):
    """By the client, which reads the file, and by the controller, which hears whatever is sent."""
    daemon = site.daemon()
    site.host(daemon, "a")
    said = daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "stages": [{"tasks": 1000, "demand": demand}]}]), expect=1)
    assert "workload.jsonl:2: stages[0].demand is nothing" in said, said
    client = site.client(daemon)
    client.ask(submit_begin=pb.SubmitBegin(name="zero", content=1, estimate_bytes=-1, estimate_ns=-1))
    answer = client.ask(submit_stage=pb.SubmitStage(stage=0, tasks=1000, demand=pb.Resources(**demand)))
    assert "stage 0 demands nothing" in answer.refused.text, answer
    assert daemon.ctl("status")["jobs_active"] == 0


def run_starts(agent, until):
    """Answers each start as it comes; how many have come."""
    while len(agent.running) < until:
        if agent.receive_start():
            agent.state(list(agent.running)[-1], "STARTED")
    return len(agent.running)


def test_a_burst_ends_no_session(site):
    """A host that claims more slots than there are has them cut and said, and gets its tasks as it
    answers."""
    daemon = site.daemon(config="bounds: {tasks_per_host: 3000}\ntimers: {silent: 60 s, host_lost: 120 s}\n")
    agent = site.host(daemon, "a", slots=HUGE)
    row = daemon.ctl("hosts")["hosts"][0]
    assert row["text"] == f"claims slots {HUGE}: 3000 count", row
    assert f"host a claims slots {HUGE}: 3000 count" in daemon.words()
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "stages": [{"tasks": 20000}]}], hosts=1))
    wait_until(lambda: daemon.ctl("hosts")["hosts"][0]["running"] == 256, "as many are sent as may be unanswered")
    assert run_starts(agent, 3000) == 3000
    assert daemon.ctl("hosts")["hosts"][0]["running"] == 3000
    assert sessions(daemon) == 1


def bring(agent, first, n):
    """A session whose inventory has n attempts of a time before this controller's."""
    agent.hello()
    agent.epoch = agent.expect("welcome").epoch
    for part, at in enumerate(range(0, n, 32)):
        agent.send(numbered=True, inventory_part=pb.InventoryPart(part=part, attempts=[
            pb.AttemptState(attempt=first + i, job=1, phase=pb.PHASE_STARTED) for i in range(at, min(n, at + 32))]))
    agent.send(numbered=True, inventory_end=pb.InventoryEnd(parts=(n + 31) // 32))
    return agent


def test_what_a_host_says_that_it_runs_is_bounded_and_leaves_others_theirs(site):
    """What is beyond is told to stop, and said."""
    daemon = site.daemon(config="bounds: {claims: 200 kB}\ntimers: {silent: 60 s, host_lost: 120 s}\n")
    liar = bring(site.agent(daemon, "liar"), 1, 1000)
    stops = 0
    while stops < 1000:
        stops += liar.receive().HasField("stop")
    rows = {row["name"]: row for row in daemon.ctl("hosts")["hosts"]}
    assert rows["liar"]["running"] == 49, rows
    assert rows["liar"]["text"] == "951 things that it claims are cut: attempts that it was not given", rows
    assert "agent liar claims more than may be kept of it (bounds.claims)" in daemon.words()
    honest = bring(site.agent(daemon, "honest"), 2001, 10)
    honest.acknowledged(honest.sent)
    rows = {row["name"]: row for row in daemon.ctl("hosts")["hosts"]}
    assert rows["honest"]["running"] == 10 and not rows["honest"]["text"], rows


def rss_mb(daemon):
    with open(f"/proc/{daemon.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def tell_all(app, bodies):
    """Tells many facts, no more of them unanswered than a session may have."""
    for kind, body in bodies:
        app.tell(**{kind: body})
        while app.sent - app.answered > 500:
            app.take()
    app.settle()


# Each as small messages that name much: m jobs with a last stage; a stage as wide as may be with
# bytes of its last task from many parents.
def sparse_stages():
    return [("stage", pb.FrameworkStage(job=job, stage=1023, tasks=1)) for job in range(3000)]


def sparse_bytes(form):
    last = 2 ** 20 - 1
    more = {pb.FORM_SUMS: {"first": last}, pb.FORM_ROW: {}, pb.FORM_CELLS: {"at": [last]}, pb.FORM_HOSTS: {"first": last, "hosts": ["h"]}}[form]
    return [("stage", pb.FrameworkStage(job=1, stage=200, tasks=2 ** 20))] + \
        [("stage", pb.FrameworkStage(job=1, stage=p, tasks=1)) for p in range(200)] + \
        [("bytes", pb.FrameworkBytes(job=1, stage=200, parent=p, form=form, bytes=[1], **more)) for p in range(120)]


def many_tasks():
    return [("stage", pb.FrameworkStage(job=job, stage=0, tasks=60000, phase=pb.PHASE_OFFERED)) for job in range(12)]


def many_attempts():
    return [("task", pb.FrameworkTask(attempt=a, job=1, stage=0, task=a % 8, host="a", state=pb.TASK_STARTED)) for a in range(1, 60000)]


@pytest.mark.parametrize("facts, most_mb", [(sparse_stages, 30), (lambda: sparse_bytes(pb.FORM_SUMS), 60), (lambda: sparse_bytes(pb.FORM_ROW), 60),
                                            (lambda: sparse_bytes(pb.FORM_CELLS), 60), (lambda: sparse_bytes(pb.FORM_HOSTS), 60),
                                            (many_tasks, 60), (many_attempts, 60)])
def test_an_applications_memory_follows_what_it_tells_and_its_share(site, facts, most_mb):
    """Its session lasts, nobody else's submit is refused, and what it held is given back when its
    jobs are over."""
    daemon = site.daemon(config="bounds: {framework_memory: 64 MB, agent_messages: 1000000}\ntimers: {silent: 60 s, host_lost: 120 s, forget: 1 s}\n", log=None)
    site.host(daemon, "a")
    app = site.framework(daemon).begin()
    before = rss_mb(daemon)
    tell_all(app, facts())
    assert rss_mb(daemon) - before < most_mb
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "stages": [{"tasks": 2}]}]))
    assert not app.refusals
    app.close()
    wait_until(lambda: "app-1" not in " ".join(row["name"] for row in daemon.ctl("jobs")["jobs"]), "it is forgotten")
    wait_until(lambda: rss_mb(daemon) - before < 25, "its memory is given back")


def test_one_users_applications_leave_places_and_jobs_to_others(site):
    daemon = site.daemon(config="bounds: {jobs: 200}\ntimers: {silent: 60 s, host_lost: 120 s}\n", log=None)
    site.host(daemon, "a")
    app = site.framework(daemon)
    welcome = 0
    for n in range(70):
        app.send(framework_hello=pb.FrameworkHello(version_min=1, version_max=1, name=f"app-{n}", boot=1, hello_sequence=n + 1, user=1000))
        while True:
            envelope = pb.Envelope.FromString(app.socket.recv())
            if envelope.HasField("refused") or envelope.HasField("welcome"):
                break
        welcome += envelope.HasField("welcome")
    assert 30 < welcome < 64, welcome
    assert "as many applications as it may" in envelope.refused.text
    other = site.framework(daemon, "spark", user=2000).begin()
    tell_all(other, [("job", pb.FrameworkJob(job=job, name=f"q{job}")) for job in range(300)])
    assert 20 < sum("spark/" in row["name"] for row in daemon.ctl("jobs")["jobs"]) <= 50
    daemon.ctl("submit", workload(daemon.folder, [{"id": n, "stages": [{"tasks": 1}]} for n in range(1, 100)]))
    third = site.framework(daemon, "third", user=3000).begin()
    tell_all(third, [("job", pb.FrameworkJob(job=1, name="q"))])
    assert "third/q" in {row["name"] for row in daemon.ctl("jobs")["jobs"]}


def test_one_users_executors_leave_places_and_slots_to_others(site):
    """What is beyond is counted, said once, and its session goes on."""
    daemon = site.daemon(config="bounds: {executors: 100, executor_slots: 1000, hosts: 1000}\n" + PATIENT, log=None)

    def told(name, user, slots):
        app = site.framework(daemon, name, user=user).begin()
        tell_all(app, [("executor", pb.FrameworkExecutor(executor=f"{n}", host=f"{name}-{n}", resources=pb.Resources(slots=slots)))
                       for n in range(200)])
        assert not app.refusals
        rows = [row for row in daemon.ctl("hosts")["hosts"] if row["name"].startswith(name)]
        return len(rows), sum(row["slots"] for row in rows)

    assert told("one", 1, slots=1) == (50, 50)
    count, slots = told("two", 1, slots=4096)  # the same user's, if it is the same key's: twice what is left
    assert 10 <= count <= 25 and 400 <= slots <= 500, (count, slots)
    count, slots = told("three", 2, slots=100)
    assert count >= 10 and slots >= 200, (count, slots)
    assert daemon.words().count("tells more than its share") == 3


def test_what_is_beyond_the_share_is_told_to_be_placed_by_its_framework(site):
    daemon = site.daemon(config="bounds: {tasks_per_stage: 100}\ntimers: {silent: 60 s, host_lost: 120 s}\n", log=None)
    site.host(daemon, "a")
    app = site.framework(daemon).begin()
    app.stage(7, 0, 50, phase=pb.PHASE_OFFERED)
    app.stage(7, 1, 101, parents=[0])
    app.until(lambda: (7, 1) in app.opened, "what is not kept is its own to place")
    app.settle()
    assert (7, 0) not in app.opened and app.of(7, 0)
    assert daemon.counters()["frameworks.over_share"] >= 1
    assert daemon.words().count("tells more than its share") == 1


def test_who_takes_too_much_time_goes_on_without_and_may_come_again(site):
    """A share of nothing: two seconds of the loop's time and no more."""
    daemon = site.daemon(config="bounds: {framework_time: 1 %, agent_messages: 1000000}\ntimers: {silent: 60 s, host_lost: 120 s}\n", log=None)
    site.host(daemon, "a")
    app, other = site.framework(daemon, "wide", user=1).begin(), site.framework(daemon, "modest", user=2).begin()
    for stage in range(3):
        app.stage(1, stage, 60000, parents=[stage - 1] if stage else [])
    sums = [pb.FrameworkBytes(job=1, stage=2, parent=1, form=pb.FORM_SUMS, bytes=[each] * 1024)
            for each in (100, 101)]  # each time others, which take it longer than us
    end = time.monotonic() + 50
    while not app.refusals:
        assert time.monotonic() < end, "nobody refuses who takes so much time: not within 50 s"
        app.tell(bytes=sums[app.sent % 2])
        while app.sent - app.answered > 50 and not app.refusals:
            app.take()
    assert app.refusals[0].reason == pb.REASON_LIMIT and "more of the controller's time" in app.refusals[0].text
    assert daemon.counters()["frameworks.over_time"] == 1
    assert "application wide takes more of the controller's time" in daemon.words()
    tell_all(other, [("job", pb.FrameworkJob(job=1, name="q"))])
    app.connect()
    app.send(framework_hello=pb.FrameworkHello(version_min=1, version_max=1, name="wide", boot=1, hello_sequence=9, user=1))
    assert "say HELLO later" in app.receive().refused.text
    site.framework(daemon, "third", user=3).begin()


def processor_ns(daemon, threads=None):
    """Of all its threads, or of these; the loop's is that of its process."""
    tasks = f"/proc/{daemon.process.pid}/task"
    total = 0
    for task in threads or os.listdir(tasks):
        with open(f"{tasks}/{task}/schedstat") as times:
            total += int(times.read().split()[0])
    return total


def spent_ns(daemon):
    return daemon.counters().get("frameworks.spent_ns", 0)


def test_what_a_fact_leaves_to_later_is_charged_to_its_application(site):
    """A small fact makes all tasks of a wide stage be looked at again, in many steps of the engine:
    their time is counted as the message's own. Others keep what they told."""
    daemon = site.daemon(config="bounds: {framework_time: 1 %, agent_messages: 1000000}\n" + PATIENT,
                         log=None)
    site.host(daemon, "a", slots=8)
    app = site.framework(daemon, "wide", user=1).begin()
    other = site.framework(daemon, "modest", user=2).begin()
    app.stage(1, 0, 1)
    app.stage(1, 1, 60000, parents=[0])
    app.settle()
    loop = [daemon.process.pid]  # others receive and send
    began, spent, cost = time.monotonic(), spent_ns(daemon), processor_ns(daemon, loop)
    while not app.refusals:
        assert time.monotonic() < began + 60, "nobody refuses who takes so much: not in a minute"
        phase = pb.PHASE_OFFERED if app.sent % 2 else pb.PHASE_KNOWN
        app.stage(1, 1, 60000, parents=[0], phase=phase)
        while app.answered < app.sent and not app.refusals:
            app.take()
    messages = app.sent - 2
    cost, spent = processor_ns(daemon, loop) - cost, spent_ns(daemon) - spent
    print("%d messages cost %.2f s, %.0f us each; %.0f %% are charged"
          % (messages, cost / 1e9, cost / 1e3 / messages, 100 * spent / cost))
    assert app.refusals[0].reason == pb.REASON_LIMIT
    assert spent >= .6 * cost  # .7 to .9, with what else runs on the machine
    other.stage(1, 0, 4, phase=pb.PHASE_OFFERED)
    other.until(lambda: other.of(1, 0), "it is allowed to start some")
    assert not other.refusals and daemon.counters()["frameworks.over_time"] == 1


def test_ends_of_what_an_application_had_are_charged_to_it(site):
    """A session that names none of its jobs again ends them all with one message, in portions."""
    jobs = 8000
    daemon = site.daemon(config="bounds: {framework_time: 100 %, framework_memory: 256 MB, "
                                "agent_messages: 1000000}\n" + PATIENT, log=None)
    app = site.framework(daemon, "many").begin()
    tell_all(app, [("stage", pb.FrameworkStage(job=job, stage=0, tasks=1)) for job in range(jobs)])
    app.socket.close()
    app.connect()
    app.hello_sequence += 1
    app.begin()
    loop = [daemon.process.pid]  # others write the ends of jobs to the disk
    spent, cost = spent_ns(daemon), processor_ns(daemon, loop)
    app.tell(replayed=pb.FrameworkReplayed())
    wait_until(lambda: daemon.ctl("status")["jobs_active"] == 0, "all are over", 0.2)
    cost, spent = processor_ns(daemon, loop) - cost, spent_ns(daemon) - spent
    print("ends of %d jobs cost %.3f s; %.0f %% are charged" % (jobs, cost / 1e9, 100 * spent / cost))
    assert spent >= .6 * cost  # .7 to .9, with what else runs on the machine
