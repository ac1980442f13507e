"""`duopolyctl config`: what is in force and where it comes from, whether a file is right, what it
would change, and reading it again: by command or SIGHUP, whole or not at all."""
import contextlib
import os
import re
import signal
import sqlite3
import subprocess

import pytest

from controller import BUILD, SECOND, TOP, Client, pb, wait_until, workload
from test_controller import one_job
from test_dry_run import kept
from test_log_levels import debug_lines

# What of a controller's configuration can change while it runs, beside policies.
LIVE = {"log_level", "timers.start_timeout", "timers.client_idle", "timers.forget",
        "timers.fetch_stall", "log.max_bytes", "store.keep"}


def write(daemon, config, log=""):
    """Its file says this from now on, also when it begins again."""
    folder = f"folder: {daemon.folder}/log"
    daemon.extra = "log: {%s}\n%s" % (", ".join(filter(None, [folder, log])), config)
    file = daemon.folder / "duopolyd.yaml"
    file.write_text(f"listen: tcp://127.0.0.1:*\nsocket: {daemon.socket}\n"
                    f"state: {daemon.folder}/state\n{daemon.extra}")
    return file


def reload(daemon, config, log="", expect=0):
    write(daemon, config, log)
    said = daemon.ctl("config", "reload", expect=expect)
    return said if expect else said["text"]


def keys(daemon):
    return {row["key"]: row for row in daemon.ctl("config", "show")["config"]}


def in_force(daemon):
    return {key: row["value"] for key, row in keys(daemon).items()}


def changes(daemon, *file):
    return {row["key"]: row for row in daemon.ctl("config", "diff", *file)["changes"]}


def policies(daemon):
    return {row["question"]: row["policy"] for row in daemon.ctl("policy")["policies"]}


# ---- show ----


def test_each_word_says_where_it_comes_from(cluster):
    daemon = cluster.daemon(config="policy: {preset: fair, even_wait: 300 ms}\n"
                                   "timers: {forget: 5 min}\n")
    assert daemon.ctl("config", "show")["file"] == str(daemon.folder / "duopolyd.yaml")
    shown = keys(daemon)

    def is_(key, value, origin, line=None, column=None):
        row = shown[key]
        assert (row["value"], row["from"], row["line"], row["column"]) == \
            (value, origin, line, column), row
    is_("listen", "tcp://127.0.0.1:*", "file", 1, 9)
    is_("timers.forget", "300 s", "file", 6, 18)
    is_("timers.silent", "3 s", "default")
    is_("policy.preset", "fair", "file", 5, 18)
    is_("policy.even_wait", "300 ms", "file", 5, 35)
    is_("policy.turn", "sjf", "preset")
    is_("policy.commit", "single", "default")
    is_("log_level", "note", "default")
    daemon.ctl("policy", "turn", "fifo")
    daemon.ctl("policy", "place", "nats", "start_wait=2s")
    daemon.ctl("log", "level", "debug")
    shown = keys(daemon)
    is_("policy.turn", "fifo", "command")
    is_("policy.start_wait", "2 s", "command")
    is_("log_level", "debug", "command")
    assert shown["policy.turn"]["configured"] == "preset"
    assert shown["log_level"]["configured"] == "note"
    daemon.ctl("policy", "turn", "configured")
    daemon.ctl("policy", "place", "configured")
    daemon.ctl("log", "level", "configured")
    shown = keys(daemon)
    is_("policy.turn", "sjf", "preset")
    is_("log_level", "note", "default")


def test_the_table_says_what_a_reload_changes(cluster):
    shown = keys(cluster.daemon())
    live = {key for key, row in shown.items() if row["reloads"]}
    asked = {"policy.turn", "policy.place", "policy.commit", "policy.network", "policy.users",
             "policy.preset", "policy.mode.rule"}
    assert LIVE | asked <= live
    words = {key.split(".", 1)[1].removeprefix("mode.") for key in live - LIVE - asked}
    assert {"even_wait", "weight.turn", "ignore_held"} <= words
    manual = (TOP / "schemas" / "duopolyd.yaml").read_text(encoding="utf-8")
    for word in words:
        assert re.search(rf"^ +{word}: preset\b", manual, re.M), f"{word} is a policy's"


# ---- what is taken does what it says: each kind ----


def takes_log_level(cluster):
    daemon = cluster.daemon()
    assert reload(daemon, "log_level: debug\n") == "taken: log_level"
    cluster.agent(daemon, "h1").join()
    wait_until(lambda: debug_lines(daemon.words()), "debug lines")
    reload(daemon, "log_level: error\n")
    said = daemon.words()
    daemon.ctl("drain", "h1")
    assert daemon.words() == said
    reload(daemon, "")
    assert daemon.ctl("log", "level")["level"] == "note"


def takes_policies(cluster):
    daemon = cluster.daemon()
    assert policies(daemon)["turn"] == "srpt"
    reload(daemon, "policy: {preset: fair, mode: {rule: rich}}\n")
    assert policies(daemon) == {"turn": "sjf", "place": "greedy", "commit": "single",
                                "network": "none", "mode": "rich", "users": "none"}
    wait_until(lambda: any(re.match("e policy_set .*greedy", line) for line in daemon.log()),
               "it is recorded, so that a replay decides the same")
    reload(daemon, "policy: {turn: fifo}\n")
    assert policies(daemon)["turn"] == "fifo" and policies(daemon)["place"] == "joint"
    daemon.ctl("policy", "turn", "fair")
    daemon.ctl("policy", "turn", "configured")
    assert policies(daemon)["turn"] == "fifo", "as the file that was taken says"


def takes_parameters(cluster):
    daemon = cluster.daemon(config="policy: {place: nats}\n")
    assert reload(daemon, "policy: {place: nats, even_wait: 7 s}\n") == "taken: policy.even_wait"
    rows = {row["parameter"]: row["value"] for row in daemon.ctl("policy")["policies"]}
    assert rows["even_wait"] == "7 s"
    reload(daemon, "policy: {place: nats}\n")
    rows = {row["parameter"]: row["value"] for row in daemon.ctl("policy")["policies"]}
    assert rows["even_wait"] != "7 s"


def takes_size_of_recording(cluster):
    daemon = cluster.daemon()
    older = daemon.folder / "log" / "duopoly.log.1"
    client = Client(daemon)
    for number in range(300):
        client.ask(set_user=pb.SetUser(name="ann", share=number + 1))
    assert not older.exists()
    assert reload(daemon, "", log="max_bytes: 4096 B") == "taken: log.max_bytes"
    daemon.ctl("user", "set", "ann", "share=9")
    wait_until(older.exists, "the file ends")
    client.close()


def takes_time_of_store(cluster):
    daemon = cluster.daemon()
    agent = cluster.agent(daemon, "h1")
    agent.join()
    job = daemon.ctl("submit", workload(daemon.folder, [one_job()]))["jobs"][0]["job"]
    daemon.ctl("cancel", job)

    def finished():
        file = f"file:{daemon.folder}/state/store.db?mode=ro"
        with contextlib.closing(sqlite3.connect(file, uri=True)) as store:
            return store.execute("SELECT count(*) FROM finished").fetchone()[0]
    wait_until(lambda: finished() == 1, "its end is stored")
    assert reload(daemon, "store: {keep: 0 s}\n") == "taken: store.keep"
    wait_until(lambda: finished() == 0, "it is kept no longer")


def takes_idle_time(cluster):
    daemon = cluster.daemon()
    client = Client(daemon)
    assert reload(daemon, "timers: {client_idle: 1 s}\n") == "taken: timers.client_idle"
    assert client.socket.recv(65536) == b"", "it is closed in less than its 60 s"
    client.close()


def takes_start_times(cluster):
    daemon = cluster.daemon(scripted=True)
    said = reload(daemon, "timers: {start_timeout: 1 s, fetch_stall: 2 s}\n")
    assert said == "taken: timers.start_timeout, timers.fetch_stall"
    agent = cluster.agent(daemon, "h1")
    agent.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    start = agent.expect("start").start
    assert start.stall_ms == 2000
    daemon.clock.advance(SECOND * 11 // 10)
    while True:
        envelope = agent.receive()
        if envelope.HasField("ask_attempt"):
            break
    assert envelope.ask_attempt.attempt == start.attempt, "before the 5 s of the default"


def takes_time_to_forget(cluster):
    daemon = cluster.daemon(scripted=True)
    assert reload(daemon, "timers: {forget: 35 s}\n") == "taken: timers.forget"
    agent = cluster.agent(daemon, "h1")
    agent.join()
    agent.close()
    for _ in range(4):
        daemon.clock.advance(10 * SECOND)
    assert daemon.ctl("hosts")["hosts"] == []


@pytest.mark.parametrize("kind", [
    takes_log_level, takes_policies, takes_parameters, takes_size_of_recording,
    takes_time_of_store, takes_idle_time, takes_start_times, takes_time_to_forget])
def test_what_is_taken_is_in_force(cluster, kind):
    kind(cluster)


def presets():
    """(name, answers) of those that a controller takes."""
    lines = subprocess.run([BUILD / "duopolyd", "--presets"], capture_output=True, text=True,
                           timeout=20, check=True).stdout.splitlines()[1:]
    return [line.split()[:5] for line in lines if "(simulator only)" not in line]


def test_from_each_preset_to_each(cluster):
    daemon, names = cluster.daemon(), presets()
    assert len(names) > 10
    for name, turn, place, network, _rule in names + names[::-1]:
        reload(daemon, f"policy: {{preset: {name}}}\n")
        asked = policies(daemon)
        assert (asked["turn"], asked["place"], asked["network"]) == (turn, place, network), name
    daemon.kill()
    daemon.start()
    assert policies(daemon) == asked, "and a restart says the same"


# ---- what is not ----


def test_a_wrong_file_changes_nothing(cluster):
    daemon = cluster.daemon()
    before, shown = policies(daemon), keys(daemon)
    told = reload(daemon, "log_level: debug\npolicy:\n  turn: best\n", expect=1)
    assert re.search(r"/duopolyd\.yaml:7:9: turn: 'best' is none of: ", told)
    assert policies(daemon) == before and keys(daemon) == shown
    row = daemon.ctl("audit", "--what", "config reload")["audit"][-1]
    assert row["result"].startswith("refused, ") and "7:9" in row["result"]
    assert "7:9: turn: 'best'" in daemon.ctl("config", "diff", expect=1)
    assert "unknown key 'polic'" in reload(daemon, "polic: {}\n", expect=1)
    (daemon.folder / "duopolyd.yaml").unlink()
    assert "cannot be opened" in daemon.ctl("config", "reload", expect=1)
    assert daemon.process.poll() is None and keys(daemon) == shown


def test_what_needs_a_restart_is_named(cluster):
    daemon = cluster.daemon()
    said = reload(daemon, "log_level: debug\nbounds: {hosts: 77}\ntimers: {lease: 11 s}\n")
    assert said == "taken: log_level; not before a restart: timers.lease, bounds.hosts"
    assert in_force(daemon)["bounds.hosts"] == "10000"
    left = changes(daemon)
    assert {key: row["taken_by"] for key, row in left.items()} == \
        {"timers.lease": "restart", "bounds.hosts": "restart"}
    row = left["bounds.hosts"]
    assert (row["value"], row["next"], row["next_line"]) == ("10000", "77", 6)
    daemon.kill()
    daemon.start()
    assert in_force(daemon)["bounds.hosts"] == "77" and not changes(daemon)


def test_a_command_counts_before_the_file(cluster):
    daemon = cluster.daemon()
    daemon.ctl("policy", "turn", "fair")
    daemon.ctl("policy", "place", "nats", "even_wait=3s")
    daemon.ctl("log", "level", "error")
    write(daemon, "log_level: debug\npolicy: {turn: fifo, even_wait: 9 s}\n")
    assert {row["taken_by"] for row in changes(daemon).values()} == {"nothing"}
    said = daemon.ctl("config", "reload")["text"]
    assert said == "as a command set it: log_level, policy.turn, policy.even_wait"
    assert policies(daemon)["turn"] == "fair"
    shown = in_force(daemon)
    assert (shown["policy.even_wait"], shown["log_level"]) == ("3 s", "error")
    daemon.kill()
    daemon.start()
    assert policies(daemon)["turn"] == "fair", "as at a start"
    assert daemon.ctl("log", "level")["level"] == "debug", "which ends that of the log"
    daemon.ctl("policy", "turn", "configured")
    assert policies(daemon)["turn"] == "fifo"


def test_policies_that_do_not_work_change_nothing(cluster):
    daemon = cluster.daemon(config="policy: {preset: flow}\n")
    stage = {"tasks": 2, "input_bytes": 0, "compute_ms": 5}
    job = {"id": 1, "name": "j", "at_most": {"host": 1}, "stages": [stage]}
    daemon.ctl("submit", workload(daemon.folder, [job]))
    before = policies(daemon)
    told = reload(daemon, "log_level: debug\npolicy: {preset: joint}\n", expect=1)
    assert "place joint cannot keep at_most" in told and "duopolyd.yaml" in told
    judged = daemon.ctl("config", "reload", "--dry-run", expect=1)
    assert judged == told
    assert policies(daemon) == before and in_force(daemon)["log_level"] == "note"


# ---- manners ----


def test_sighup_does_the_same(cluster):
    daemon = cluster.daemon()

    def hang_up(words):
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: words in daemon.words(), words)
    me = f"SIGHUP of process {os.getpid()}: config reload: "
    write(daemon, "policy: {turn: fifo}\n")
    hang_up(me + "taken: policy.turn")
    assert policies(daemon)["turn"] == "fifo"
    write(daemon, "policy: {turn: best}\n")
    hang_up(me + f"refused, {daemon.folder}/duopolyd.yaml:5:16: turn: 'best' is none of")
    rows = daemon.ctl("audit", "--what", "config reload")["audit"]
    assert [row["who"] for row in rows] == [f"SIGHUP of process {os.getpid()}"] * 2
    assert rows[0]["result"] == "taken: policy.turn"
    assert rows[1]["result"].startswith("refused, ")
    assert policies(daemon)["turn"] == "fifo" and daemon.stop() == 0


def test_a_dry_run_does_nothing(cluster):
    daemon = cluster.daemon()
    write(daemon, "log_level: debug\npolicy: {turn: fifo}\nbounds: {hosts: 9}\n")
    before, shown = kept(daemon), keys(daemon)
    said = daemon.ctl("config", "reload", "--dry-run")["text"]
    assert said == ("a dry run, nothing is changed: taken: log_level, policy.turn; "
                    "not before a restart: bounds.hosts")
    assert kept(daemon) == before and keys(daemon) == shown


def test_an_old_look_is_refused(cluster):
    daemon = cluster.daemon()
    version = daemon.ctl("status")["changes_version"]
    daemon.ctl("policy", "place", "nats")
    write(daemon, "policy: {turn: fifo}\n")
    told = daemon.ctl("config", "reload", "--if-version", version, expect=1)
    assert "policy place nats: look again" in told and policies(daemon)["turn"] == "srpt"
    assert "takes no --confirm" in daemon.ctl("config", "reload", "--confirm", "60s", expect=2)


def test_readers_look(cluster):
    daemon = cluster.daemon(keys=True)
    reader = daemon.key("ann", role="read-only")
    assert daemon.remote(reader, "config", "show")["config"]
    assert daemon.remote(reader, "config", "diff")["changes"] == []
    assert "takes another role" in daemon.remote(reader, "config", "reload", expect=4)


# ---- files ----


def run(*words):
    return subprocess.run([BUILD / "duopolyctl", *map(str, words)], capture_output=True, text=True,
                          timeout=40, check=False)


def test_a_file_is_judged_without_a_controller(tmp_path):
    file = tmp_path / "duopolyd.yaml"
    file.write_text("log_level: debug\npolicy: {turn: fifo}\n")
    done = run("config", "check", file)
    assert done.returncode == 0 and re.search(r"keys that it sets +2$", done.stdout, re.M), done
    for text in ("policy: {turn: best}\n", "a: [\n", "listen: tcp://192.0.2.7:1\n", "\tx: 1\n",
                 "listen: tcp://*:7600\ntrust: keys\nkeys: " + str(tmp_path) + "\n"):
        file.write_text(text)
        done = run("config", "check", file)
        daemon = subprocess.run([BUILD / "duopolyd", "--check", "--config", file], text=True,
                                capture_output=True, timeout=20, check=False)
        assert (done.returncode, daemon.returncode) == (1, 1), (text, done, daemon)
        sentence = daemon.stderr.removeprefix("duopolyd: error: configuration: ")
        assert done.stderr == "duopolyctl: " + sentence and not done.stdout
    assert run("config", "check", tmp_path / "none").returncode == 5
    assert run("config", "check").returncode == 2 and run("config", "frob").returncode == 2


def test_what_a_file_would_change(cluster):
    daemon = cluster.daemon(config="timers: {forget: 600 s}\npolicy: {turn: fifo}\n")
    file = daemon.folder / "other.yaml"
    file.write_text(write(daemon, daemon.extra.split("\n", 1)[1]).read_text()
                    .replace("600 s", "10 min").replace("fifo", "fair") + "bounds: {jobs: 7}\n")
    found = changes(daemon, file)
    assert set(found) == {"policy.turn", "bounds.jobs"}, "10 min are 600 s"
    row = found["policy.turn"]
    assert (row["value"], row["configured"], row["next"], row["taken_by"]) == \
        ("fifo", "fifo", "fair", "reload")
    assert found["bounds.jobs"]["taken_by"] == "restart"
    assert set(changes(daemon, file, "--filter", "taken_by=restart")) == {"bounds.jobs"}
    assert list(changes(daemon, file, "--sort", "key", "--limit", 1)) == ["bounds.jobs"]
    assert list(changes(daemon, file, "--sort", "-key")) == ["policy.turn", "bounds.jobs"]
    assert len(changes(daemon, file, "--limit", 1)) == 1
    assert daemon.ctl("config", "show", "--filter", "value=fifo", "--columns", "key") == \
        {"config": [{"key": "policy.turn"}], "file": str(daemon.folder / "duopolyd.yaml")}
    assert changes(daemon) == {} and policies(daemon)["turn"] == "fifo", "it only looks"
    file.write_text("policy: {turn: best}\n")
    assert "other.yaml:1:16: turn: 'best'" in daemon.ctl("config", "diff", file, expect=1)
