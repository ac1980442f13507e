"""The controller's HTTP port: what a scrape has, who may have it, and what it costs others."""
import contextlib
import os
import re
import resource
import socket
import subprocess
import threading
from multiprocessing.pool import ThreadPool

import pytest
import zmq

from controller import BUILD, TOP, pb, wait_until, workload
from exposition import get, parse, promtool
from many_hosts import QUIET, ManyHosts, join, say_all
from nets import needs_root, wait_for
from test_portions import assert_prompt, turns
from units import Machine

RULES = TOP / "packaging" / "duopoly-alerts.yaml"
ON = "metrics: {listen: \"tcp://127.0.0.1:*\"%s}\n"


def port_of(daemon):
    """It says so behind the address for agents, for which its start is waited for."""
    def said():
        return [line for line in daemon.words().splitlines() if "metrics on http://" in line]

    return wait_until(said, "it says where metrics are")[-1].split("http://")[1].split("/")[0]


def scrape(daemon):
    status, headers, text = get(port_of(daemon))
    assert status == 200
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parse(text)


def one_job():
    return {"id": 1, "name": "j", "stages": [{"tasks": 1, "compute_ms": 5, "command": "map"}]}


def metric_of(name):
    """The family's name, and the labels, of a counter as `duopolyctl counters` names it."""
    labels = {}
    part = re.match(r"(refused|marked_bytes|queue_drops)\.(\w+)$", name)
    if part:
        name = part[1]
        label = {"refused": "kind", "marked_bytes": "level", "queue_drops": "queue"}[part[1]]
        labels[label] = part[2]
    name = re.sub("_(ns|us)$", "_seconds", name).replace(".", "_")
    return name, labels


def find(families, name):
    return families.get(name + "_total") or families.get(name)


MOVING = ("clients.", "loop.", "engine.visits", "agents.")


def test_a_scrape_has_every_counter(cluster):
    """Of the controller and of each host, by the same value, with its type and its sentence."""
    daemon = cluster.daemon(config=ON % "")
    h1, h2 = cluster.agent(daemon, "h1"), cluster.agent(daemon, "h2")
    for agent in (h1, h2):
        agent.join()
    h1.send(agent_counters=pb.AgentCounters(marked_bytes=range(8), unmarked_bytes=5, evictions=3,
                                            queue_drops=range(10)))
    cluster.agent(daemon, "h3").send(load=pb.Load())  # refused: it has no session
    wait_until(lambda: daemon.counters("h1").get("evictions") == 3, "the counters arrive")
    wait_until(lambda: daemon.counters().get("refused.load") == 1, "the refusal")
    families, rows = scrape(daemon), daemon.ctl("counters")["counters"]
    assert len({row["name"] for row in rows}) > 100
    for row in rows:
        if row["source"].startswith(("uid ", "key of ")):
            continue  # who asks is not in metrics: there may be any number of them
        name, labels = metric_of(row["name"])
        if row["source"] != "controller":
            name, labels = "host_" + name, {**labels, "host": row["source"]}
        if name == "refused":
            labels["from"] = "agents"
        family = find(families, "duopoly_" + name)
        assert family, row
        value = family.value(**labels)
        assert value == row["value"] or row["name"].startswith(MOVING) or "_seconds" in name, row
    assert families["duopoly_host_marked_bytes_total"].value(host="h1", level="7") == 7
    assert families["duopoly_host_queue_drops_total"].value(host="h1", queue="9") == 9
    assert families["duopoly_agents"].value(state="up") == 2
    assert families["duopoly_hosts_up"].value() == families["duopoly_hosts"].value() == 2
    assert families["duopoly_host_slots_free"].value(host="h2") == 4
    assert families["duopoly_ready"].value() == 1
    wrong = promtool("check", "metrics", text=get(port_of(daemon))[2])
    assert not wrong, wrong


def count(families, name):
    return families[name].samples[name + "_count", ()]


def test_times_are_counted(cluster):
    daemon = cluster.daemon(config=ON % "" + "policy: {mode: {rule: starved}}\n")
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job()], 1))
    start = h1.expect("start").start
    assert count(scrape(daemon), "duopoly_start_seconds") == 0
    h1.acknowledged(h1.state(start.attempt, "STARTED"))
    daemon.ctl("policy", "mode", "rich")
    h1.send(agent_heartbeat=pb.AgentHeartbeat())

    def counted():
        h1.send(agent_heartbeat=pb.AgentHeartbeat())
        families = scrape(daemon)
        names = ("decision", "start", "mode_change", "commit")
        counts = [count(families, f"duopoly_{name}_seconds") for name in names]
        return min(counts) > 0 and families
    # An agent acknowledges what it received with whatever it sends next.
    h1.expect("mode")
    families = wait_until(counted, "all four are counted")
    assert count(families, "duopoly_start_seconds") == 1
    steps = families["duopoly_engine_steps_total"].value()
    assert count(families, "duopoly_decision_seconds") == steps
    commits = families["duopoly_store_commits_total"].value()
    assert count(families, "duopoly_commit_seconds") == commits


def test_hosts_beyond_the_bound_are_summed(cluster):
    daemon = cluster.daemon(config=ON % ", hosts: 2")
    for n in (1, 2, 3, 10):
        agent = cluster.agent(daemon, f"h{n}")
        agent.join()
        agent.send(agent_counters=pb.AgentCounters(marked_bytes=[n] * 8, evictions=n))
        wait_until(lambda n=n: daemon.counters(f"h{n}").get("evictions") == n, "the counters")
    families = scrape(daemon)
    evictions = families["duopoly_host_evictions_total"].samples
    assert {dict(labels)["host"]: n for (_, labels), n in evictions.items()} == \
        {"h1": 1, "h2": 2, "*": 13}
    assert families["duopoly_host_marked_bytes_total"].value(host="*", level="3") == 13
    assert families["duopoly_host_slots"].value(host="*") == 8
    assert families["duopoly_host_up"].value(host="*") == 2
    assert len(families["duopoly_host_uplink_ratio"].samples) == 2, "shares have no sum"


MANY = 1500  # hosts, each with series of its own


@pytest.fixture(name="many")
def _many(cluster):
    daemon = cluster.daemon(config=ON % ", hosts: 2000" + QUIET)
    with ManyHosts(daemon, MANY):
        yield daemon


def next_text(port, last):
    """Another one than the last, which is given again for a while."""
    return wait_until(lambda: (text := get(port)[2]) != last and text, "another text")


def test_a_scrape_of_many_hosts_holds_nobody(many):
    """The loop is never held for long, however many ask."""
    port, before, last = port_of(many), turns(many), ""
    for _ in range(5):
        with ThreadPool(8) as pool:
            last = pool.map(lambda _, had=last: next_text(port, had), range(8))[0]
    assert_prompt(many, before, 5)
    families = parse(last)
    assert families["duopoly_agents"].value(state="up") == MANY
    names = {dict(labels)["host"] for _, labels in families["duopoly_host_up"].samples}
    assert names == {f"host-{n}" for n in range(MANY)}


def come(daemon, hosts):
    """So many hosts join one after another, each before all that are there by its name."""
    context, connections = zmq.Context(), []
    context.set(zmq.MAX_SOCKETS, hosts + 10)
    for left in range(hosts, 0, -1):
        one = join(daemon.address, f"early-{left}", MANY + left, context)
        connections.append(one)
        say_all(one)
        while not pb.Envelope.FromString(one.recv()).acknowledged:
            pass
    for one in connections:
        one.close()
    context.term()


def test_hosts_that_come_meanwhile_move_none(many):
    """Whatever is at which place while a text is made: all that stay are in it once."""
    port, texts = port_of(many), {}
    thread = threading.Thread(target=come, args=(many, 400))
    thread.start()
    while thread.is_alive() or len(texts) < 3:
        texts[get(port)[2]] = True
    thread.join()
    for text in texts:
        names = re.findall(r'^duopoly_host_up\{host="([^"]*)"\} ', text, re.MULTILINE)
        assert len(set(names)) == len(names)
        assert {f"host-{n}" for n in range(MANY)} <= set(names)


def ask(port):
    """The connection of somebody who asks for metrics."""
    host, number = port.split(":")
    connection = socket.create_connection((host, int(number)), timeout=5)
    connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    return connection


def test_it_ends_while_a_text_is_made(many):
    port, fds = port_of(many), f"/proc/{many.process.pid}/fd"
    had = len(os.listdir(fds))
    connection = ask(port)
    wait_until(lambda: len(os.listdir(fds)) > had, "it is taken", 0.0005)
    assert many.stop() == 0
    connection.close()


def test_who_goes_while_a_text_is_made_is_gone(many):
    port, fds = port_of(many), f"/proc/{many.process.pid}/fd"
    had, last = len(os.listdir(fds)), get(port)[2]
    for _ in range(3):
        next_text(port, last)
        for connection in [ask(port) for _ in range(32)]:
            connection.close()
        last = next_text(port, last)
    wait_until(lambda: len(os.listdir(fds)) <= had, "their connections are closed")


def test_a_token_is_asked_for(cluster, tmp_path):
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    token.chmod(0o640)
    daemon = cluster.daemon(config=ON % f", token: {token}")
    port = port_of(daemon)
    wrong = [{}, {"authorization": "Bearer 0123456789abcdeF"}, {"authorization": "Bearer "},
             {"authorization": "Bearer 0123456789abcdef0"}, {"authorization": "0123456789abcdef"},
             {"authorization": "Basic 0123456789abcdef"}]
    for headers in wrong:
        status, answer, text = get(port, **headers)
        assert (status, answer["WWW-Authenticate"]) == (401, "Bearer") and "show the token" in text
    assert get(port, authorization="Bearer 0123456789abcdef")[0] == 200
    assert get(port, "/healthz")[0] == get(port, "/readyz")[0] == 200
    assert "0123456789abcdef" not in daemon.words()


@pytest.mark.parametrize("text, mode, sentence", [
    ("0123456789abcdef", 0o644, "everybody may read the token's file"),
    ("short\n", 0o600, "a token is one line of 16 to 128 visible ASCII characters"),
    ("0123456789abcdef\nmore\n", 0o600, "a token is one line"),
    ("0123456789 abcdef\n", 0o600, "a token is one line"),
    (None, 0, "No such file"),
])
def test_a_wrong_token_file_is_told(tmp_path, text, mode, sentence):
    token, config = tmp_path / "token", tmp_path / "c.yaml"
    if text:
        token.write_text(text)
        token.chmod(mode)
    config.write_text(f"state: {tmp_path}/s\nsocket: {tmp_path}/sock\nlisten: tcp://127.0.0.1:*\n"
                      "metrics: {listen: \"tcp://127.0.0.1:*\", token: %s}\n" % token)
    for more in ([], ["--check"]):
        done = subprocess.run([BUILD / "duopolyd", "--config", config, *more], text=True,
                              capture_output=True, timeout=20, check=False)
        assert done.returncode == 1 and sentence in done.stderr, done
        assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "s").exists()


@pytest.mark.parametrize("listen, sentence", [
    ("tcp://*:7601", "can be reached by others: name the file of a token"),
    ("tcp://0.0.0.0:7601", "can be reached by others|to listen on"),
    ("tcp://lo:7601", "names no address of this host"),
    ("127.0.0.1:7601", "is no address such as"),
    ("tcp://127.0.0.1:0", "is no port"),
])
def test_where_it_may_listen(tmp_path, listen, sentence):
    config = tmp_path / "c.yaml"
    config.write_text("metrics: {listen: \"%s\"}\n" % listen)
    done = subprocess.run([BUILD / "duopolyd", "--check", "--config", config], text=True,
                          capture_output=True, timeout=20, check=False)
    assert done.returncode == 1 and re.search(sentence, done.stderr), done
    assert len(done.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_told(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "c.yaml").write_text(
            f"state: {tmp_path}/s\nsocket: {tmp_path}/sock\nlisten: tcp://127.0.0.1:*\n"
            "metrics: {listen: \"tcp://127.0.0.1:%d\"}\n" % port)
        done = subprocess.run([BUILD / "duopolyd", "--config", tmp_path / "c.yaml"], text=True,
                              capture_output=True, timeout=20, check=False)
    assert done.returncode == 1
    assert f"metrics: listen: tcp://127.0.0.1:{port}: Address already in use" in done.stderr


def test_it_is_off_unless_asked_for(cluster):
    daemon = cluster.daemon()
    assert "metrics on" not in daemon.words()
    assert len(listening(daemon)) == 1, "for agents"


def listening(daemon):
    """Its TCP sockets that listen."""
    folder, inodes = f"/proc/{daemon.process.pid}/fd", set()
    for fd in os.listdir(folder):
        found = re.match(r"socket:\[(\d+)\]", os.readlink(f"{folder}/{fd}"))
        if found:
            inodes.add(found[1])
    rows = [line.split() for path in ("tcp", "tcp6") if os.path.exists(f"/proc/net/{path}")
            for line in open(f"/proc/net/{path}", encoding="ascii")]
    return [row for row in rows if row[3] == "0A" and row[9] in inodes]


def test_ready_when_hosts_of_before_are_back(cluster):
    daemon = cluster.daemon(config=ON % "")
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job()], 1))
    start = h1.expect("start").start
    h1.acknowledged(h1.state(start.attempt, "STARTED"))
    assert get(port_of(daemon), "/readyz")[::2] == (200, "ready\n")
    h1.close()
    daemon.kill()
    daemon.start()
    status, _, text = get(port_of(daemon), "/readyz")
    assert status == 503 and "hosts that were known before the restart" in text
    assert scrape(daemon)["duopoly_ready"].value() == 0
    assert get(port_of(daemon), "/healthz")[::2] == (200, "ok\n")
    again = cluster.agent(daemon, "h1")
    again.hello_sequence = 2
    again.join([pb.AttemptState(attempt=start.attempt, job=1, phase=pb.PHASE_COMPUTING)])
    wait_until(lambda: get(port_of(daemon), "/readyz")[0] == 200, "it is ready")
    assert scrape(daemon)["duopoly_ready"].value() == 1


def test_not_ready_while_the_store_cannot_be_written(cluster):
    daemon = cluster.daemon(log=None, config="log: {folder: none}\n" + ON % "")
    assert get(port_of(daemon), "/readyz")[::2] == (200, "ready\n")
    unlimited = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (4096, unlimited[1]))
    assert "a restart may undo it" in daemon.ctl("user", "set", "ann", "share=2", expect=1)
    assert get(port_of(daemon), "/readyz")[::2] == (503, "the store cannot be written\n")
    assert scrape(daemon)["duopoly_ready"].value() == 0
    assert get(port_of(daemon), "/healthz")[::2] == (200, "ok\n")
    status = daemon.ctl("status")
    assert not status["healthy"] and "could not be kept" in status["wrong"][0]["text"]
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, unlimited)
    wait_until(lambda: get(port_of(daemon), "/readyz")[0] == 200, "it is written again")
    assert scrape(daemon)["duopoly_ready"].value() == 1


def answer_to(port, data):
    """What comes back for these bytes, until the other end closes or is silent."""
    host, number = port.split(":")
    with socket.create_connection((host, int(number)), timeout=5) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        got = b""
        while more := connection.recv(65536):
            got += more
    return got.split(b"\r\n", 1)[0].decode()


def test_only_get_is_answered(cluster):
    daemon = cluster.daemon(config=ON % "")
    port = port_of(daemon)
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "FROB"):
        status, headers, _ = get(port, method=method)
        assert (status, headers["Allow"]) == (405, "GET"), method
    for path in ("/", "/metrics/", "/../metrics", "/state/store.db"):
        assert get(port, path)[0] == 404, path
    assert get(port, "/metrics?x=1")[0] == 200
    body = b"GET /metrics HTTP/1.1\r\nHost: x\r\n%s\r\n\r\nabc"
    for header in (b"Content-Length: 3", b"Transfer-Encoding: chunked"):
        assert answer_to(port, body % header).split()[1] in ("413", "400"), header
    assert scrape(daemon)["duopoly_ready"].value() == 1


@pytest.mark.parametrize("data", [
    b"\0" * 100, b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET /metrics\r\n\r\n",
    b"GET /metrics HTTP/9.9\r\n\r\n", b"GET /metrics HTTP/1.1\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
])
def test_http_that_is_none(cluster, data):
    """Is refused or not answered; the controller goes on."""
    daemon = cluster.daemon(config=ON % "")
    try:
        said = answer_to(port_of(daemon), data)
    except OSError:  # it is closed, perhaps before all is sent
        said = ""
    assert said == "" or re.match(r"HTTP/1\.\d [45]\d\d ", said), said
    assert scrape(daemon)["duopoly_ready"].value() == 1
    assert daemon.ctl("status")["epoch"] == 1


def test_more_connections_wait(cluster):
    """64 that ask nothing keep the 65th waiting, and nobody on the other sockets."""
    daemon = cluster.daemon(config=ON % "")
    host, number = port_of(daemon).split(":")
    silent = [socket.create_connection((host, int(number)), timeout=5) for _ in range(64)]
    try:
        fds = f"/proc/{daemon.process.pid}/fd"
        wait_until(lambda: len(os.listdir(fds)) >= 64 + 10, "they are taken")
        late = socket.create_connection((host, int(number)), timeout=0.5)
        late.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        with pytest.raises(TimeoutError):
            late.recv(1)
        assert daemon.ctl("status")["epoch"] == 1
        silent.pop().close()
        late.settimeout(20)
        assert late.recv(100).startswith(b"HTTP/1.1 200")
        late.close()
    finally:
        for connection in silent:
            connection.close()


def test_who_sends_a_byte_now_and_then_keeps_no_place(cluster):
    """64 whose requests never end are not silent, and leave their places to others all the same."""
    daemon = cluster.daemon(config=ON % "")
    host, number = port_of(daemon).split(":")
    slow = [socket.create_connection((host, int(number)), timeout=5) for _ in range(64)]
    for connection in slow:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ")
    over = threading.Event()

    def send_on():
        while not over.wait(1):
            for connection in slow:
                with contextlib.suppress(OSError):
                    connection.send(b"y")

    sender = threading.Thread(target=send_on)
    sender.start()
    try:
        late = socket.create_connection((host, int(number)), timeout=40)
        late.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert late.recv(100).startswith(b"HTTP/1.1 200")
        late.close()
    finally:
        over.set()
        sender.join()
        for connection in slow:
            connection.close()


def test_alerts_are_about_what_there_is(cluster):
    """Each metric that a rule names is in a scrape, with the labels that it names."""
    families = scrape(cluster.daemon(config=ON % ""))
    with open(RULES, encoding="ascii") as file:
        rules = file.read()
    expressions = re.findall(r"expr: (.*)", rules)
    names = set(re.findall(r"\bduopoly_\w+", " ".join(expressions)))
    assert len(expressions) == rules.count("- alert: ") > 8 and len(names) > 8
    of_hosts = {name for name in names if name.startswith("duopoly_host_")}
    for name in names - of_hosts:
        assert re.sub("_(bucket|sum|count)$", "", name) in families or name in families, name
    assert of_hosts == {"duopoly_host_lease_expiries_total"}
    assert rules.count(" do: ") == rules.count("summary: ") == len(expressions)
    wrong = promtool("check", "rules", str(RULES))
    assert not wrong, wrong


ASK = """
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", 7601, timeout=20)
c.request("GET", sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]})
answer = c.getresponse()
sys.stdout.write(answer.read().decode())
sys.exit(answer.status != 200)
"""
TOKEN = "0123456789abcdef0123456789abcdef"
FILE = "/etc/duopoly/metrics.token"


@needs_root
def test_a_scrape_as_it_is_packaged(tmp_path):
    """Under the unit's own user and settings, with a token that root made for its group."""
    def configured(text):
        return text.replace("  listen: none\n", "  listen: tcp://127.0.0.1:7601\n").replace(
            "  token: none\n", f"  token: {FILE}\n")
    made = Machine(str(tmp_path), units=("duopolyd",), name="metrics", controller=configured,
                   prepare=f"install -m 640 -g duopoly /dev/stdin {FILE} <<END\n{TOKEN}\nEND\n")
    try:
        made.start()
        for user in ("carol", "root"):  # loopback is everybody's, so the token tells them apart
            done = made.call("/usr/bin/python3", "-c", ASK, "/metrics", TOKEN, user=user)
            assert done.returncode == 0, done
            families = parse(done.stdout)
            assert families["duopoly_ready"].value() == 1
        assert made.call("/usr/bin/python3", "-c", ASK, "/metrics", "x" * 32).returncode == 1
        assert made.call("/usr/bin/python3", "-c", ASK, "/readyz", "").stdout == "ready\n"
        assert made.call("cat", FILE, user="carol").returncode != 0
        status = made.status("duopolyd")
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        pid = made.shows("duopolyd", "MainPID")
        made.run("systemctl", "restart", "duopolyd")
        wait_for("it is back", lambda: made.shows("duopolyd", "MainPID") not in (pid, "0") and
                 made.call("/usr/bin/python3", "-c", ASK, "/readyz", "").returncode == 0, 20)
        alerts = made.run("cat", "/opt/duopoly/share/duopoly/duopoly-alerts.yaml")
        assert alerts == RULES.read_text(encoding="ascii").strip()
    finally:
        made.stop()
