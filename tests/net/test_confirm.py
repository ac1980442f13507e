"""--confirm: a policy, a drain or a stance is undone after a time unless the same command confirms
it, also when the controller restarts in between."""

from controller import SECOND, pb, wait_until
from test_dry_run import dump
from test_job_orders import drained

MARK, ENFORCE = 2, 3
KINDS = ("trial", "policy", "parameter", "drain", "stance")


def turn(daemon):
    return {row["question"]: row["policy"] for row in daemon.ctl("policy")["policies"]}["turn"]


def kept(daemon):
    """What the store has of a trial, and of policies, drains and stances."""
    return [row for row in dump(daemon.folder)["settings"]
            if any(f"'{kind}'" in row for kind in KINDS)]


def test_a_policy_is_undone(cluster):
    daemon = cluster.daemon(scripted=True)
    configured, before = turn(daemon), kept(daemon)
    assert configured != "fair"
    answer = daemon.ctl("policy", "turn", "fair", "--confirm", "60s")["text"]
    assert "undone in 60 s unless it is confirmed by the same command without --confirm" in answer
    assert turn(daemon) == "fair"
    note = daemon.ctl("status")["text"]
    assert note.startswith("policy turn fair --confirm 60s by ") and "is undone in" in note
    daemon.clock.advance(59 * SECOND)
    assert turn(daemon) == "fair"
    daemon.clock.advance(2 * SECOND)
    assert turn(daemon) == configured
    wait_until(lambda: kept(daemon) == before, "nothing is left of it")
    what = [(row["who"], row["what"], row["result"]) for row in daemon.ctl("audit")["audit"]]
    assert what[-1] == ("the controller", "undo policy turn fair --confirm 60s",
                        "it was not confirmed in time")
    assert what[-2][1] == "policy turn fair --confirm 60s"
    daemon.clock.advance(61 * SECOND)
    assert len(daemon.ctl("audit")["audit"]) == len(what), "once"


def test_parameters_are_undone(cluster):
    daemon = cluster.daemon(scripted=True)
    daemon.ctl("policy", "place", "nats", "even_wait=3 s")
    before = daemon.ctl("policy")
    daemon.ctl("policy", "place", "nats", "even_wait=9 s", "start_wait=8 s", "--confirm", "60s")
    assert daemon.ctl("policy") != before
    daemon.clock.advance(61 * SECOND)
    assert daemon.ctl("policy") == before


def test_a_policy_that_is_confirmed_stays(cluster):
    daemon = cluster.daemon(scripted=True)
    daemon.ctl("policy", "turn", "fair", "--confirm", "60s")
    assert "is confirmed" in daemon.ctl("policy", "turn", "fair")["text"]
    daemon.clock.advance(61 * SECOND)
    assert turn(daemon) == "fair" and not any("'trial'" in row for row in kept(daemon))


def test_one_at_a_time(cluster):
    daemon = cluster.daemon(scripted=True)
    cluster.agent(daemon, "h1").join()
    daemon.ctl("policy", "turn", "fair", "--confirm", "60s")
    for words in ("policy turn fifo", "policy place greedy", "policy turn fair --confirm 60s",
                  "drain h1 --confirm 60s"):
        told = daemon.ctl(*words.split(), expect=1)
        assert "confirm it by the same command without --confirm, or wait" in told, words
    daemon.ctl("drain", "h1")
    assert turn(daemon) == "fair" and drained(daemon) == {"h1"}
    daemon.ctl("policy", "turn", "fair", "--dry-run")
    daemon.clock.advance(61 * SECOND)
    assert turn(daemon) != "fair", "a dry run confirms nothing"


def test_drains_are_undone(cluster):
    """One that was drained before stays so."""
    daemon = cluster.daemon(scripted=True)
    agents = [cluster.agent(daemon, name) for name in ("h1", "h2", "h3")]
    for agent in agents:
        agent.rack = "r1"
        agent.join()
    daemon.ctl("drain", "h2")
    daemon.ctl("drain", "--rack", "r1", "--confirm", "2s")
    assert drained(daemon) == {"h1", "h2", "h3"}
    daemon.clock.advance(2 * SECOND)
    assert drained(daemon) == {"h2"}
    daemon.ctl("drain", "h1", "--dry-run", "--confirm", "2s")
    assert drained(daemon) == {"h2"} and not any("'trial'" in row for row in kept(daemon))


def take(agent):
    while True:
        envelope = agent.receive()
        if envelope.HasField("take_stance"):
            agent.send(numbered=True, host_state=pb.HostState(stance=envelope.take_stance.stance))
            return envelope.take_stance.stance


def test_stances_are_undone(cluster):
    daemon = cluster.daemon(scripted=True)
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    daemon.ctl("stance", "mark", "--all", "--confirm", "2s", expect=6)  # h1 says nothing yet
    assert take(h1) == MARK
    daemon.clock.advance(2 * SECOND)
    assert take(h1) == ENFORCE
    daemon.ctl("stance", "mark", "--host", "h1", "--confirm", "60s", expect=6)
    assert take(h1) == MARK
    daemon.ctl("stance", "observe", "--all", expect=6)
    told = [take(h1), take(h1)]
    assert told == [ENFORCE, 1], "the trial ends, and the stop is set"
    daemon.clock.advance(2 * SECOND)
    assert not any("'trial'" in row for row in kept(daemon))


def test_a_restart_goes_on_with_the_trial(cluster):
    daemon = cluster.daemon()
    configured = turn(daemon)
    daemon.ctl("policy", "turn", "fair", "--confirm", "1h")
    daemon.kill()
    daemon.start()
    assert turn(daemon) == "fair" and "is undone in" in daemon.ctl("status")["text"]
    assert "is confirmed" in daemon.ctl("policy", "turn", "fair")["text"]
    daemon.ctl("policy", "turn", "fifo", "--confirm", "1s")
    daemon.kill()
    daemon.start()
    wait_until(lambda: turn(daemon) == "fair", "it is undone")
    daemon.kill()
    daemon.start()
    assert turn(daemon) == "fair" != configured


def test_wrong_words(cluster):
    daemon = cluster.daemon()
    for words in ("policy --confirm 60s", "policy turn fair --confirm 2h",
                  "policy turn fair --confirm soon", "cancel 1 --confirm 60s",
                  "drain h1 --confirm 0s", "stance mark --all --confirm 1ms"):
        daemon.ctl(*words.split(), expect=2)
