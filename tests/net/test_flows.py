"""`duopolyctl flows HOST`: what each connection of a host bears on the wire and whose it is, asked
of its agent when somebody asks; an agent that does not answer is named, and nobody waits long."""

import os
import signal
import subprocess
import time

import pytest

import kills
from controller import BUILD, Client, pb, wait_until
from nets import needs_root

PARTIAL = 7
FLOWS = 1 << pb.ASK_FLOWS
SAME = ("job", "stage", "task", "coflow_level", "macroflow_level", "level")


# ---- agents that the test plays ----


def asked(cluster, daemon, name, asks=FLOWS):
    agent = cluster.agent(daemon, name)
    agent.asks = asks
    agent.join()
    return agent


def address(last):
    return b"\0" * 10 + b"\xff\xff\x0a\0\0" + bytes([last])


def flow(last, **more):
    return pb.Flow(local=address(1), peer=address(last), local_port=7, peer_port=8, sent_age_ns=-1,
                   received_age_ns=5, **more)


def begin_flows(daemon, name, *words, verb="flows"):
    return subprocess.Popen([BUILD / "duopolyctl", "-s", daemon.socket, *words, verb, name],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end_flows(process):
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


def test_parts_are_asked_for_one_by_one(cluster):
    daemon = cluster.daemon(scripted=True)
    agent = asked(cluster, daemon, "w1")
    process = begin_flows(daemon, "w1", "--form", "csv")
    cursor = 0
    for last in (2, 3, 4):
        ask = agent.expect("ask").ask
        assert (ask.of, ask.cursor) == (pb.ASK_FLOWS, cursor)
        cursor = last * 1000 if last < 4 else 0
        agent.send(asked_part=pb.AskedPart(number=ask.number, cursor=cursor, flows=[flow(last)]))
    code, out, err = end_flows(process)
    assert (code, err) == (0, "")
    peers = [line.split(",")[1] for line in out.splitlines()[1:4]]
    assert peers == [f"10.0.0.{n}:8" for n in (2, 3, 4)], out
    assert daemon.counters().get("refused.asked_part", 0) == 0


@pytest.mark.parametrize("words, peers", [
    (["--filter", "peer=10.0.0.3:8|10.0.0.4:8"], [3, 4]), (["--sort", "-peer"], [4, 3, 2]),
    (["--filter", "job!=-"], []), (["--sort", "-peer", "--limit", "2"], [4, 3])])
def test_rows_are_chosen(cluster, words, peers):
    daemon = cluster.daemon(scripted=True)
    agent = asked(cluster, daemon, "w1")
    process = begin_flows(daemon, "w1", "--form", "csv", "--columns", "peer", *words)
    for last in (2, 3, 4):
        agent.send(asked_part=pb.AskedPart(number=agent.expect("ask").ask.number,
                                           cursor=last if last < 4 else 0, flows=[flow(last)]))
    code, out, err = end_flows(process)
    assert (code, err) == (0, "")
    assert out.splitlines() == ["peer", *(f"10.0.0.{n}:8" for n in peers)]


def test_no_more_parts_are_asked_for_than_are_wanted(cluster):
    daemon = cluster.daemon(scripted=True)
    agent = asked(cluster, daemon, "w1")
    process = begin_flows(daemon, "w1", "--form", "csv", "--columns", "peer", "--limit", "1")
    agent.send(asked_part=pb.AskedPart(number=agent.expect("ask").ask.number, cursor=1,
                                       flows=[flow(2), flow(3)]))
    assert end_flows(process) == (0, "peer\n10.0.0.2:8\n", "")


def test_the_controller_does_not_filter_what_agents_tell(cluster):
    daemon = cluster.daemon(scripted=True)
    asked(cluster, daemon, "w1")
    client = Client(daemon)
    answer = client.ask(list=pb.List(of=pb.LIST_FLOWS, name="w1", filter="job=1"))
    assert answer.refused.text == "this list takes no filter"
    client.close()


def test_an_agent_that_goes_on_for_ever_is_cut_off(cluster):
    daemon = cluster.daemon(scripted=True)
    agent = asked(cluster, daemon, "w1")
    process = begin_flows(daemon, "w1")
    for part in range(4096):
        agent.send(asked_part=pb.AskedPart(number=agent.expect("ask").ask.number, cursor=part + 1))
    assert end_flows(process)[::2] == (
        PARTIAL, "duopolyctl: w1 tells more than 4096 parts: the rest is left out\n")


def test_a_host_that_does_not_answer_is_named_after_2_s(cluster):
    daemon = cluster.daemon(scripted=True)
    agent = asked(cluster, daemon, "w1")
    process = begin_flows(daemon, "w1")
    ask = agent.expect("ask").ask
    daemon.clock.advance(1_900_000_000)
    agent.send(asked_part=pb.AskedPart(number=ask.number, cursor=9, flows=[flow(2)]))
    ask = agent.expect("ask").ask  # which has 2 s of its own
    daemon.clock.advance(1_999_999_999)
    assert daemon.ctl("status")["epoch"] == 1 and process.poll() is None
    daemon.clock.advance(1)
    code, out, err = end_flows(process)
    assert (code, err) == (PARTIAL, "duopolyctl: w1 did not answer within 2 s\n")
    assert "10.0.0.2:8" in out  # what had come is shown
    agent.send(asked_part=pb.AskedPart(number=ask.number))
    wait_until(lambda: daemon.counters().get("refused.asked_part") == 1, "the late answer")
    assert daemon.ctl("hosts")["hosts"][0]["state"] == "up"


def test_answers_that_nobody_asked_for_are_counted(cluster):
    daemon = cluster.daemon(scripted=True)
    agent, other = asked(cluster, daemon, "w1"), asked(cluster, daemon, "w2")
    process = begin_flows(daemon, "w1")
    number = agent.expect("ask").ask.number
    for wrong in (number + 1, number + 64, 0, 2**64 - 1):
        agent.send(asked_part=pb.AskedPart(number=wrong, flows=[flow(66)]))
    other.send(asked_part=pb.AskedPart(number=number, flows=[flow(66)]))
    wait_until(lambda: daemon.counters().get("refused.asked_part") == 5, "them to be counted")
    agent.send(asked_part=pb.AskedPart(number=number, flows=[flow(2)]))
    code, out, _ = end_flows(process)
    assert code == 0 and "10.0.0.2:8" in out and "10.0.0.66" not in out
    for _ in range(500):
        agent.send(asked_part=pb.AskedPart(number=number, flows=[flow(66)] * 64))
    wait_until(lambda: daemon.counters()["refused.asked_part"] == 505, "the flood to be counted")


def test_who_cannot_be_asked_is_named_at_once(cluster):
    daemon = cluster.daemon()
    older = asked(cluster, daemon, "older", asks=0)
    began = time.monotonic()
    assert end_flows(begin_flows(daemon, "older"))[::2] == (
        PARTIAL, "duopolyctl: older cannot be asked: its agent is older than this command\n")
    older.close()
    assert end_flows(begin_flows(daemon, "nobody")) == (
        5, "", "duopolyctl: there is no host nobody; did you mean 'older'?\n")
    assert time.monotonic() - began < 2
    wait_until(lambda: daemon.ctl("hosts")["hosts"][0]["state"] == "silent", "its silence", 0.2)
    code, _, err = end_flows(begin_flows(daemon, "older"))
    words = "duopolyctl: older cannot be asked: not heard for "
    assert code == PARTIAL and err.startswith(words), err


def test_a_client_that_leaves_leaves_no_question(cluster):
    daemon = cluster.daemon(scripted=True)
    agent = asked(cluster, daemon, "w1")
    leaver = Client(daemon)
    leaver.send(list=pb.List(of=pb.LIST_FLOWS, name="w1"))
    number = agent.expect("ask").ask.number
    leaver.close()
    # Its place is another one's at once, and so is the answer.
    process = begin_flows(daemon, "w1")
    second = agent.expect("ask").ask.number
    agent.send(asked_part=pb.AskedPart(number=number, flows=[flow(66)]))
    agent.send(asked_part=pb.AskedPart(number=second, flows=[flow(2)]))
    code, out, _ = end_flows(process)
    assert code == 0 and "10.0.0.66" not in out
    assert daemon.counters()["refused.asked_part"] == 1


def test_an_agent_is_asked_no_more_than_it_has_room_for(cluster):
    daemon = cluster.daemon(scripted=True)
    agent = asked(cluster, daemon, "w1")
    question = pb.List(of=pb.LIST_FLOWS, name="w1")
    askers = [Client(daemon) for _ in range(17)]
    numbers = []
    for asker in askers[:16]:  # one after the other: connections are served in any order
        asker.send(list=question)
        numbers.append(agent.expect("ask").ask.number)
    assert askers[16].ask(list=question).refused.reason == pb.REASON_LIMIT
    agent.send(asked_part=pb.AskedPart(number=numbers[3]))
    agent.send(asked_part=pb.AskedPart(number=numbers[5]))
    wait_until(lambda: daemon.counters()["agents.received"] >= 4, "both answers")
    daemon.clock.advance(2_000_000_000)
    late = [asker.answer().asked_page.unanswered for asker in askers[:16]]
    assert late == [i not in (3, 5) for i in range(16)]
    for asker in askers:
        # Each is read again.
        assert asker.ask(get_status=pb.GetStatus()).HasField("status")
        asker.close()


# ---- real ones ----


def rows(site, host):
    return site.running.ask("flows", host)["flows"]


def ask_as_a_person(site, *words):
    command = [site.running.program("duopolyctl"), "--socket", site.running.socket, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def of_tasks(site, host):
    return [row for row in rows(site, host) if row["attempt"]]


def marked_as_decided(site):
    """The receiving tasks' connections of w1, each beside its task and its other end, if all of
    them bear the level in force."""
    tasks = {row["attempt"]: row for row in site.attempts() if row["stage"] == 1}
    mine = [row for row in of_tasks(site, "w1") if row["received_bytes"]]
    if not mine or not all(row["attempt"] in tasks for row in mine):
        return None
    for row in mine:
        task = tasks[row["attempt"]]
        if any(row[key] != task[key] for key in SAME) or row["wire_level"] != task["level"]:
            return None
        other = [far for far in rows(site, row["peer_host"])
                 if (far["local"], far["peer"]) == (row["peer"], row["local"])]
        if len(other) != 1 or other[0]["wire_level"] != row["wire_level"]:
            return None
        assert (row["opened_by"], other[0]["opened_by"]) == ("host", "peer")
        assert other[0]["peer_host"] == "w1" and other[0]["attempt"] is None
    return mine


@needs_root
def test_flows_of_a_transfer(begin):
    site = begin(kills.REAL)
    assert not of_tasks(site, "w1")
    site.replay(site.transfers(6))
    site.wait_running(3, stage=1)
    mine = site.wait("marked connections", lambda: marked_as_decided(site))
    assert {row["peer_host"] for row in mine} <= {"w2", "w3"}
    assert all(row["wire_level"] in range(8) for row in mine)
    receiving = {row["attempt"]: row for row in site.running.ask("macroflows")["macroflows"]}
    assert {row["attempt"] for row in mine} <= set(receiving)
    assert all(receiving[row["attempt"]]["level"] == row["wire_level"] for row in mine)
    coflow, = site.running.ask("coflows")["coflows"]
    assert coflow["name"] == "transfers", coflow
    assert set(coflow["hosts"].split(", ")) == {"w1", "w2", "w3"}, coflow
    before = sum(row["received_bytes"] for row in mine)
    site.wait("more bytes", lambda: sum(row["received_bytes"] or 0
                                        for row in of_tasks(site, "w1")) > before)
    site.finish()
    site.wait("the connections' ends", lambda: not of_tasks(site, "w1"))


@needs_root
def test_a_stopped_agent_is_named_and_the_others_are_shown(begin):
    site = begin(kills.REAL)
    site.replay(site.transfers(6))
    site.wait_running(3, stage=1)
    os.kill(site.agent("w1"), signal.SIGSTOP)
    began = time.monotonic()
    done = ask_as_a_person(site, "-j", "flows", "w1")
    took = time.monotonic() - began
    assert done.returncode == PARTIAL and '"partial": true' in done.stdout, done
    assert "w1 did not answer within 2 s" in done.stdout and 2 <= took < 3, took
    site.wait("flows of the others", lambda: of_tasks(site, "w2") and of_tasks(site, "w3"))
    os.kill(site.agent("w1"), signal.SIGCONT)
    site.wait("its answer", lambda: of_tasks(site, "w1"))
    site.finish()
