"""`duopolyctl top` on a terminal, against a real controller: keys, pause, filter, sizes, signals;
however it ends, the terminal is as it was."""
import contextlib
import json
import signal
import subprocess
import termios
import time

import pytest

from controller import BUILD, Played, pb, workload
from terminal import Terminal

NASTY = "\x1b[2J\x1b]0;owned\x07\r\u202eä"
PATIENT = ("timers: {heartbeat: 60 s, silent: 300 s, host_lost: 600 s, lease: 600 s, "
           "start_timeout: 300 s}\n")


def command(at, *words):
    return [BUILD / "duopolyctl", "-s", at, "top", *map(str, words)]


@pytest.fixture(name="top")
def _top():
    """Begins it on a terminal."""
    made = []

    def begin(at, *words, **more):
        made.append(Terminal(command(at, *words), **more))
        return made[-1]
    yield begin
    for one in made:
        one.close()


def site(cluster, hosts=("w1", "w2", "w10"), jobs=3):
    """Hosts of two slots, with a link each, and jobs of four tasks that one after the other could
    fill."""
    daemon = cluster.daemon(config=PATIENT)
    agents = [cluster.agent(daemon, host, host=n, slots=2) for n, host in enumerate(hosts, 1)]
    for agent in agents:
        agent.join()
        link = pb.Link(place=0, port="eth0", rate_bps=10**9, sent_bps=5 * 10**8)
        agent.send(links_part=pb.LinksPart(ports=1, links=[link]))
    daemon.agents = agents
    stages = [{"tasks": 4, "compute_ms": 5000}]
    daemon.ctl("submit", workload(daemon.folder, [{"id": n, "name": f"sort{n}", "stages": stages}
                                                  for n in range(1, jobs + 1)]))
    return daemon


def rows(lines):
    """The first word of each row."""
    return [line.split()[0] for line in lines[4:-1] if line.strip()]


# ---- what it shows ----


def test_lists_and_keys(cluster, top):
    daemon = site(cluster)
    terminal = top(daemon.socket)
    lines = terminal.wait_for("sort3")
    assert lines[0] == " hosts   links  [jobs]  page 1"
    assert lines[1].startswith("healthy; slot-") and "hosts 3 of 3 up" in lines[2]
    assert rows(lines) == ["1", "2", "3"], "in their turn"
    assert "4 running tasks" in terminal.line_of("sort1")
    assert "slots that fit, behind 1 job" in terminal.line_of("sort2")
    assert "slots that fit, behind 2 jobs" in terminal.line_of("sort3")
    terminal.type("h")
    assert rows(terminal.wait_for("w10")) == ["w1", "w2", "w10"], "by name"
    terminal.type("l")
    terminal.wait_for("SENT USE")
    assert "50.0 %" in terminal.line_of("w10") and "eth0" in terminal.line_of("w2")
    terminal.type("\t")
    terminal.wait_for("WAITS FOR")
    daemon.ctl("job", "hold", 2)
    terminal.wait_for("release: held by")
    terminal.type("?")
    terminal.wait_for("h l j    hosts, links, jobs")
    terminal.type("q")
    assert terminal.wait_end() == 0 and terminal.is_given_back()


def test_it_begins_where_it_is_told(cluster, top):
    daemon = site(cluster)
    terminal = top(daemon.socket, "hosts", "--filter", "name=w1|w2")
    terminal.wait_for(lambda: rows(terminal.screen.text()) == ["w1", "w2"])
    assert "[hosts]" in terminal.text() and "filter name=w1|w2" in terminal.text()


def test_pages(cluster, top):
    names = [f"n{n:02}" for n in range(30)]
    daemon = site(cluster, names, jobs=1)
    terminal = top(daemon.socket, "hosts", lines=15)
    assert rows(terminal.wait_for("n09")) == names[:10] and "page 1, more follow" in terminal.text()
    terminal.type(" ")
    assert rows(terminal.wait_for("n19")) == names[10:20]
    terminal.type("\x1b[6~")  # PgDn
    assert rows(terminal.wait_for("n29")) == names[20:] and "more follow" not in terminal.text()
    terminal.type(" ")
    terminal.wait_for("this is the last page")
    terminal.type("\x1b[5~")
    assert rows(terminal.wait_for("n19")) == names[10:20]
    terminal.type("g")
    assert rows(terminal.wait_for("n09")) == names[:10]


def test_pages_of_jobs_in_their_turn(cluster, top):
    daemon = site(cluster, jobs=40)
    terminal = top(daemon.socket, lines=25)
    assert rows(terminal.wait_for("sort20")) == [str(n) for n in range(1, 21)]
    terminal.type(" ")
    assert rows(terminal.wait_for("sort40")) == [str(n) for n in range(21, 41)]


def test_pause(cluster, top):
    daemon = site(cluster, jobs=2)
    terminal = top(daemon.socket)
    terminal.wait_for("sort2")
    terminal.type("p")
    terminal.wait_for("PAUSED")
    daemon.ctl("cancel", 2)
    terminal.wait_for("jobs 1  tasks")
    assert "sort2" in terminal.text(), "rows stay, the status does not"
    terminal.type("p")
    terminal.wait_for(lambda: "sort2" not in terminal.text() and "PAUSED" not in terminal.text())


def test_filter(cluster, top):
    daemon = site(cluster)
    terminal = top(daemon.socket, "hosts")
    terminal.wait_for("w10")
    terminal.type("/nmae=w1\r")
    terminal.wait_for("there is no column 'nmae'; did you mean 'name'?")
    terminal.type("\x15name~w1\r")
    terminal.wait_for("filter name~w1")
    terminal.wait_for(lambda: rows(terminal.screen.text()) == ["w1", "w10"])
    terminal.type("/\x15name=none\r")
    terminal.wait_for("none that the filter keeps")
    terminal.type("/q\x1b")
    terminal.wait_for(lambda: "filter: " not in terminal.text())
    terminal.type("/\x15\r")
    terminal.wait_for(lambda: rows(terminal.screen.text()) == ["w1", "w2", "w10"])


# ---- terminals ----


def test_sizes(cluster, top):
    daemon = site(cluster, [f"n{n:02}" for n in range(30)], jobs=1)
    terminal = top(daemon.socket, "hosts", lines=12, columns=60)
    lines = terminal.wait_for("n06")
    assert lines[3] == "HOST STATE FREE SLOTS RUNNING RECEIVING UPLINK DOWNLINK NOTE"
    assert len(rows(lines)) == 7 and lines[-1].startswith("q end")
    terminal.resize(24, 100)
    assert len(rows(terminal.wait_for("n18"))) == 19
    assert " RACK " in terminal.text() and " DISK " in terminal.text()
    for size in ((2, 20), (1, 1), (5, 30), (60, 140)):
        terminal.resize(*size)
        terminal.watch(0.3)
    assert len(rows(terminal.wait_for("n29"))) == 30
    terminal.type("q")
    assert terminal.wait_end() == 0 and terminal.is_given_back()


@pytest.mark.parametrize("locale, seen", [("C.UTF-8", "?[2J?]0;owned???ä"),
                                          ("C", "?[2J?]0;owned????")])
def test_names_drive_nothing(played, top, locale, seen):
    terminal = top(played(name=NASTY).path, "hosts", LC_ALL=locale)
    assert terminal.line_of("h1 ").startswith("h1 ")
    assert terminal.line_of("owned").startswith(seen + " up ")
    assert terminal.screen.text()[0].startswith("[hosts]"), "and it is drawn by nobody else"


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_colour(cluster, top, no_colour):
    daemon = site(cluster, jobs=2)
    daemon.ctl("job", "hold", 2)
    terminal = top(daemon.socket, NO_COLOR=no_colour)
    terminal.wait_for("release: held by")
    assert bool(terminal.screen.colours) != bool(no_colour)


# ---- how it ends, and stops ----


@pytest.mark.parametrize("end", ["q", "\x03", signal.SIGTERM, signal.SIGHUP, signal.SIGINT,
                                 signal.SIGQUIT])
def test_the_terminal_is_given_back(cluster, top, end):
    daemon = site(cluster, jobs=1)
    terminal = top(daemon.socket)
    terminal.wait_for("sort1")
    assert not terminal.is_given_back(), "it was taken"
    if isinstance(end, str):
        terminal.type(end)
    else:
        terminal.process.send_signal(end)
    assert terminal.wait_end() == 0 and terminal.is_given_back()


def begun_in_a_shell(top_command):
    terminal = Terminal(["sh", "-i"], PS1="here> ")
    terminal.wait_for("here>")
    terminal.before = termios.tcgetattr(terminal.slave)
    terminal.type(" ".join(map(str, top_command)) + "\n")
    terminal.wait_for("sort1")
    return terminal


def test_stop_and_go_on(cluster):
    daemon = site(cluster, jobs=1)
    terminal = begun_in_a_shell(command(daemon.socket))
    try:
        for _ in range(2):
            terminal.screen.resize(24, 100)
            terminal.type("\x1a")
            terminal.wait_for("here>")
            assert terminal.is_given_back()
            terminal.type("fg\n")
            terminal.wait_for("WAITS FOR")
            terminal.wait_for("sort1")
            assert not terminal.is_given_back(), "it has it again"
        daemon.ctl("job", "hold", 1)
        terminal.wait_for("release: held by")
        terminal.type("q")
        terminal.wait_for("here>")
        assert terminal.is_given_back()
    finally:
        terminal.type("exit\n")
        terminal.close()


def test_ended_while_it_is_stopped(cluster):
    daemon = site(cluster, jobs=1)
    terminal = begun_in_a_shell(command(daemon.socket))
    try:
        terminal.screen.resize(24, 100)
        terminal.type("\x1a")
        terminal.wait_for("here>")
        terminal.type("kill %1; bg; wait %1; echo ended $?\n")
        terminal.wait_for("ended 0")
        assert terminal.is_given_back()
    finally:
        terminal.type("exit\n")
        terminal.close()


# ---- the controller goes away ----


def test_a_controller_that_is_gone_and_comes_back(cluster, top):
    daemon = site(cluster, jobs=2)
    terminal = top(daemon.socket)
    terminal.wait_for("sort2")
    daemon.kill()
    terminal.wait_for("no answer for 2 s: no controller listens on")
    assert "sort2" in terminal.text(), "what was known last stays"
    daemon.start()
    terminal.wait_for(lambda: "no answer" not in terminal.text() and "sort2" in terminal.text())
    daemon.ctl("job", "hold", 2)
    terminal.wait_for("release: held by")
    terminal.type("q")
    assert terminal.wait_end() == 0 and terminal.is_given_back()


def test_a_controller_that_hangs(cluster, top):
    daemon = site(cluster, jobs=2)
    terminal = top(daemon.socket)
    terminal.wait_for("sort2")
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        terminal.wait_for("the controller takes questions and does not answer")
        terminal.type("?")
        terminal.wait_for("Tab: the next of them", 1)
        terminal.type("?x")
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    terminal.wait_for(lambda: "no answer" not in terminal.text() and "sort2" in terminal.text())
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        terminal.wait_for("no answer for")
        began = time.monotonic()
        terminal.type("\x03")
        assert terminal.wait_end() == 0 and time.monotonic() - began < 2
        assert terminal.is_given_back()
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def test_over_tcp(cluster):
    daemon = cluster.daemon(keys=True, config=PATIENT)
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "name": "sort1", "stages": [
        {"tasks": 4, "compute_ms": 5000}]}]))
    key = daemon.key("ann", role="read-only")
    terminal = Terminal([BUILD / "duopolyctl", "--controller", daemon.address, "--key", key, "top"])
    try:
        terminal.wait_for("sort1")
        terminal.type("h")
        terminal.wait_for("[hosts]")
        daemon.kill()
        terminal.wait_for("no answer for")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.wait_end() == 0 and terminal.is_given_back()
    finally:
        terminal.close()


# ---- what it refuses ----


def test_without_a_terminal(cluster):
    daemon = cluster.daemon()
    done = subprocess.run(command(daemon.socket, "links"), capture_output=True, text=True,
                          timeout=20, check=False)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == ("duopolyctl: top is for a terminal, and standard output is none: "
                           "`duopolyctl links` lists the same once\n")
    done = subprocess.run(command(daemon.socket) + ["-j"], capture_output=True, text=True,
                          timeout=20, check=False)
    assert json.loads(done.stdout)["error"]["code"] == done.returncode == 2 and not done.stderr


@pytest.mark.parametrize("words, more, status, sentence", [
    (["-j"], {}, 2, "'top' draws on a terminal and has no other form"),
    (["--form", "wide"], {}, 2, "'top' draws on a terminal and has no other form"),
    ([], {"TERM": "nonsense"}, 1, "the terminal 'nonsense' is not known here"),
    (["-s", "/nowhere"], {}, 3, "no controller listens on /nowhere"),
    (["tasks"], {}, 2, "top shows no 'tasks'"),
])
def test_what_is_refused(cluster, top, words, more, status, sentence):
    terminal = top(cluster.daemon().socket, *words, columns=200, **more)
    assert terminal.wait_end() == status and sentence in terminal.text().replace("\n", "")
    assert terminal.is_given_back()


# ---- what it costs ----


class Endless(Played):
    """A controller that the test plays: hosts without end."""

    def __init__(self, path, limits=True, name=None):
        super().__init__(path, self.told)
        self.limits, self.name = limits, name

    def told(self, request):
        if request.HasField("get_status"):
            return pb.Envelope(version=1, status=pb.Status(filters=True, limits=self.limits))
        asked = request.list
        n = min(asked.limit or 20, 20)
        hosts = [pb.HostRow(name=f"h{asked.cursor + i}", state="up") for i in range(n)]
        if self.name:
            hosts[0].name = self.name
        return pb.Envelope(version=1, page=pb.Page(hosts=hosts, cursor=asked.cursor + n))

    def lists(self):
        """What was asked of it but for its state."""
        return [request.list for request in self.asked if request.HasField("list")]


@pytest.fixture(name="played")
def _played(tmp_path):
    with contextlib.ExitStack() as made:
        yield lambda **more: made.enter_context(Endless(tmp_path / "s", **more))


def test_it_asks_for_what_is_seen_alone(played, top):
    controller = played()
    terminal = top(controller.path, "hosts", lines=55)
    terminal.wait_for("h49")
    asked = [(one.cursor, one.limit) for one in controller.lists()]
    assert asked[:3] == [(0, 50), (20, 30), (40, 10)], "50 rows, and no more"
    before = len(controller.lists())
    terminal.watch(3.5)
    assert (len(controller.lists()) - before) / 3 in (3, 4), "once a second"
    terminal.type(" ")
    terminal.wait_for("h99")
    assert {one.limit for one in controller.lists()} == {50, 30, 10}


def test_an_older_controller_is_not_asked(played, top):
    controller = played(limits=False)
    terminal = top(controller.path, columns=200)
    assert terminal.wait_end() == 1 and not controller.lists()
    assert "is older and cannot list a part of its rows alone" in terminal.text().replace("\n", "")


def test_keys_without_end_are_drawn_ten_times_a_second(played, top):
    terminal = top(played().path, "hosts")
    terminal.wait_for("h18")
    terminal.type("/")
    terminal.draws, began = 0, time.monotonic()
    for n in range(150):
        terminal.type(str(n % 10))
        terminal.watch(0.02)
    took = time.monotonic() - began
    assert took < terminal.draws <= 12 * took, terminal.draws


def test_keys_without_end_ask_ten_times_a_second(played, top):
    controller = played()
    terminal = top(controller.path, "hosts")
    terminal.wait_for("h18")
    before, began = len(controller.lists()), time.monotonic()
    for _ in range(100):
        terminal.type(" b")
        terminal.watch(0.02)
    took = time.monotonic() - began
    assert 2 * took < len(controller.lists()) - before <= 10 * took + 1
    terminal.type("g")
    terminal.wait_for("h18")
