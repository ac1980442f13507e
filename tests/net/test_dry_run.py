"""--dry-run: every command that changes something is judged by the controller, and nothing is
done; what is refused is refused in the same words and with the same exit code."""
import contextlib
import re
import socket
import sqlite3
import subprocess

import pytest

from controller import BUILD, SECOND, older_says, pb, wait_until, workload

READS = set("status jobs tasks hosts units queues links counters mode switches audit users debts "
            "shares graph explain fastpath coflows macroflows flows events watch record "
            "history support-bundle top whatif".split())
# Every other command: what of it is taken, and what is refused.
CHANGES = {
    "submit": ["submit {jobs}", "submit {jobs} --id 2"],
    "cancel": ["cancel 1"],
    "job": ["job set 1 priority=-7", "job hold 1", "job release 2", "job requeue 1"],
    "drain": ["drain h1", "drain h1 --wait", "drain --rack r1", "drain h2 --undo"],
    "host": ["host forget h3"],
    "stance": ["stance observe --all", "stance mark --host h1", "stance mark --rack r1"],
    "switch": ["switch h1 apply", "switch h1 apply --confirm 60s", "switch h1 restore"],
    "store": ["store check", "store backup {folder}/copy.db"],
    "log": ["log level debug", "log level configured"],
    "config": ["config reload"],
    "policy": ["policy turn fair", "policy place nats even_wait=2s", "policy turn configured"],
    "user": ["user set ann share=3", "user leave bob"],
    "keys": ["keys make w[8-9] --role agent --out {folder}/made", "keys revoke w1",
             "keys rotate w1 --out {folder}/made", "keys rotate controller"],
}
WRONG = {
    "submit": ["submit {jobs}/none", "submit {huge}"],
    "cancel": ["cancel 99"],
    "job": ["job hold 99", "job set 99 priority=1", "job release 1", "job hold 2",
            "job requeue 99"],
    "drain": ["drain nowhere", "drain --rack r9"],
    "host": ["host forget h1", "host forget nowhere"],
    "stance": ["stance mark --host nowhere", "stance mark --rack r9"],
    "switch": ["switch nowhere apply", "switch h3 apply --confirm 60s"],
    "store": ["store backup {folder}/duopolyd.yaml"],
    "log": ["log level loud"],
    "config": ["config diff {folder}/none.yaml"],
    "policy": ["policy turn nonsense", "policy turn fair nonsense=1",
               "policy place nats even_wait=-1"],
    "user": ["user leave nobody", "user set bob number=0"],
    "keys": ["keys revoke nobody", "keys rotate nobody --out {folder}/made",
             "keys make w1 --role agent --out {folder}/made"],
}


def ctl(*words):
    return subprocess.run([BUILD / "duopolyctl", *map(str, words)], capture_output=True, text=True,
                          timeout=40, check=False)


def run(daemon, words, *more):
    return ctl("-s", daemon.socket, *words.split(), *more)


def test_the_tables_above_have_every_command():
    names = re.findall(r"^  ([a-z-]+) ", ctl("--help").stdout.split("Commands:")[1], re.M)
    assert set(names) == READS | set(CHANGES) and not READS & set(CHANGES)
    assert set(CHANGES) == set(WRONG)
    bash = ctl("--print", "bash").stdout
    takes = {name for name in names if re.search(rf"^ *{name}\).*--dry-run", bash, re.M)}
    assert takes == set(CHANGES)


def dump(folder):
    """Every row of the store."""
    file = f"file:{folder}/state/store.db?mode=ro"
    with contextlib.closing(sqlite3.connect(file, uri=True)) as store:
        tables = store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {table: sorted(map(repr, store.execute(f"SELECT * FROM {table}")))
                for table, in tables}


def seen(daemon):
    """What a change of any kind would change: the store, the recording (which has each event that
    the engine got, so that its state is the same as long as this is), files."""
    return dump(daemon.folder), daemon.log(), sorted(str(path) for path in daemon.folder.rglob("*"))


def settle(daemon):
    """What is acknowledged is on the disk, with all before it; what is refused is written later."""
    daemon.ctl("user", "set", "bob", "share=2")


def kept(daemon):
    """The store's rows and the files, without what settling leaves."""
    settle(daemon)
    store, _, files = seen(daemon)
    return {table: [row for row in rows if "user set bob" not in row]
            for table, rows in store.items() if table != "sums"}, files


class Site:
    """Two hosts of a rack, one of which is drained; job 1 runs, job 2 is held; a third host is
    lost; user bob."""

    def __init__(self, cluster):
        self.daemon = daemon = cluster.daemon(scripted=True)
        gone = cluster.agent(daemon, "h3")
        gone.join()
        gone.close()
        daemon.clock.advance(31 * SECOND)
        self.agents = [cluster.agent(daemon, name) for name in ("h1", "h2")]
        for agent in self.agents:
            agent.rack = "r1"
            agent.join()
        stage = {"tasks": 3, "input_bytes": 0, "compute_ms": 5}
        huge = {"tasks": 1, "compute_ms": 5, "demand": {"slots": 99}}
        self.words = {"folder": str(daemon.folder)}
        for name, stages in (("first", [stage]), ("jobs", [stage]), ("huge", [huge])):
            folder = daemon.folder / name
            folder.mkdir()
            jobs = [{"id": i, "name": f"{name}{i}", "stages": stages} for i in (1, 2)]
            self.words[name] = str(workload(folder, jobs))
        daemon.ctl("submit", self.words["first"])
        for words in (["drain", "h2"], ["job", "hold", 2], ["user", "set", "bob", "share=2"]):
            daemon.ctl(*words)
        for agent in self.agents:
            self.quiet(agent)

    @staticmethod
    def quiet(agent):
        while agent.socket.poll(100):
            agent.receive()

    def said(self, words):
        return words.format(**self.words)


@pytest.fixture
def site(cluster):
    return Site(cluster)


@pytest.mark.parametrize("verb", [verb for verb in CHANGES if verb != "keys"])
def test_nothing_is_done(site, verb):
    daemon = site.daemon
    for words in map(site.said, CHANGES[verb]):
        before = seen(daemon)
        done = run(daemon, words, "--dry-run")
        assert done.returncode == 0 and not done.stderr, (words, done)
        assert "dry run, nothing is changed" in done.stdout, (words, done)
        after = seen(daemon)
        if verb == "submit":  # its parts come, and are dropped
            assert (before[0], before[2]) == (after[0], after[2]), words
        else:
            assert before == after, words
        assert not any(agent.socket.poll(0) for agent in site.agents), words
    jobs = [(job["job"], job["state"]) for job in daemon.ctl("jobs", "-a")["jobs"]]
    assert jobs == [(1, "active"), (2, "active")]
    first = site.said(CHANGES[verb][0])
    assert run(daemon, first).returncode in (0, 6), "and without --dry-run it is done"
    assert verb == "store" or wait_until(lambda: seen(daemon)[0] != before[0], "it is kept")


@pytest.mark.parametrize("verb", [verb for verb in WRONG if verb != "keys"])
def test_refusals_are_the_same(site, verb):
    daemon = site.daemon
    for words in map(site.said, WRONG[verb]):
        before = kept(daemon)
        judged = run(daemon, words, "--dry-run")
        assert judged.returncode not in (0, 2) and not judged.stdout, (words, judged)
        assert kept(daemon) == before, words
        real = run(daemon, words)
        assert (real.returncode, real.stderr) == (judged.returncode, judged.stderr), words


def test_keys_are_judged(cluster):
    daemon = cluster.daemon(keys=True)
    daemon.key("w1")
    reader = daemon.key("ann", role="read-only")
    words = {"folder": str(daemon.folder)}
    for right, wrong in zip(CHANGES["keys"], [*WRONG["keys"], None]):
        before = kept(daemon)
        done = run(daemon, right.format(**words), "--dry-run")
        assert done.returncode == 0 and "dry run, nothing is changed" in done.stdout, (right, done)
        assert kept(daemon) == before, right
        if not wrong:
            continue
        wrong = wrong.format(**words)
        judged = run(daemon, wrong, "--dry-run")
        assert kept(daemon) == before, wrong
        real = run(daemon, wrong)
        assert judged.returncode == real.returncode != 0 and judged.stderr == real.stderr, wrong
    before = kept(daemon)
    assert "takes another role" in daemon.remote(reader, "cancel", 1, "--dry-run", expect=4)
    assert kept(daemon) == before
    alone = daemon.ctl("keys", "make", "controller", "--role", "controller", "--dry-run", expect=2)
    assert "no controller would judge it" in alone


def test_looking_takes_none(cluster):
    daemon = cluster.daemon()
    for verb in sorted(READS):
        words = {"explain": ["1/0/0"], "graph": ["--as", "dot"], "flows": ["w1"],
                 "support-bundle": ["x"], "whatif": ["host-down", "h1"],
                 "record": ["{folder}/record"]}.get(verb, [])
        assert "takes no --dry-run" in daemon.ctl(verb, *words, "--dry-run", expect=2), verb


def test_an_older_controller_is_not_asked(tmp_path):
    """It would ignore the field, and do it."""
    said = older_says(tmp_path / "s", "cancel", "1", "--dry-run")
    assert "knows no --dry-run and would carry it out" in said


def test_a_dry_run_and_a_submission_do_not_mix(cluster):
    daemon = cluster.daemon()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(str(daemon.socket))
        client.settimeout(20)

        def ask(**body):
            client.send(pb.Envelope(version=1, **body).SerializeToString())
            return pb.Envelope.FromString(client.recv(65536))
        begin = pb.SubmitBegin(name="j", content=1, estimate_bytes=-1, estimate_ns=-1)
        assert ask(submit_begin=begin).HasField("submit_credit")
        assert "mixed on one connection" in ask(submit_begin=begin, dry_run=True).refused.text
