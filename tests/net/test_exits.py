"""Exit codes of duopolyctl, each by what causes it, and the verdict of `status`."""
import re
import socket
import subprocess

import pytest

from controller import BUILD, SECOND, TOP, pb, wait_until

CLI = TOP / "docs" / "operate" / "cli.md"
DONE, REFUSED, ARGUMENTS, UNREACHABLE, FORBIDDEN, UNKNOWN, LATE, _PARTIAL, UNHEALTHY = range(9)


def run(*words):
    return subprocess.run([BUILD / "duopolyctl", *map(str, words)], capture_output=True, text=True,
                          timeout=40, check=False)


def ends(done, code):
    """With that code, one sentence, and nothing on standard output."""
    assert done.returncode == code and not done.stdout, done
    assert done.stderr.startswith("duopolyctl: ") and len(done.stderr.splitlines()) == 1, done
    return True


def test_help_and_the_page_have_one_table():
    rows = re.findall(r"^  (\d) ([a-z ]+): (.+)$", run("--help").stdout, re.M)
    assert [int(code) for code, _, _ in rows] == list(range(9))
    page = re.findall(r"^\| (\d) \| ([a-z ]+) \| (.+) \|$", CLI.read_text(encoding="utf-8"), re.M)
    assert rows == page


def test_each_code_has_its_cause(cluster, tmp_path):
    daemon = cluster.daemon(keys=True)
    reader = daemon.key("ann", role="read-only")
    here, there = ("-s", daemon.socket), ("--controller", daemon.address, "--key", reader)
    assert run(*here, "jobs").returncode == DONE
    assert ends(run(*here, "policy", "turn", "sjf", "nonsense=1"), REFUSED)
    assert ends(run(*here, "frob"), ARGUMENTS) and ends(run(*here, "job", "x"), ARGUMENTS)
    assert ends(run("-s", "/nowhere", "status"), UNREACHABLE)
    assert ends(run(*there[:1], "tcp://127.0.0.1:1", *there[2:], "status"), UNREACHABLE)
    assert ends(run(*there, "drain", "h1"), FORBIDDEN)
    for words in (["job", 7], ["explain", "7/0/0"], ["drain", "nowhere"], ["cancel", 7],
                  ["submit", tmp_path / "none"]):
        assert ends(run(*here, *words), UNKNOWN), words
    assert ends(run(*there[:3], tmp_path / "none.key", "status"), UNKNOWN)
    daemon.ctl("keys", "revoke", "ann")
    assert ends(run(*there, "status"), FORBIDDEN)


def test_a_controller_that_hangs_is_late(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        assert ends(run("-s", tmp_path / "s", "status"), LATE)


def verdict(daemon):
    """(exit code, first line, clauses) of `status`; text and JSON say the same."""
    text, answer = run("-s", daemon.socket, "status"), daemon.ctl("status")
    assert text.returncode == (DONE if answer["healthy"] else UNHEALTHY) and not text.stderr, text
    first = re.sub(r"^verdict\s+", "", text.stdout.splitlines()[0])
    assert first == answer["verdict"]
    clauses = [row["text"] for row in answer["wrong"]]
    assert first == ("unhealthy: " + "; ".join(clauses) if clauses else "healthy")
    assert answer["healthy"] == (not clauses)
    return clauses


def test_hosts_that_are_away_are_unhealthy(cluster):
    daemon = cluster.daemon(scripted=True)
    assert verdict(daemon) == []
    agents = [cluster.agent(daemon, f"h{n}") for n in range(6)]
    for agent in agents:
        agent.join()
    assert verdict(daemon) == []
    daemon.clock.advance(2 * SECOND)
    agents[0].send(agent_heartbeat=pb.AgentHeartbeat())
    wait_until(lambda: daemon.counters()["agents.received"] >= 13, "the heartbeat")
    daemon.clock.advance(2 * SECOND)
    assert verdict(daemon) == \
        ["5 hosts are not heard: h1, h2, h3, h4 and more (duopolyctl hosts)"]
    for agent in agents[:5]:
        agent.send(agent_heartbeat=pb.AgentHeartbeat())
    wait_until(lambda: daemon.ctl("status")["hosts_up"] == 5, "five are back")
    assert verdict(daemon) == ["h5 is not heard (duopolyctl hosts)"]
    daemon.clock.advance(29 * SECOND)
    assert verdict(daemon)[0].startswith("h5 is lost (duopolyctl hosts)")


def test_a_host_without_room_is_unhealthy(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    h1.send(numbered=True, host_room=pb.HostRoom(text="its disk is full"))
    wait_until(lambda: verdict(daemon) == ["h1 starts nothing (duopolyctl hosts)"], "it is told")
    h1.send(numbered=True, host_room=pb.HostRoom())
    wait_until(lambda: verdict(daemon) == [], "it has room")


def test_the_host_that_is_worst_off_is_named(cluster):
    """By its fullest link, before that by one that is slow, before that by its trouble."""
    daemon = cluster.daemon(scripted=True)
    agents = [cluster.agent(daemon, f"h{n}") for n in range(4)]
    for agent in agents:
        agent.join()

    def worst():
        answer = daemon.ctl("status")
        return answer["worst_host"], answer["worst_why"]
    assert worst() == (None, None)
    agents[1].send(load=pb.Load(uplink_permille=100, downlink_permille=820))
    wait_until(lambda: worst() == ("h1", "its downlink is 82.0 % full, and 0 tasks receive there"),
               "the only link that carries something")
    agents[2].send(load=pb.Load(uplink_permille=821))
    wait_until(lambda: worst() == ("h2", "its uplink is 82.1 % full, and 0 tasks receive there"),
               "the fullest link")
    link = pb.Link(port="eth0", rate_bps=10**9, received_ceiling_bps=10**8)
    agents[3].send(links_part=pb.LinksPart(ports=1, links=[link]))
    wait_until(lambda: worst() == ("h3", "eth0 never receives more than 100.0 Mbit/s"),
               "a slow link")
    agents[0].send(numbered=True, host_room=pb.HostRoom(text="its disk is full"))
    wait_until(lambda: worst() == ("h0", "it starts nothing"), "a trouble")


def test_a_start_after_a_kill_is_unhealthy_until_hosts_are_back(cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    h1.close()
    daemon.kill()
    daemon.start()
    assert verdict(daemon)[0] == \
        "nothing starts yet: hosts that were known before the restart are awaited"
    again = cluster.agent(daemon, "h1")
    again.hello_sequence = 2
    again.join()
    wait_until(lambda: verdict(daemon) == [], "it is healthy")


@pytest.mark.parametrize("form", [[], ["-j"]])
def test_a_drain_is_no_fault(cluster, form):
    daemon = cluster.daemon()
    cluster.agent(daemon, "h1").join()
    daemon.ctl("drain", "h1")
    assert run("-s", daemon.socket, *form, "status").returncode == DONE
