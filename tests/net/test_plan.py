"""`duopoly-agent --plan` says what the agent would change on its host, all of it, and changes
nothing."""

import json
import os
import subprocess

import pytest

import tcx
from nets import BUILD, Net, needs_root
from test_marks import WITHOUT_BPF
from test_restore import differences, runs, snapshot
from scripted import Agent

pytestmark = needs_root
NOTHING, REFUSED, CHANGES = 0, 1, 3


class Site:
    def __init__(self):
        self.net, self.agent = Net(2), None

    def begin(self, **options):
        """An agent's configuration, and no agent."""
        address = f"tcp://{self.net.hosts[1].address}:7000"
        host = self.net.sw if options.get("role") == "switch" else self.net.hosts[0]
        self.agent = Agent(self.net, host, address, begins=False, **options)
        return self.agent

    def run_plan(self, *flags, before=()):
        with self.agent.host.popen(*before, os.path.join(BUILD, "duopoly-agent"), "--config", self.agent.config, "--plan", *flags,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as plan:
            said, wrong = plan.communicate(timeout=20)
        return plan.returncode, said, wrong

    def plan(self, *flags, expect, before=()):
        """The plan as JSON, after the host was found to be as before it, and the same plan as
        text."""
        shown = snapshot(self.net, self.agent.state)
        status, said, wrong = self.run_plan("--json", *flags, before=before)
        assert not differences(shown, snapshot(self.net, self.agent.state))
        assert (status, wrong) == (expect, ""), said
        plan = json.loads(said)
        assert plan["count"] == len(plan["changes"])
        status, text, _ = self.run_plan(*flags, before=before)
        assert status == expect
        words = " ".join(text.split())
        for change in plan["changes"]:
            assert " ".join(" ".join(change.values()).split()) in words
        for refusal in plan["refusals"]:
            assert refusal["reason"] in words
        return plan

    def start(self, times=1):
        self.agent.start()
        runs(self.agent, times)

    def end(self):
        try:
            if self.agent and self.agent.process and self.agent.process.poll() is None:
                self.agent.kill()
            if self.agent:
                self.agent.restore()
        finally:
            self.net.remove()


@pytest.fixture
def site():
    made = Site()
    try:
        yield made
    finally:
        made.end()


def wheres(plan, verb, *kinds):
    return sorted(c["where"] for c in plan["changes"] if c["verb"] == verb and c["kind"] in kinds)


def below(folder):
    return sorted(os.path.join(at, name) for at, folders, names in os.walk(folder) for name in folders + names if not name.endswith(".debug"))


def test_it_says_all_and_changes_nothing_and_after_the_agent_nothing_is_left(site):
    drivers = os.path.join(site.net.dir, "frameworks.sock")
    agent = site.begin(lines=[f"frameworks: {{socket: {drivers}}}"])
    plan = site.plan(expect=CHANGES)
    assert {c["verb"] for c in plan["changes"]} == {"add"} and plan["stance"] == "enforce" and not plan["refusals"]
    site.start()
    made = [agent.state, *below(agent.state), agent.measurements]
    assert wheres(plan, "add", "file", "folder", "map", "program", "link") == sorted(made), "every file, folder and pin, and no others"
    assert wheres(plan, "add", "socket") == [drivers] and os.path.exists(drivers)
    assert wheres(plan, "add", "mount") == [agent.state + "/bpf"] and wheres(plan, "add", "cgroup", "hook") == 2 * [agent.cgroup]
    shown = agent.host.tc("class", "show", "dev", "up0") + agent.host.tc("qdisc", "show", "dev", "up0")
    queues = [c["what"] for c in plan["changes"] if c["kind"] == "queues"]
    assert len(queues) == len([line for line in shown.splitlines() if "clsact" not in line])
    for what in queues:
        assert not what.startswith("class") or f"class htb {what.split()[1].strip(',')} " in shown
    assert wheres(plan, "add", "qdisc", "filter") == [] and len(wheres(plan, "add", "link")) == 2
    assert site.plan(expect=NOTHING)["changes"] == []
    agent.kill()
    assert site.plan(expect=NOTHING)["changes"] == []


def test_what_somebody_changed_and_another_configuration_are_told(site):
    agent = site.begin()
    site.start()
    agent.kill()
    agent.host.tc("class", "change", "dev", "up0", "classid", "d00:6", "htb", "rate", "9mbit", "ceil", "100mbit", "prio", "2")
    tcx.detach(agent.host, "up0", "ingress")
    with open(agent.config) as text:
        said = text.read()
    with open(agent.config, "w") as text:
        text.write(said.replace("members: [10.99.0.0/24]", "members: [10.99.0.0/16], dscp: [1, 2, 3, 4, 5, 6, 7, 9]"))
    found = [(c["verb"], c["kind"], c["where"].rpartition("/")[2], c["what"].split(",")[0]) for c in site.plan(expect=CHANGES)["changes"]]
    assert sorted(found) == [("add", "link", "in-up0", "our program on what arrives by up0"),
                             ("change", "hook", agent.net.prefix + agent.name, "the program count on what its sockets receive"),
                             ("change", "link", "out-up0", "our program on what is sent by up0"),
                             ("change", "map", "members-1", "1 member prefixes come"), ("change", "program", "count-1", "count"),
                             ("change", "queues", "up0", "class d00:6")]
    site.start(2)
    assert site.plan(expect=NOTHING)["changes"] == []


def test_refusals_are_told_with_all_the_rest(site):
    agent = site.begin()
    agent.host.tc("qdisc", "add", "dev", "up0", "root", "handle", "77:", "tbf", "rate", "93mbit", "burst", "17kb", "limit", "123kb")
    plan = site.plan(expect=REFUSED)
    assert ["up0 already has a root qdisc of its own (tbf)" in r["reason"] for r in plan["refusals"]] == [True]
    assert wheres(plan, "add", "mount") and not wheres(plan, "add", "queues")
    plan = site.plan("--replace", expect=CHANGES)
    assert any("in the place of tbf" in c["what"] for c in plan["changes"])
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
    reasons = [r["reason"] for r in site.plan(expect=REFUSED, before=nobody)["refusals"]]
    for words in ("no right to change queues", "no right to mount a bpf file system", "loading the marking programs",
                  f"making something in {site.net.dir}: Permission denied"):
        assert any(words in reason for reason in reasons), reasons


def test_where_ebpf_may_not_the_plan_is_that_of_nftables_alone(site):
    site.begin()
    plan = site.plan(expect=CHANGES, before=WITHOUT_BPF)
    assert not plan["refusals"]
    assert wheres(plan, "add", "table") and not wheres(plan, "add", "mount", "map", "program", "link", "hook")


def test_what_another_driver_left_is_told(site):
    """Both ways; afterwards nothing is left to be told."""
    agent = site.begin(marks=", driver: ebpf")
    said = open(agent.config).read()
    site.start()
    for times, (before, after) in enumerate((("ebpf", "nftables"), ("nftables", "ebpf")), 2):
        agent.kill()
        with open(agent.config, "w") as text:
            text.write(said.replace("driver: ebpf", "driver: " + after))
        status, told, _ = site.run_plan("--json")  # rules count packets meanwhile: hosts are not compared
        plan = json.loads(told)
        assert status == CHANGES
        gone = set(wheres(plan, "remove", "table", "map", "program", "link", "hook", "mount", "folder", "file"))
        pins = below(agent.state + "/bpf")
        assert not plan["refusals"] and (gone >= {agent.cgroup, agent.state + "/bpf", *pins} and pins if before == "ebpf" else
                                         any(where.startswith("duopoly-up0") for where in gone)), plan
        left = {where for where in gone if where.startswith("/") and where != agent.cgroup}
        site.start(times)
        assert before == "nftables" or not [where for where in left if os.path.exists(where)]
        assert site.run_plan()[0] == NOTHING


def test_a_lower_stance_takes_away_what_is_left(site):
    agent = site.begin()
    site.start()
    agent.kill()
    with open(agent.state + "/stance", "w") as said:
        said.write("observe\n")
    plan = site.plan(expect=CHANGES)
    assert plan["stance"] == "observe" and wheres(plan, "remove", "queues") == [agent.state + "/queues-up0"]
    assert len(wheres(plan, "remove", "link")) == 2 and not wheres(plan, "add", "queues", "link", "filter", "qdisc")
    site.start(2)
    assert site.plan(expect=NOTHING)["changes"] == []


def test_a_switch_has_a_plan_for_each_port(site):
    site.begin(role="switch")
    plan = site.plan(expect=CHANGES)
    assert set(wheres(plan, "add", "queues")) == {"p1", "p2"} and [where.rpartition("/")[2] for where in wheres(plan, "add", "link")] == ["out-p1", "out-p2"]
    site.start()
    assert site.plan(expect=NOTHING)["changes"] == []


def test_an_unreadable_configuration_is_one_sentence(site):
    agent = site.begin()
    with open(agent.config, "a") as text:
        text.write("nonsense: 1\n")
    status, said, wrong = site.run_plan()
    assert status == REFUSED and said == "" and wrong.count("\n") == 1 and agent.config in wrong
    os.remove(agent.config)
    site.agent = None
