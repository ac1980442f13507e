"""A name that is too long for where it goes is refused in words by who was told it: cut, it would
be another's."""

import subprocess

import pytest

from controller import BUILD

LONG = "n" * 64  # a host's name has 63 bytes, a rack's 31


@pytest.mark.parametrize("words", [("drain", LONG), ("host", "forget", LONG), ("stance", "mark", "--host", LONG), ("stance", "mark", "--rack", LONG[:32]),
                                   ("switch", LONG, "apply"), ("switch", LONG), ("links", LONG), ("policy", "turn", "p" * 96),
                                   ("policy", "q" * 16, "fifo"), ("keys", "revoke", LONG)], ids=lambda words: " ".join(words)[:24])
def test_a_long_name_is_refused_whole(cluster, words):
    """Whose name are its first bytes is left alone."""
    daemon = cluster.daemon()
    cluster.agent(daemon, LONG[:63]).join()

    def state():
        return [(row["name"], row["state"], row["stance"]) for row in daemon.ctl("hosts")["hosts"]]
    before = state()
    done = subprocess.run([BUILD / "duopolyctl", "-s", daemon.socket, *words], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode in (1, 2) and any(word in done.stderr for word in ("is longer than", "cannot be", "is no ")), done.stderr
    assert state() == before


@pytest.mark.parametrize("words", [
    "drain NAME", "drain NAME --undo", "drain NAME --wait", "drain NAME --confirm 60s",
    "drain NAME --dry-run", "host forget NAME", "stance mark --host NAME",
    "stance mark --host NAME --confirm 60s", "units NAME", "links NAME", "queues NAME",
    "flows NAME", "explain NAME", "explain NAME:uplink", "whatif host-down NAME"])
def test_of_a_host_that_is_not_there_the_nearest_is_named(cluster, words):
    daemon = cluster.daemon()
    for name in ("w2", "worker1"):
        cluster.agent(daemon, name).join()
    told = daemon.ctl(*words.replace("NAME", "wroker1").split(), expect=5)
    assert " wroker1; did you mean 'worker1'?" in told
