"""--filter, --columns, --sort, --since and --limit of duopolyctl: what they select is the same in
every form, and the controller sends no row that a filter drops (controller/lists/filter.h)."""
import csv
import io
import json
import re
import select
import socket
import subprocess
import time

import pytest

from controller import BUILD, SECOND, Client, older_says, pb, workload

LOOKS = 512  # LISTING_FILLS
TASKS = 2000


def said(daemon, form, *words):
    done = subprocess.run([BUILD / "duopolyctl", "-s", daemon.socket, "--form", form,
                           *map(str, words)], capture_output=True, text=True, timeout=40,
                          check=False)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def rows_in(daemon, *words):
    return json.loads(said(daemon, "json", *words))["items"]


@pytest.fixture(name="many", scope="module")
def _many():
    """A controller with hosts, a job of many tasks, others that wait behind it, and users."""
    from controller import Agent, Daemon
    daemon = Daemon(config="timers: {heartbeat: 60 s, silent: 300 s, host_lost: 600 s, "
                    "lease: 600 s}\n")
    agents = [Agent(daemon, f"w{n}", host=n, slots=2) for n in (1, 2, 10)]
    for agent in agents:
        agent.rack = "left" if agent.name != "w10" else "right"
        agent.join()
    jobs = [{"id": n, "name": f"j{n}", "stages": [{"tasks": TASKS if n == 1 else n,
                                                   "compute_ms": 5000}]} for n in range(1, 13)]
    daemon.ctl("submit", workload(daemon.folder, jobs))
    for name in ("ann", "bob"):
        daemon.ctl("user", "set", name, "share=2")
    yield daemon
    for agent in agents:
        agent.close()
    daemon.remove()


def raw(value):
    """As CSV has it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


# ---- the same in every form ----


@pytest.mark.parametrize("words", [
    ["tasks", "1", "-a", "--filter", "task<700,state!=done", "--columns", "task,state,attempt",
     "--sort", "-task", "--limit", "30"],
    ["tasks", "1", "-a", "--filter", "state=ready", "--columns", "job,task,state"],
    ["hosts", "--columns", "name,state,boot,rack", "--sort", "rack,-name"],
    ["jobs", "--filter", "name~1", "--columns", "place,job,name,state"],
    ["counters", "--filter", "source=controller", "--columns", "name,source", "--limit", "7"],
    ["audit", "--columns", "n,what", "--limit", "2"],
    ["users", "--columns", "name,leaves", "--sort", "name"],
    ["policy", "--filter", "parameter=-", "--columns", "question,policy"],
    ["policy", "--all", "--filter", "turn=fair,in_force=no", "--limit", "9", "--columns",
     "turn,place,mode"],
    ["queues", "--filter", "name!=w2", "--columns", "name,role", "--sort", "name"],
], ids=lambda words: "-".join(words[:4]))
def test_all_forms_have_the_same_rows(many, words):
    items = rows_in(many, *words)
    columns = words[words.index("--columns") + 1].split(",")
    assert items and all(list(item) == columns for item in items)
    *lines, last = map(json.loads, said(many, "json-lines", *words).splitlines())
    assert lines == items and last["schema"] == "selected"
    header, *rows = csv.reader(io.StringIO(said(many, "csv", *words)))
    assert header == columns
    assert rows == [[raw(item[name]) for name in columns] for item in items]
    for form in ("text", "wide"):
        text = said(many, form, *words).split("\n\n")[0].splitlines()
        shown = [re.split(r" {1,}", line.strip()) for line in text[1:]]
        yes = {"True": "yes", "False": "no", "None": "-"}
        expected = [" ".join(yes.get(str(item[name]), str(item[name])) for name in columns)
                    for item in items]
        assert [" ".join(line) for line in shown] == [" ".join(e.split()) for e in expected], form


def test_wide_has_all_columns(many):
    narrow, wide = (said(many, form, "hosts").splitlines()[0].split() for form in ("text", "wide"))
    more = {"boot", "readers", "sources", "lost_ns", "failed_in_a_row", "refused_words"}
    assert more <= set(rows_in(many, "hosts")[0])
    assert more <= set(wide) and not more & set(narrow) and set(narrow) <= set(wide)
    assert said(many, "wide", "jobs", "--columns", "evictions").split()[0] == "evictions"


# ---- what is selected ----


def test_a_filter_is_carried_out_as_it_is_read(many):
    whole = rows_in(many, "tasks", "1", "-a")
    for condition, keeps in (
            ("state=ready", lambda row: row["state"] == "ready"),
            ("state!=ready", lambda row: row["state"] != "ready"),
            ("host=-", lambda row: row["host"] is None),
            ("host~w1", lambda row: row["host"] and "w1" in row["host"]),
            ("host!~w1", lambda row: not row["host"] or "w1" not in row["host"]),
            ("host=w1|w10,task<4", lambda row: row["host"] in ("w1", "w10") and
             int(row["task"]) < 4),
            ("task>=1990", lambda row: int(row["task"]) >= 1990),
            ("level>=0", lambda row: (row["level"] or -1) >= 0 or row["level"] == 0)):
        wanted = sorted(int(row["task"]) for row in whole if keeps(row))
        got = rows_in(many, "tasks", "1", "-a", "--filter", condition)
        assert sorted(int(row["task"]) for row in got) == wanted, condition
    assert rows_in(many, "tasks", "1", "-a", "--filter", "state=nonsense") == []
    assert said(many, "text", "hosts", "--filter", "state=lost") == "none\n"


def test_places_among_some_jobs_are_those_among_all(many):
    places = {row["job"]: row["place"] for row in rows_in(many, "jobs")}
    assert sorted(places.values()) == list(range(1, 13))
    some = rows_in(many, "jobs", "--filter", "name=j3|j7|j11")
    assert {row["job"]: row["place"] for row in some} == \
        {job: places[job] for job in ("3", "7", "11")}
    first = rows_in(many, "jobs", "--filter", "place<=2", "--columns", "place")
    assert first == [{"place": 1}, {"place": 2}]


def test_sorting_is_stable_and_counts_as_people_do(many):
    assert [row["name"] for row in rows_in(many, "hosts", "--sort", "name")] == ["w1", "w2", "w10"]
    assert [row["name"] for row in rows_in(many, "hosts", "--sort", "-rack")] == \
        ["w10", *[row["name"] for row in rows_in(many, "hosts") if row["rack"] == "left"]]
    in_turn = [row["job"] for row in rows_in(many, "jobs")]
    assert [row["job"] for row in rows_in(many, "jobs", "--sort", "state")] == in_turn
    tasks = rows_in(many, "tasks", "1", "-a", "--sort", "host,-task")
    there = [row for row in tasks if row["host"]]
    assert there and tasks[:len(there)] == there, "what has no host comes last"
    assert tasks[len(there):] == sorted(tasks[len(there):], key=lambda row: -int(row["task"]))
    few = rows_in(many, "tasks", "1", "-a", "--sort", "host,-task", "--limit", "5")
    assert [row["task"] for row in few] == [row["task"] for row in tasks[:5]]


def test_a_limit_takes_the_first_and_of_the_audit_the_newest(many):
    whole = [row["n"] for row in rows_in(many, "audit")]
    assert [row["n"] for row in rows_in(many, "audit", "--limit", "2")] == whole[-2:]
    assert [row["n"] for row in rows_in(many, "audit", "--limit", "2", "--sort", "n")] == whole[:2]
    assert [row["what"] for row in rows_in(many, "audit", "--filter", "what~ann")] == \
        ["user set ann share=2"]
    counters = rows_in(many, "counters")
    assert [(row["source"], row["name"]) for row in rows_in(many, "counters", "--limit", "70")] == \
        [(row["source"], row["name"]) for row in counters[:70]]


def test_since_is_about_the_lists_time(cluster):
    daemon = cluster.daemon(scripted=True)
    stage = {"tasks": 3, "compute_ms": 5}
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "name": "a", "stages": [stage]}]))
    daemon.clock.advance(3600 * SECOND)
    for job, at in ((1, 0), (1, 3)):
        since = "10min" if not at else "2h"
        assert len(rows_in(daemon, "tasks", job, "-a", "--since", since)) == at
    assert len(rows_in(daemon, "audit", "--since", "1h")) == 1
    assert len(rows_in(daemon, "audit", "--since", "2020-02-29", "--filter", "what~submit")) == 1
    assert not rows_in(daemon, "audit", "--since", "2099-01-01T00:00:00Z")
    told = daemon.ctl("hosts", "--since", "1h", expect=2)
    assert "'hosts' has no time that --since could be about" in told


# ---- the wire ----


def pages(client, **asked):
    """(rows, whether it went on) of each page."""
    cursor = version = 0
    while True:
        page = client.ask(list=pb.List(cursor=cursor, version=version, **asked)).page
        yield page
        cursor, version = page.cursor, page.version
        if not cursor:
            return


def test_dropped_rows_are_not_sent_and_a_page_is_bounded(many):
    client = Client(many)
    asked = {"of": pb.LIST_TASKS, "job": 1, "finished": True}
    all_pages = list(pages(client, **asked))
    one = list(pages(client, filter="task=1999", **asked))
    assert sum(len(page.tasks) for page in all_pages) == TASKS
    assert [row.task for page in one for row in page.tasks] == [TASKS - 1]
    assert len(one) == 1, "tasks stand in the order of their numbers"
    none = list(pages(client, filter="failures>0", **asked))
    assert not any(page.tasks for page in none)
    assert -(-TASKS // LOOKS) <= len(none) < len(all_pages)
    assert sum(page.ByteSize() for page in one + none) < 0.05 * sum(p.ByteSize() for p in all_pages)
    half = list(pages(client, filter="task<1000", **asked))
    assert [row.task for page in half for row in page.tasks] == list(range(1000))
    client.close()


def unpack(page, kind):
    """The rows of a packed page, by what duopoly.proto says of it alone."""
    rows, row, at = [], kind(), 0
    while at < len(page.rows):
        head = shift = 0
        while True:
            byte = page.rows[at]
            at, head, shift = at + 1, head | (byte & 0x7f) << shift, shift + 7
            if byte < 0x80:
                break
        row = kind() if head & 1 else row
        row.MergeFromString(page.rows[at:at + head // 2])
        at += head // 2
        rows.append(kind.FromString(row.SerializeToString()))
    return rows


@pytest.mark.parametrize("of, name, kind", [(pb.LIST_TASKS, "tasks", pb.TaskRow),
                                            (pb.LIST_JOBS, "jobs", pb.JobRow)])
def test_packed_pages_have_the_same_rows(many, of, name, kind):
    client, cursor, packed, size, n = Client(many), 0, [], 0, 0
    asked = {"of": of, "job": 1 if name == "tasks" else 0, "finished": True}
    while True:
        page = client.ask(list=pb.List(cursor=cursor, packed=True, **asked)).packed_page
        packed += unpack(page, kind)
        cursor, size, n = page.cursor, size + page.ByteSize(), n + 1
        if not cursor:
            break
    plain = list(pages(client, **asked))
    client.close()
    rows = [row for page in plain for row in getattr(page, name)]
    for row in rows + packed:
        row.ClearField("age_ns")  # the clock goes on
        for spent in ("receive_ns", "compute_ns"):
            row.ClearField(spent)
    assert packed == rows and len(rows) in (TASKS, 12)
    share = size / sum(page.ByteSize() for page in plain)
    assert share < 1 and (name == "jobs" or share < 0.5 and n < len(plain) / 5), (share, n)


def test_what_cannot_be_packed_comes_as_it_is(many):
    client = Client(many)
    for of in (pb.LIST_HOSTS, pb.LIST_COUNTERS, pb.LIST_MODES):
        answer = client.ask(list=pb.List(of=of, packed=True))
        assert answer.WhichOneof("body") in ("page", "mode_page")
    client.close()


@pytest.mark.parametrize("body, sentence", [
    ({"list": pb.List(of=pb.LIST_HOSTS, filter="stat=up")}, "did you mean 'state'?"),
    ({"list": pb.List(of=pb.LIST_JOBS, filter="=")}, "a condition begins with a column"),
    ({"list": pb.List(of=pb.LIST_ARCS, filter="arc=1")}, "this list takes no filter"),
    ({"get_audit": pb.GetAudit(filter="who>1")}, "'who' is a text"),
])
def test_the_controller_refuses_what_it_cannot_read(many, body, sentence):
    client = Client(many)
    assert sentence in client.ask(**body).refused.text
    client.close()


def test_jobs_that_go_between_pages_leave_the_others_in_place(cluster):
    daemon = cluster.daemon()
    jobs = [{"id": n, "name": ("odd", "even")[n % 2 == 0] + str(n),
             "stages": [{"tasks": 1, "compute_ms": 5}]} for n in range(1, 201)]
    daemon.ctl("submit", workload(daemon.folder, jobs))
    client, seen, gone, changed = Client(daemon), [], set(), False
    for page in pages(client, of=pb.LIST_JOBS, filter="name~even"):
        seen += [row.job for row in page.jobs]
        changed |= page.changed
        if page.cursor and len(gone) < 40:
            for job in (seen[-1], seen[-1] + 2, seen[-1] + 3):
                if Client(daemon).ask(cancel_job=pb.CancelJob(job=job)).HasField("accepted"):
                    gone.add(job)
    client.close()
    assert changed and len(gone) > 10
    assert len(set(seen)) == len(seen), "none twice"
    assert set(seen) >= {n for n in range(2, 201, 2)} - gone, "none missed"
    assert all(n % 2 == 0 for n in seen)


def test_an_older_controller_is_not_asked(tmp_path):
    """It would ignore the filter, and list everything."""
    said = older_says(tmp_path / "s", "hosts", "--filter", "state=up")
    assert "knows no --filter and no --since" in said


def test_rows_are_written_before_the_list_is_whole(tmp_path):
    """A controller that has one row, and looks on for more of them until that one is read."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        listener.settimeout(20)
        command = [BUILD / "duopolyctl", "-s", tmp_path / "s", "--form", "json-lines", "counters"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asks:
            there, _ = listener.accept()
            there.settimeout(20)
            page, deadline = pb.Page(cursor=1, counters=[pb.CounterRow(value=7)]), time.time() + 20
            while not select.select([asks.stdout], [], [], 0)[0]:
                assert time.time() < deadline, "the row is not written"
                assert pb.Envelope.FromString(there.recv(65536)).HasField("list")
                there.send(pb.Envelope(version=1, page=page).SerializeToString())
                page = pb.Page(cursor=page.cursor + 1)
            assert json.loads(asks.stdout.readline())["value"] == 7
            there.recv(65536)
            there.send(pb.Envelope(version=1, page=pb.Page()).SerializeToString())
            last, = asks.communicate(timeout=20)[0].splitlines()
            assert json.loads(last)["partial"] is False and asks.returncode == 0
            there.close()


# ---- some of the rows ----


def test_the_controller_lists_jobs_in_their_turn(cluster):
    """The last ones are the shortest; a page has as many rows as are asked for."""
    daemon = cluster.daemon()
    daemon.ctl("policy", "turn", "sjf")
    jobs = [{"id": n, "name": f"j{n}", "stages": [{"tasks": 1, "compute_ms": 100 * (40 - n)}]}
            for n in range(1, 31)]
    daemon.ctl("submit", workload(daemon.folder, jobs))
    client, cursor, seen = Client(daemon), 0, []
    try:
        for n in (7, 7, 7, 7, 2):
            page = client.ask(list=pb.List(of=pb.LIST_JOBS, in_turn=True, limit=7,
                                           cursor=cursor)).page
            assert len(page.jobs) == n
            seen += [(row.place, row.name) for row in page.jobs]
            cursor = page.cursor
        assert not cursor and seen == [(n, f"j{31 - n}") for n in range(1, 31)]
        page = client.ask(list=pb.List(of=pb.LIST_JOBS, in_turn=True, limit=2,
                                       filter="name~j1")).page
        assert [(row.place, row.name) for row in page.jobs] == [(12, "j19"), (13, "j18")]
        assert page.cursor == 13
        beyond = client.ask(list=pb.List(of=pb.LIST_JOBS, in_turn=True, cursor=2**63)).page
        assert not beyond.jobs and not beyond.cursor
    finally:
        client.close()
