"""Room that moves: an application's executors come, change and go, also on hosts that have no
agent, over real connections to the real controller.

The peer is that of test_frameworks.py."""
import time

import pytest
from controller import DEADLINE, Agent, pb
from test_frameworks import Framework

PATIENT = "timers: {silent: 60 s, host_lost: 120 s}\n"
SLOTS = 4


def v4(last):
    """As controller.Agent says where it is."""
    return b"\0" * 10 + b"\xff\xff\x0a\x4d\0" + bytes([last])


class App(Framework):
    def executor(self, name, host, slots=1, **more):
        self.tell(executor=pb.FrameworkExecutor(executor=name, host=host, resources=pb.Resources(slots=slots), **more))

    def gone(self, name):
        self.tell(executor=pb.FrameworkExecutor(executor=name, gone=True))

    def job(self, job, tasks):
        self.tell(job=pb.FrameworkJob(job=job, name=f"query-{job}"))
        self.stage(job, 0, tasks, phase=pb.PHASE_OFFERED)

    def where(self, job=1):
        """Hosts of its allows, one a task."""
        self.settle()
        return sorted(allow.host for allow in self.of(job, 0))

    def until_where(self, *hosts):
        self.until(lambda: sorted(allow.host for allow in self.of(1, 0)) == sorted(hosts), hosts)


@pytest.fixture(params=[True, False], ids=["keys", "no-keys"])
def site(request, cluster):
    """A controller, agents of two hosts, and what makes applications and more agents; each has a
    key of its own, or none has."""
    daemon = cluster.daemon(config=PATIENT, keys=request.param)
    made = []

    def key(name, role):
        return daemon.key(name, role) if request.param else None

    def agent(name, host, **more):
        made.append(Agent(daemon, name, slots=SLOTS, host=host, key=key(name, "agent"), **more))
        made[-1].join()
        return made[-1]

    def app(name="app-1"):
        made.append(App(daemon, name, key=key(name, "framework")))
        return made[-1].begin()
    agents = [agent("h1", 1), agent("h2", 2)]
    yield daemon, agents, app, agent
    for thing in reversed(made):
        thing.close()


def hosts(daemon):
    return {row["name"]: row for row in daemon.ctl("hosts")["hosts"]}


def until_hosts(daemon, condition):
    deadline = time.monotonic() + DEADLINE
    while not condition(hosts(daemon)):
        assert time.monotonic() < deadline, hosts(daemon)
        time.sleep(0.01)


def test_executors_come_change_and_go(site):
    daemon, _agents, app, _agent = site
    app = app()
    app.job(1, 40)
    app.until_where(*["h1"] * SLOTS, *["h2"] * SLOTS)  # it has told none: as the hosts are configured
    app.executor("1", "h1", 2)
    app.until_where("h1", "h1")
    for n in range(2, 20):  # more than 16 on a host, each with a slot
        app.executor(str(n), "h2")
    app.until_where("h1", "h1", *["h2"] * 18)
    assert hosts(daemon)["h2"]["slots"] == 18 and hosts(daemon)["h2"]["slots_free"] == 0
    app.executor("1", "h1", 1)
    app.until_where("h1", *["h2"] * 18)
    for n in range(2, 19):
        app.gone(str(n))
    app.until_where("h1", "h2")
    app.executor("19", "h1")  # it is another one of that name
    app.until_where("h1", "h1")
    assert hosts(daemon)["h2"]["slots"] == SLOTS and hosts(daemon)["h2"]["slots_free"] == SLOTS
    app.gone("1")
    app.gone("19")
    app.gone("never there")
    app.until_where()  # it tells its room: where it has none it may nothing
    assert not app.refusals


def test_two_applications_share_hosts(site):
    daemon, _agents, app, _agent = site
    one, two, none = app("app-1"), app("app-2"), app("app-3")
    one.executor("1", "h1", 2)
    one.executor("2", "h2", 1)
    two.executor("1", "h2", 2)
    one.settle()
    two.settle()  # what is allowed in slots before they are told of stays allowed there
    for each in (one, two, none):
        each.job(1, 40)
    one.until_where("h1", "h1", "h2")
    two.until_where("h2", "h2")
    none.until_where("h1", "h1", "h2")  # what they leave
    one.run(1, 0, 40, first=100)
    two.run(1, 0, 40, first=100)
    assert not one.refusals and not two.refusals
    rows = hosts(daemon)
    assert all(rows[name]["slots"] == SLOTS for name in ("h1", "h2"))
    two.gone("1")
    none.until_where("h1", "h1", "h2", "h2", "h2")


def test_room_for_all(site):
    """A node's, that of each application that tells no executors."""
    _daemon, _agents, app, _agent = site
    manager, one, two = app("manager"), app("app-1"), app("app-2")
    manager.executor("node-1", "h1", 3, shared=True)
    one.executor("1", "h2", 1)
    manager.settle()
    one.job(1, 40)
    one.until_where("h2")
    two.job(1, 40)
    two.until_where("h1", "h1", "h1")
    manager.gone("node-1")
    two.until_where("h1", "h1", "h1", "h1", "h2", "h2", "h2")


def test_a_host_without_an_agent(site):
    daemon, _agents, app, agent = site
    app = app()
    app.executor("1", "bare", 3)
    app.job(1, 8)
    app.until_where("bare", "bare", "bare")
    row = hosts(daemon)["bare"]
    assert (row["state"], row["text"], row["slots"], row["marks"]) == ("unmarked", "no agent: unmarked", 3, None)
    app.run(1, 0, 4, first=100)
    app.gone("1")
    app.settle()
    assert "bare" in hosts(daemon)  # outputs of its job are there
    app.executor("2", "bare", 2)
    app.until_where("bare", "bare")
    late = agent("bare", 3)
    until_hosts(daemon, lambda rows: rows["bare"]["state"] == "up" and rows["bare"]["slots"] == SLOTS)
    app.run(1, 0, 4, first=200)
    assert len(hosts(daemon)) == 3 and not late.running
    app.executor("3", "gone-soon", 1)
    app.settle()
    assert hosts(daemon)["gone-soon"]["slots"] == 1
    app.gone("3")
    until_hosts(daemon, lambda rows: "gone-soon" not in rows)


def test_a_host_is_known_by_its_address(site):
    daemon, _agents, app, agent = site
    app = app()
    app.executor("1", "10.77.0.2", 1, address=v4(2))
    app.job(1, 9)
    app.until_where("10.77.0.2")  # as the application calls it
    assert set(hosts(daemon)) == {"h1", "h2"}
    assert hosts(daemon)["h2"]["slots_free"] == SLOTS - 1
    app.run(1, 0, 1, first=100)
    app.executor("2", "10.77.0.3", 2, address=v4(3))
    app.until_where("10.77.0.2", "10.77.0.3", "10.77.0.3")
    assert hosts(daemon)["10.77.0.3"]["state"] == "unmarked"
    allow = [a for a in app.of(1, 0) if a.host == "10.77.0.3"][0]
    app.start(allow, 200)
    app.settle()
    agent("h3", 3)  # it has been there all the time
    until_hosts(daemon, lambda rows: "h3" in rows and rows["h3"]["state"] == "up")
    app.task(pb.TASK_DONE, 200, 1, 0, allow.task, allow.host)
    app.tell(end=pb.FrameworkEnd(job=1, outcome=pb.OUTCOME_DONE))
    until_hosts(daemon, lambda rows: set(rows) == {"h1", "h2", "h3"})
    app.job(2, 9)
    app.until(lambda: sorted(a.host for a in app.of(2, 0)) == ["10.77.0.2", "10.77.0.3", "10.77.0.3"], "as it calls them")
    assert hosts(daemon)["h3"]["slots_free"] == SLOTS - 2


def test_what_a_replay_leaves_out_has_gone(site):
    daemon, agents, app, _agent = site
    app = app()
    app.executor("1", "h1", 1)
    app.executor("2", "bare", 1)
    app.job(1, 9)
    app.until_where("bare", "h1")
    app.socket.close()
    app.connect()
    app.hello_sequence += 1
    app.begin()
    app.job(1, 9)
    app.executor("1", "h1", 1)
    assert app.where() == ["bare", "h1"]
    app.tell(replayed=pb.FrameworkReplayed())
    app.until_where("h1")
    until_hosts(daemon, lambda rows: "bare" not in rows)
    app.executor("2", "bare", 1)
    app.settle()
    daemon.kill()
    daemon.start()
    assert set(hosts(daemon)) == {"h1", "h2"}
    for agent in agents:
        agent.connect()
        agent.hello_sequence += 1
        agent.join()
    app.connect()
    app.hello_sequence += 1
    app.begin()
    app.job(1, 9)
    app.executor("1", "h2", 1)
    app.tell(replayed=pb.FrameworkReplayed())
    app.until_where("h2")


def test_nonsense_is_refused_and_harms_nobody(site):
    daemon, _agents, app, _agent = site
    app = app()
    wrong = [dict(executor="", host="h1"), dict(executor="a b", host="h1"), dict(executor="1"), dict(executor="1", host="a/b"),
             dict(executor="1", host="h1", resources=pb.Resources(slots=-1))]
    for fields in wrong:
        sequence = app.tell(executor=pb.FrameworkExecutor(**fields))
        app.until(lambda: app.refusals and app.refusals[-1].sequence == sequence, "it is refused")
    assert len(app.refusals) == len(wrong)
    app.job(1, 40)
    app.until_where(*["h1"] * SLOTS, *["h2"] * SLOTS)
    app.executor("1", "h1", 0)  # nothing, and that is all it has
    app.until_where()


def test_hosts_without_an_agent_are_bounded(cluster):
    daemon = cluster.daemon(config=PATIENT + "bounds: {hosts: 4}\n")
    app = App(daemon, "app-1").begin()
    for n in range(4):
        app.executor(str(n), f"bare-{n}")
    app.settle()
    assert [r.text for r in app.refusals] == [f"executor {n}: as many hosts as are allowed are known" for n in (2, 3)]
    assert set(hosts(daemon)) == {"bare-0", "bare-1"} and daemon.counters()["frameworks.unknown_hosts"] == 2
    agents = [Agent(daemon, f"h{n}", host=n) for n in (1, 2)]  # they leave room for these
    for agent in agents:
        agent.join()
    app.job(1, 9)
    app.until_where("bare-0", "bare-1")
    for thing in (app, *agents):
        thing.close()
