"""`duopolyctl queues HOST`: what each queue of a port sends, holds, drops and marks, beside what
the kernel says of it and what its connections bear."""

import json
import re

import kills
from controller import pb
from nets import needs_root
from test_flows import PARTIAL, asked, begin_flows, end_flows, of_tasks
from testbed.net import system

LEVELS = 8
CLASS = r"^class \w+ d00:([0-9a-f]+) .*?\n Sent (\d+) bytes (\d+) pkt \(dropped (\d+),"


def told(site, host):
    """{(port, traffic, level): row}"""
    rows = site.running.ask("queues", host)["port_queues"]
    return {(row["port"], row["traffic"], row["level"]): row for row in rows}


def name_of(traffic):
    return ("level", traffic - 1) if 0 < traffic <= LEVELS else (
        "unmanaged" if traffic else "control", None)


def kernels(site, host, port):
    """{(port, traffic, level): counters}, of our classes and the reds below them."""
    shown = system.run(*site.net.enter(host, "tc", "-s", "class", "show", "dev", port))
    found = {}
    below = system.run(*site.net.enter(host, "tc", "-s", "-j", "qdisc", "show", "dev", port))
    marked = {qdisc["parent"]: qdisc["marked"] for qdisc in json.loads(below)
              if qdisc["kind"] == "red"}
    for minor, size, packets, dropped in re.findall(CLASS, shown, re.M):
        traffic = int(minor, 16) - 1
        if traffic <= LEVELS + 1:
            found[(port, *name_of(traffic))] = {
                "sent_bytes": int(size), "sent_packets": int(packets),
                "dropped_packets": int(dropped), "marked_packets": marked.get("d00:" + minor)}
    return found


@needs_root
def test_queues_are_as_the_kernel_has_them(begin):
    site = begin(kills.REAL)
    site.replay(site.transfers(8))
    site.wait_running(3, stage=1)

    def full():
        levels = {row["wire_level"] for row in of_tasks(site, "w1") if row["received_bytes"]}
        busy = [key for key, row in told(site, "s").items()
                if key[0] == "w1" and (row["rate_bps"] or 0) > kills.LINK_BPS / 2]
        return len(levels) == 1 and busy == [("w1", "level", *levels)] and busy[0]
    busy = site.wait("the queue of w1's transfers", full)
    before = kernels(site, "s", "w1")
    rows = {key: row for key, row in told(site, "s").items() if key[0] == "w1"}
    after = kernels(site, "s", "w1")
    assert set(rows) == set(before) and len(rows) == LEVELS + 2
    for key, row in rows.items():
        for name, least in before[key].items():
            if least is None:
                assert row[name] is None, "a pfifo marks nothing: not 0 of what it might"
            else:
                assert least <= row[name] <= after[key][name], (key, name)
    assert rows[busy]["sent_bytes"] > 0 and rows[busy]["rate_bps"] <= 1.2 * kills.LINK_BPS
    site.wait("packets that wait", lambda: told(site, "s")[busy]["backlog_packets"] > 0)
    site.wait("bytes that wait", lambda: told(site, "s")[busy]["backlog_bytes"] > 0)
    site.finish()


def test_many_ports_come_in_parts(cluster):
    daemon = cluster.daemon(scripted=True)
    agent = asked(cluster, daemon, "w1", 1 << pb.ASK_QUEUES)
    process = begin_flows(daemon, "w1", "--form", "csv", verb="queues")
    for part in range(3):
        ask = agent.expect("ask").ask
        assert (ask.of, ask.cursor) == (pb.ASK_QUEUES, 8 * part)
        queues = [pb.QueueCounts(port=f"p{8 * part + port}", traffic=traffic, bytes=2**40)
                  for port in range(8) for traffic in range(10)]
        agent.send(asked_part=pb.AskedPart(
            number=ask.number, cursor=8 * (part + 1) if part < 2 else 0, queues=queues))
    code, out, err = end_flows(process)
    lines = out.splitlines()
    assert (code, err) == (0, "") and len(lines) >= 241
    assert lines[1].startswith("p0,control,,") and lines[2].startswith("p0,level,0,")
    assert lines[10].startswith("p0,unmanaged,,")
    assert lines[240].startswith("p23,unmanaged,")


def test_an_agent_that_knows_another_question_is_not_asked_this_one(cluster):
    daemon = cluster.daemon(scripted=True)
    asked(cluster, daemon, "w1", 1 << pb.ASK_FLOWS)
    assert end_flows(begin_flows(daemon, "w1", verb="queues"))[::2] == (
        PARTIAL, "duopolyctl: w1 cannot be asked: its agent is older than this command\n")
