"""What the daemons log can be chosen: by log_level in the configuration, and while they run by
SIGUSR1 and SIGUSR2. Debug lines say what they decide about sessions, leases, stances, switches and
what is stored."""

import re
import signal

import pytest

from controller import wait_until
from nets import Net, needs_root, wait_for
from scripted import DONE, FIRST, Site

ALL, AGAIN = "SIGUSR1 of process ", "SIGUSR2 of process "


def debug_lines(words):
    return [line.split("debug: ", 1)[1] for line in words.splitlines() if "debug: " in line]


def since(words, signal_line):
    return words[words.rindex(signal_line):]


def has(words, *patterns):
    lines = debug_lines(words)
    return all(any(re.search(pattern, line) for line in lines) for pattern in patterns)


def test_the_controller_says_its_decisions_while_it_is_asked_to(cluster):
    daemon = cluster.daemon()
    cluster.agent(daemon, "h1").join()
    assert not debug_lines(daemon.words())
    daemon.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: ALL in daemon.words(), "the signal's line")
    cluster.agent(daemon, "h2").join()
    daemon.ctl("drain", "h1")
    wait_until(lambda: has(daemon.words(), r"^agent h2: session begins, version 1",
                           r"^agent h2: lease of \d+ ms, mode 0, stance enforce",
                           r"^agent h[12]: lease of \d+ ms$", r"^store: drain 'h1' is set",
                           r"^store: everything up to ticket \d+ is on the disk"),
               "debug lines")
    daemon.process.send_signal(signal.SIGUSR2)
    wait_until(lambda: AGAIN in daemon.words(), "the other signal's line")
    cluster.agent(daemon, "h3").join()
    assert not debug_lines(since(daemon.words(), AGAIN)) and daemon.stop() == 0


def test_a_command_chooses_the_level(cluster):
    daemon = cluster.daemon()
    assert daemon.ctl("log", "level")["level"] == "note"
    daemon.ctl("log", "level", "debug", "--dry-run")
    assert daemon.ctl("log", "level")["level"] == "note"
    assert "until the controller restarts" in daemon.ctl("log", "level", "debug")["text"]
    assert daemon.ctl("log", "level")["level"] == "debug"
    cluster.agent(daemon, "h1").join()
    wait_until(lambda: has(daemon.words(), "^agent h1: session begins"), "debug lines")
    daemon.ctl("log", "level", "warning")
    said = daemon.words()
    cluster.agent(daemon, "h2").join()
    daemon.ctl("drain", "h2")
    assert daemon.words() == said, "nothing, not even changes"
    assert "there are: error, warning, note, debug" in daemon.ctl("log", "level", "loud", expect=1)
    daemon.ctl("log", "volume", expect=2)
    rows = daemon.ctl("audit", "--what", "log level")["audit"]
    assert [row["what"] for row in rows][-1] == "log level loud"


@pytest.mark.parametrize("level, debug, notes", [("debug", True, True), ("note", False, True)])
def test_the_configuration_says_what_a_controller_logs(cluster, level, debug, notes):
    daemon = cluster.daemon(config="log_level: %s\n" % level)
    cluster.agent(daemon, "h1").join()
    daemon.ctl("stance", "observe", "--host", "h1", expect=6)  # it does not say that it took it
    assert has(daemon.words(), r"^agent h1: is told the stance observe") == debug
    assert ("files may be open" in daemon.words()) == notes


def test_a_level_that_is_none_is_refused(cluster):
    with pytest.raises(AssertionError, match="log_level.*(error|warning|note|debug)"):
        cluster.daemon(config="log_level: loud\n")


@needs_root
def test_an_agent_says_its_decisions_while_it_is_asked_to():
    net, site = Net(2), None
    try:
        site = Site(net)
        controller, agent = site.begin()

        def words():
            with open(agent.log, encoding="utf-8") as log:
                return log.read()
        assert not debug_lines(words())
        agent.process.send_signal(signal.SIGUSR1)
        wait_for("the signal's line", lambda: ALL in words())
        controller.do(f"start {FIRST + 1} 1 0 0 true 1 2 5")
        controller.wait_phase(FIRST + 1, DONE)
        controller.do("mode 1 7")
        wait_for("debug lines", lambda: has(
            words(), r"^lease: the controller's lasts \d+ ms",
            r"^lease: marks are renewed for \d+ ms", r"^mode 1, number 7",
            r"^attempt %016x of job 1: is recorded" % (FIRST + 1),
            r"^attempt %016x: ended with 0" % (FIRST + 1)))
        agent.process.send_signal(signal.SIGUSR2)
        wait_for("the other signal's line", lambda: AGAIN in words())
        controller.do(f"start {FIRST + 2} 1 0 0 true 1 2 5")
        controller.wait_phase(FIRST + 2, DONE)
        assert not debug_lines(since(words(), AGAIN))
    finally:
        if site:
            site.end()
        net.remove()


@needs_root
def test_an_agent_that_is_configured_so_says_how_its_session_began():
    net, site = Net(2), None
    try:
        site = Site(net)
        _, agent = site.begin(lines=["log_level: debug"])
        with open(agent.log, encoding="utf-8") as log:
            assert has(log.read(), r"^session: HELLO 1 is said, boot [0-9a-f]{16}",
                       r"^session: the inventory has 0 parts",
                       r"^lease: the controller's is in force")
    finally:
        if site:
            site.end()
        net.remove()
