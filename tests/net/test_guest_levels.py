"""The controller's part of guests, over its real socket: one level for an application on all hosts, and what `duopolyctl hosts` shows."""
import pytest
from controller import Agent, pb
from test_frameworks import Framework

MEGABYTE = 1_000_000


def application(name, received, level=-1, user=1000, **more):
    row = dict(name=name, user=user, guests=2, cores=1, received_bytes=received, rung=pb.RUNG_MARK, level=level, marked=2)
    return pb.GuestApplication(**{**row, **more})


class Driver(Framework):
    """As an agent that relays tells of it: whose process it is. `text`: why it does not hold, and what of it is unmarked."""
    holds, text = True, ""

    def send(self, numbered=False, **body):
        if "framework_hello" in body:
            body["framework_hello"].user = 1000
            body["framework_hello"].holds, body["framework_hello"].text = self.holds, self.text
        return super().send(numbered, **body)


class Host(Agent):
    def __init__(self, *words, **more):
        super().__init__(*words, **more)
        self.allowed, self.levels, self.said = {}, {}, []

    def tell(self, *applications):
        self.send(guests_part=pb.GuestsPart(applications=applications))

    def told(self):
        """Levels by application and user."""
        return {(one.name, one.user): one.level for one in self.expect("guest_levels").guest_levels.levels}

    def allows(self):
        """What it heard of tasks until nothing more is on its way: allows by number, levels by attempt."""
        self.send(numbered=True, agent_heartbeat=pb.AgentHeartbeat())
        envelope = None
        while not envelope or envelope.acknowledged < self.sent:
            envelope = self.receive()
            if envelope.HasField("guest_levels"):
                self.said = list(envelope.guest_levels.levels)
            if envelope.HasField("guest_allows"):
                said = envelope.guest_allows
                assert (said.name, said.user) == ("app-1", 1000)
                self.allowed.update({a.allow: a for a in said.allows})
                self.levels.update({one.attempt: (one.coflow_level, one.macroflow_level) for one in said.levels})
        return self.allowed

    def settled(self):
        """Everything before was taken; nothing was said about guests."""
        self.send(numbered=True, agent_heartbeat=pb.AgentHeartbeat())
        while (envelope := self.receive()).acknowledged < self.sent:
            assert not envelope.HasField("guest_allows") and not envelope.HasField("guest_levels")


@pytest.fixture
def hosts(cluster, request):
    """Parameter: more of the controller's configuration."""
    daemon = cluster.daemon(config="timers: {silent: 60 s, host_lost: 120 s}\n" + getattr(request, "param", ""))
    made = [Host(daemon, f"h{n}", host=n) for n in (1, 2)]
    for one in made:
        one.join()
    yield daemon, *made
    for one in made:
        one.close()


def test_an_application_has_one_level_by_what_it_received_everywhere(hosts):
    daemon, h1, h2 = hosts
    h1.tell(application("app-1", 6 * MEGABYTE), application("app-2", 0))
    assert h1.told() == {("app-1", 1000): 0, ("app-2", 1000): 0}
    h2.tell(application("app-1", 5 * MEGABYTE), application("app-1", 5 * MEGABYTE, user=1001))
    assert h2.told() == {("app-1", 1000): 1, ("app-1", 1001): 0}, "11 MB together: above the first threshold of policy's dclas"
    h1.tell(application("app-1", 6 * MEGABYTE, 0), application("app-2", 200 * MEGABYTE, 0))
    assert h1.told() == {("app-1", 1000): 1, ("app-2", 1000): 2}
    h1.tell(application("app-1", 7 * MEGABYTE, 1), application("app-2", 200 * MEGABYTE, 2))
    h1.settled()


def test_hosts_shows_applications_with_why_not(hosts):
    daemon, h1, h2 = hosts
    assert "guests" not in daemon.ctl("hosts") and "applications" not in daemon.ctl("jobs")
    many = [application(f"app-{n}", n) for n in range(64)]
    h1.tell(*many)
    h2.tell(application("app-1", 5, rung=pb.RUNG_OBSERVE, marked=0, text="guests.rung is observe"))
    assert len(h1.told()) == 64 and len(h2.told()) == 1
    h1.tell(*[application(f"app-{n}", n, 0) for n in range(64)])
    h1.settled()
    rows = {(row["application"], row["host"]): row for row in daemon.ctl("hosts")["guests"]}
    assert len(rows) == 65
    assert rows["app-63", "h1"] == dict(application="app-63", host="h1", user=1000, rung="mark", level=0, executors=2, marked=2, cores=1,
                                        received_bytes=63, text=None)
    assert (rows["app-1", "h2"]["rung"], rows["app-1", "h2"]["text"]) == ("observe", "guests.rung is observe")
    whole = {row["application"]: row for row in daemon.ctl("jobs")["applications"]}
    assert len(whole) == 64 and whole["app-2"]["hosts"] == 1
    assert whole["app-1"] == dict(application="app-1", user=1000, rung="observe", level=0, hosts=2, executors=4, marked=2, received_bytes=6,
                                  text="guests.rung is observe")
    h2.send(guests_part=pb.GuestsPart(applications=[application("app-1", 5, 0, tasks=7, tasks_unknown=2, shared_bytes=3)], refused=4, left_out=1))
    h2.settled()
    counted = {name: value for name, value in daemon.counters("h2").items() if name.startswith("guests.")}
    assert counted == {"guests.refused": 4, "guests.left_out": 1, "guests.tasks": 7, "guests.tasks_unknown": 2, "guests.shared_bytes": 3}
    h1.tell()
    h1.settled()
    assert {row["host"] for row in daemon.ctl("hosts")["guests"]} == {"h2"}


@pytest.mark.parametrize("holds, text",
                         [(True, ""), (False, "the gate is off: spark.duopoly.gate"), (True, "unmarked: what spark.shuffle.push.enabled merges")])
def test_the_highest_rung_is_a_driver_that_holds(hosts, holds, text):
    daemon, h1, _h2 = hosts
    h1.tell(application("app-1", 0), application("app-1", 0, user=1001))
    h1.told()
    driver = Driver(daemon, "app-1")
    driver.holds, driver.text = holds, text
    try:
        driver.begin()
        h1.tell(application("app-1", 0, 0))
        h1.expect("guest_levels")
        h1.tell(application("app-1", 0, 0, vouched=True), application("app-1", 0, 0, user=1001))
        h1.settled()
        rows = {row["user"]: (row["rung"], row["text"]) for row in daemon.ctl("jobs")["applications"]}
        assert rows == {1000: ("hold" if holds else "mark", text or None), 1001: ("mark", None)}
    finally:
        driver.close()


def test_whose_driver_it_is_and_what_its_tasks_may_start_with(hosts):
    daemon, h1, h2 = hosts
    h1.tell(application("app-1", 0), application("app-1", 0, user=1001))
    h1.told()
    driver = Driver(daemon, "app-1")
    try:
        driver.begin()
        h1.tell(application("app-1", 0, 0), application("app-1", 0, 0, user=1001))
        vouched = h1.expect("guest_levels").guest_levels.levels
        assert [(one.user, one.level, one.vouched) for one in vouched] == [(1000, 0, True)]
        h1.tell(application("app-1", 0, 0, vouched=True))
        h1.settled()
        driver.two_stages(7, maps=6, reduces=2, each=300_000_000)
        hosts_of = driver.run(7, 0, 6, first=100)
        driver.until(lambda: len(driver.of(7, 1)) == 2, "reduce tasks are allowed")
        here = {a.allow: (a.job, a.stage, a.task, a.coflow_level, a.macroflow_level) for a in driver.of(7, 1) if a.host == "h1"}
        told = {n: (a.job, a.stage, a.task, a.coflow_level, a.macroflow_level) for n, a in h1.allows().items()}
        assert here == told and all(0 < a.until_ms <= 5000 for a in h1.allowed.values())
        assert "h1" in hosts_of.values() and not h1.levels, "maps receive nothing to be marked"
        for allow in driver.of(7, 1):
            driver.start(allow, 200 + allow.task)
        driver.task(pb.TASK_STARTED, 300, 7, 1, 0, "h1")  # a copy that nobody allowed
        driver.settle()
        h1.allows()
        assert 300 in h1.levels
        h2.settled()  # it tells of no guests, and hears of none
    finally:
        driver.close()
    told = []
    while not told:  # its end is noticed a moment later
        h1.tell(application("app-1", 0, 0, vouched=True))
        told = h1.allows() and h1.said
    assert [(one.user, one.vouched) for one in told] == [(1000, False)]


@pytest.mark.parametrize("hosts", ["policy: {preset: duopoly}\n"], indirect=True, ids=["by-size"])
def test_an_allow_whose_level_changes_is_told_again(hosts):
    daemon, h1, _h2 = hosts
    h1.tell(application("app-1", 0))
    h1.told()
    driver = Driver(daemon, "app-1")
    try:
        driver.begin()
        driver.two_stages(7, maps=6, reduces=2, each=300_000_000)
        driver.run(7, 0, 6, first=100)
        driver.until(lambda: len(driver.of(7, 1)) == 2, "reduce tasks are allowed")
        before = {n: a.coflow_level for n, a in h1.allows().items()}
        assert before
        driver.tell(bytes=pb.FrameworkBytes(job=7, stage=1, parent=0, form=pb.FORM_SUMS, bytes=[1000] * 2))  # it was said wrongly
        driver.settle()
        assert h1.allows().keys() == before.keys() and all(a.coflow_level < before[n] for n, a in h1.allowed.items())
    finally:
        driver.close()
