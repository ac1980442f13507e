"""The agent in role switch on a SONiC's CONFIG_DB (a real Redis): written at start, right again after a reload or yielded as configured,
and taken back after SIGKILL."""

import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from nets import BUILD, wait_for

REDIS = "/usr/bin/redis-check-rdb"  # of redis-tools: the server, when it is called so
pytestmark = pytest.mark.skipif(not os.path.exists(REDIS), reason="there is no redis-tools")
PORTS = ["Ethernet%d" % (4 * i) for i in range(64)]


def fixture():
    """64 ports with PFC; rows for single queues, ranges and lists; maps of the site's own."""
    db = {"DEVICE_METADATA|localhost": {"hwsku": "Force10-S6000"},
          "SCHEDULER|scheduler.0": {"type": "DWRR", "weight": "14"}, "SCHEDULER|scheduler.1": {"type": "DWRR", "weight": "15"},
          "WRED_PROFILE|AZURE_LOSSLESS": {"ecn": "ecn_all", "green_min_threshold": "1048576", "green_max_threshold": "2097152"},
          "DSCP_TO_TC_MAP|SITE": {str(dscp): {26: "3", 34: "4", 46: "5"}.get(dscp, "1") for dscp in range(64)},
          "TC_TO_QUEUE_MAP|SITE": {str(tc): str(tc) for tc in range(8)}}
    for i, port in enumerate(PORTS):
        db["PORT|" + port] = {"speed": "100000", "mtu": "9100", "lanes": str(i)}
        db["PORT_QOS_MAP|" + port] = {"dscp_to_tc_map": "SITE", "tc_to_queue_map": "SITE", "pfc_enable": "3,4"}
        for queues in (["0", "1", "2", "3", "4"], ["0-2", "3-4"], ["2-4"])[i % 3]:
            lossless = {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
            db["QUEUE|%s|%s" % (port, queues)] = lossless if queues in ("3", "4", "3-4") else {"scheduler": "scheduler.0"}
    db["QUEUE|%s,%s|5-6" % (PORTS[0], PORTS[1])] = {"scheduler": "scheduler.0"}
    return db


class Switch:
    def __init__(self, folder):
        self.folder, self.socket = folder, os.path.join(folder, "redis.sock")
        self.processes = []
        self.redis = self.start([REDIS.replace("redis-check-rdb", "redis-server"), "--port", "0", "--unixsocket", self.socket, "--save", "",
                                 "--notify-keyspace-events", "AKE", "--dir", folder], executable=REDIS)
        wait_for("Redis", lambda: self.do("PING") == "PONG")
        self.load(fixture())
        self.before = self.snapshot()

    def start(self, argv, **more):
        self.processes.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.folder, "log"), "a"), **more))
        return self.processes[-1]

    def do(self, *words, **more):
        return subprocess.run(["redis-cli", "-s", self.socket, "-n", "4", *words], capture_output=True, text=True, **more).stdout.strip()

    def load(self, db):
        self.do(input="".join("HSET %s %s\n" % (key, " ".join("%s %s" % field for field in row.items())) for key, row in db.items()))

    def snapshot(self):
        keys = sorted(key for key in self.do("KEYS", "*").split("\n") if key)
        rows = self.do("--json", input="".join("HGETALL %s\n" % key for key in keys)).split("\n")
        return {key: json.loads(row) for key, row in zip(keys, rows)}

    def agent(self, *options, **sections):
        path = os.path.join(self.folder, "agent.yaml")
        with open(path, "w") as out:
            json.dump({"name": "leaf1", "role": "switch", "controller": "tcp://127.0.0.1:7", "state": os.path.join(self.folder, "state"),
                       "switch": {"driver": "sonic", "at": "unix:" + self.socket}, "link": {"rate": "100 Gbps"}, **sections}, out)
        return [os.path.join(BUILD, "duopoly-agent"), "--config", path, *options]

    def begin(self, **settings):
        agent = self.start(self.agent("--replace", queues=settings))
        wait_for("our queues", self.is_ours)
        return agent

    def is_ours(self):
        rows = [self.do("HGET", "QUEUE|%s|7" % port, "scheduler") for port in (PORTS[0], PORTS[-1])]
        return all(row.startswith("duopoly-") for row in rows)

    def restore(self):
        said = subprocess.run(self.agent("--restore"), capture_output=True, text=True)
        assert said.returncode == 0, said.stderr

    def log(self):
        with open(os.path.join(self.folder, "log")) as said:
            return said.read()

    def end(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def switch(tmp_path):
    made = Switch(str(tmp_path))
    try:
        yield made
    finally:
        made.end()
        shutil.rmtree(made.folder, ignore_errors=True)


def test_it_is_written_and_taken_back(switch):
    agent = switch.begin()
    ours = switch.snapshot()
    for key, row in switch.before.items():
        if not key.startswith(("QUEUE|", "PORT_QOS_MAP|")):
            assert ours[key] == row, key
    for port in PORTS:
        maps = ours["PORT_QOS_MAP|" + port]
        dscp, queues = ours["DSCP_TO_TC_MAP|" + maps["dscp_to_tc_map"]], ours["TC_TO_QUEUE_MAP|" + maps["tc_to_queue_map"]]
        assert maps["pfc_enable"] == "3,4" and len(dscp) == 64
        assert [queues[dscp[str(point)]] for point in (3, 48, 26, 34)] == ["7", "7", "3", "4"]
        assert ours["SCHEDULER|" + ours["QUEUE|%s|7" % port]["scheduler"]] == {"type": "STRICT"}
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(30) == 0
    assert switch.snapshot() == switch.before


def plan_of(switch, *options):
    said = subprocess.run(switch.agent("--plan", "--json", *options), capture_output=True, text=True, timeout=60)
    assert said.stderr == ""
    return said.returncode, json.loads(said.stdout)


def test_its_plan_names_every_port_and_changes_nothing(switch):
    status, plan = plan_of(switch, "--replace")
    assert status == 3 and switch.snapshot() == switch.before and not os.path.exists(os.path.join(switch.folder, "state"))
    assert set(PORTS) <= {change["where"] for change in plan["changes"] if change["kind"] == "queues"}
    status, plan = plan_of(switch)
    assert status == 1 and "somebody's" in plan["refusals"][0]["reason"]
    switch.begin()
    wait_for("the agent to run", lambda: "manages" in switch.log())
    status, plan = plan_of(switch, "--replace")
    assert (status, plan["changes"]) == (0, [])


def test_without_replace_nothing_is_changed(switch):
    """All of its ports have rows of somebody's: it says so of each, and waits for what may come."""
    agent = switch.start(switch.agent())
    wait_for("the agent to run", lambda: "manages 64 ports" in switch.log())
    assert "64 of them without queues of ours" in switch.log() and "somebody's" in switch.log()
    assert switch.snapshot() == switch.before and agent.poll() is None
    for queue in [key for key in switch.before if key.startswith(f"QUEUE|{PORTS[3]}|")] + ["PORT_QOS_MAP|" + PORTS[3]]:
        switch.do("DEL", queue)
    wait_for("the queues of the port that nobody has any more", lambda: ours_on(switch, PORTS[3]))
    assert not any(ours_on(switch, port) for port in PORTS if port != PORTS[3])


def ours_on(switch, port):
    return switch.do("HGET", f"QUEUE|{port}|7", "scheduler").startswith("duopoly-")


def break_out(switch):
    """The first port, 100G until now, becomes four of 25G."""
    for i in range(4):
        switch.do("HSET", f"PORT|Ethernet{i}", "speed", "25000", "mtu", "9100", "lanes", str(i))


@pytest.mark.parametrize("when", ["while it runs", "before it starts", "while it is down"])
def test_a_port_that_is_broken_out_has_its_own_speed_and_all_others_are_served(switch, when):
    if when == "before it starts":
        break_out(switch)
    agent = switch.begin(on_change="repair")
    wait_for("the agent to run", lambda: "manages" in switch.log())
    if when == "while it is down":
        agent.kill()
        agent.wait()
    if when != "before it starts":
        break_out(switch)
    if when == "while it is down":
        agent = switch.begin(on_change="repair")
    new = [f"Ethernet{i}" for i in range(4)]
    wait_for("the queues of the four", lambda: all(ours_on(switch, port) for port in new))
    wait_for("a word of each", lambda: all(f"{port}: at its link's own 25.0 Gbit/s: the 100.0 Gbit/s wished are above it" in switch.log() for port in new))
    floor = switch.do("HGET", "QUEUE|Ethernet1|6", "scheduler")
    assert int(switch.do("HGET", "SCHEDULER|" + floor, "cir")) == 25 * 10**9 // 100 // 8
    switch.do("HSET", f"QUEUE|{PORTS[-1]}|7", "scheduler", "scheduler.0")
    wait_for("an untouched port's queue", lambda: ours_on(switch, PORTS[-1]))
    wait_for("a note in the plan", lambda: any("Ethernet1: at its link's own" in note["note"] for note in plan_of(switch, "--replace")[1]["notes"]))
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(30) == 0
    assert not any("duopoly" in str(item) for item in switch.snapshot().items())


BAD = "Ethernet8"
BAD_PORTS = {
    "a speed that is none": (["HSET", "PORT|" + BAD, "speed", "fast"], ["HSET", "PORT|" + BAD, "speed", "100000"], "its speed is no number"),
    "too many lossless queues": (["HSET", "PORT_QOS_MAP|" + BAD, "pfc_enable", "0,1,2,3,4,5,6"], ["HSET", "PORT_QOS_MAP|" + BAD, "pfc_enable", "3,4"],
                                 "7 are lossless"),
    "lossless queues that are none": (["HSET", "PORT_QOS_MAP|" + BAD, "pfc_enable", "3,x"], ["HSET", "PORT_QOS_MAP|" + BAD, "pfc_enable", "3,4"],
                                      "pfc_enable is no list"),
    "another agent's queue": (["HSET", f"QUEUE|{BAD}|0", "scheduler", "duopoly-ffffff-s0"], ["DEL", f"QUEUE|{BAD}|0"], "another agent's"),
}


@pytest.mark.parametrize("when", ["while it runs", "before it starts", "while it is down"])
@pytest.mark.parametrize("case", BAD_PORTS)
def test_a_port_that_cannot_be_had_is_left_and_all_others_are_served(switch, case, when):
    spoil, mend, words = BAD_PORTS[case]
    if when == "before it starts":
        switch.do(*spoil)
    agent = switch.begin(on_change="repair")
    wait_for("the agent to run", lambda: "manages" in switch.log())
    if when == "while it is down":
        agent.kill()
        agent.wait()
    if when != "before it starts":
        switch.do(*spoil)
    if when == "while it is down":
        agent = switch.begin(on_change="repair")
    wait_for("a word about it", lambda: [line for line in switch.log().splitlines() if BAD + ": " in line and words in line])
    wait_for("nothing of ours on it", lambda: not ours_on(switch, BAD))
    switch.do("HSET", f"QUEUE|{PORTS[-1]}|7", "scheduler", "scheduler.0")
    wait_for("an untouched port's queue", lambda: ours_on(switch, PORTS[-1]))
    assert all(ours_on(switch, port) for port in PORTS if port != BAD)
    wait_for("its name in the plan", lambda: [r for r in plan_of(switch, "--replace")[1]["refusals"] if BAD in r["reason"] and words in r["reason"]])
    switch.do(*mend)
    wait_for("its queues", lambda: ours_on(switch, BAD))
    wait_for("the word", lambda: f"{BAD} is in no trouble any more" in switch.log())
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(30) == 0
    assert not any("duopoly" in str(item) for item in switch.snapshot().items())


def test_who_is_fought_for_one_port_is_left_that_and_all_others_are_guarded(switch):
    agent = switch.begin(on_change="repair")
    wait_for("the agent to run", lambda: "manages" in switch.log())
    for n in range(1, 6):
        switch.do("HSET", f"QUEUE|{BAD}|7", "scheduler", "scheduler.0")
        wait_for("a repair", lambda: switch.log().count(f"{BAD}: somebody changed our queues") == n and ours_on(switch, BAD))
    switch.do("HSET", f"QUEUE|{BAD}|7", "scheduler", "scheduler.0")
    wait_for("the end", lambda: "left as it is after 5 repairs in a minute" in switch.log())
    for _ in range(3):
        switch.do("HSET", f"QUEUE|{PORTS[-1]}|7", "scheduler", "scheduler.0")
        wait_for("an untouched port's queue", lambda: ours_on(switch, PORTS[-1]))
    assert switch.do("HGET", f"QUEUE|{BAD}|7", "scheduler") == "scheduler.0"
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(30) == 0
    assert not any("duopoly" in str(item) for item in switch.snapshot().items())


def test_a_kill_leaves_what_restore_takes_back(switch):
    for _ in range(3):
        agent = switch.begin()
        agent.kill()
        agent.wait()
        switch.restore()
        assert switch.snapshot() == switch.before


def test_after_a_reload_it_is_right(switch):
    switch.begin(on_change="repair")
    ours = switch.snapshot()
    for _ in range(2):
        switch.do("FLUSHDB")
        switch.load(fixture())
        wait_for("ours again", lambda: switch.snapshot() == ours)
    assert "left as it is" not in switch.log()


def test_a_reload_is_yielded_to_where_that_is_configured(switch):
    agent = switch.begin(on_change="yield")
    switch.do("FLUSHDB")
    switch.load(fixture())
    wait_for("the agent's word", lambda: "left as it is" in switch.log())
    assert switch.snapshot() == switch.before
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(30) == 0
    assert switch.snapshot() == switch.before


def test_redis_comes_back(switch):
    switch.begin()
    ours = switch.snapshot()
    switch.redis.kill()
    switch.redis.wait()
    switch.redis = switch.start(switch.redis.args, executable=REDIS)
    wait_for("Redis", lambda: switch.do("PING") == "PONG")
    switch.load(fixture())
    wait_for("ours again", lambda: switch.snapshot() == ours)


def test_ports_that_are_not_there_yet_are_named_and_get_queues_when_they_come(switch):
    """Whatever is done about changes: a port that comes is nobody's change of ours."""
    settings = {"driver": "sonic", "at": "unix:" + switch.socket, "ports": ["Ethernet0", "Ethernet[1000-1003]", "Ethernet2*x"]}
    switch.start(switch.agent("--replace", switch=settings, queues={"on_change": "yield"}))
    wait_for("the agent to run", lambda: "manages" in switch.log())
    said = [line for line in switch.log().splitlines() if "no port yet" in line]
    assert len(said) == 1 and "Ethernet[1000-1003], Ethernet2*x" in said[0] and "Ethernet0" not in said[0]
    for port in ("Ethernet1000", "Ethernet1001"):
        begin = time.monotonic()
        switch.do("HSET", "PORT|" + port, "speed", "100000", "mtu", "9100", "lanes", port[-1])
        wait_for("its queues", lambda: switch.do("HGET", f"QUEUE|{port}|7", "scheduler").startswith("duopoly-"))
        print(f"\n{port}: {time.monotonic() - begin:.2f} s")
    assert "somebody" not in switch.log()
    switch.do("HSET", "QUEUE|Ethernet1000|7", "scheduler", "scheduler.0")
    wait_for("what somebody does is noticed all the same", lambda: "somebody" in switch.log())
