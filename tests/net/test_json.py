"""`duopolyctl -j`: each answer and each refusal is one document that its schema describes
(schemas/json/v1, docs/operate/cli.md), and what was promised there does not change."""
import csv
import hashlib
import io
import json
import re
import socket
import subprocess
import threading

import pytest

from controller import BUILD, TOP, answers, pb, wait_until, workload
from test_controller import one_job
from test_manual import COMMANDS

SCHEMAS = TOP / "schemas" / "json" / "v1"
PROMISED = json.loads((SCHEMAS / "answers.json").read_text(encoding="utf-8"))
DEFINED = PROMISED["definitions"]
NAMED = {name: value["properties"]["schema"]["const"] for name, value in DEFINED.items()
         if "schema" in value.get("properties", {}) and "const" in value["properties"]["schema"]}


# ---- the schemas ----


def digest(definition):
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def without(schema, names):
    """The schema without the members of these names."""
    if isinstance(schema, list):
        return [without(one, names) for one in schema]
    if not isinstance(schema, dict):
        return schema
    left = {key: without(one, names) for key, one in schema.items()}
    if "properties" in left:
        left["properties"] = {key: one for key, one in left["properties"].items()
                              if key not in names}
    if "required" in left:
        left["required"] = [name for name in left["required"] if name not in names]
    return left


def digests(definition):
    """As it was promised at first, and each time that members were added: `added` names them, a
    list each time. So nothing but such members differs."""
    plain = {key: one for key, one in definition.items() if key != "added"}
    added = definition.get("added", [])
    return [digest(without(plain, {name for names in added[n:] for name in names}))
            for n in range(len(added) + 1)]


def test_what_was_promised_does_not_change():
    frozen = {}
    for line in (SCHEMAS / "FROZEN").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            promised, name = line.split()
            frozen.setdefault(name, []).append(promised)
    now = {name: digests(definition) for name, definition in DEFINED.items()}
    changed = sorted(name for name, promised in frozen.items()
                     if now.get(name, [])[:len(promised)] != promised)
    assert not changed, "readers rely on these: put them back, or begin schemas/json/v2"
    new = ["%s %s" % (promised, name) for name in sorted(now)
           for promised in now[name][len(frozen.get(name, [])):]]
    assert not new, "promise these, too, in schemas/json/v1/FROZEN:\n" + "\n".join(new)


def test_an_added_member_leaves_the_promise_of_before():
    before = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    after = {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
             "required": ["a", "b"], "added": [["b"]]}
    assert digests(after)[0] == digests(before)[0] and len(set(digests(after))) == 2
    other = dict(after, properties={"a": {"type": "integer"}, "b": {"type": "integer"}})
    assert digests(other)[0] != digests(before)[0]


def test_the_schemas_are_those_of_answers():
    assert all(name == schema for name, schema in NAMED.items())
    assert sorted(NAMED) == [one["$ref"].removeprefix("#/definitions/")
                             for one in PROMISED["anyOf"]]
    assert set(answers.LISTS) <= set(NAMED)


def members(schema):
    """(name, schema) of all members below."""
    if isinstance(schema, list):
        for one in schema:
            yield from members(one)
    elif isinstance(schema, dict):
        for name, one in schema.get("properties", {}).items():
            yield name, one
        for one in schema.values():
            yield from members(one)


AMOUNT = re.compile(r"_(ns|bytes|permille|bps|packets|ppm|milli)$")


def test_a_members_name_says_its_type():
    seen = set()
    for name, schema in members(DEFINED):
        kinds = schema.get("type") if isinstance(schema, dict) else None
        if name in answers.IDENTIFIERS:
            assert "definitions/id" in schema["$ref"], name
            seen.add(name)
        elif AMOUNT.search(name):
            assert kinds in ("integer", ["integer", "null"]), name
    assert seen == answers.IDENTIFIERS


# ---- answers ----


def once(pairs):
    assert len({name for name, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


@pytest.fixture(name="valid", scope="module")
def _valid():
    """Reads a document and holds it to its schema."""
    jsonschema = pytest.importorskip("jsonschema")

    def read(text):
        document = json.loads(text, object_pairs_hook=once)
        own = {"$ref": "#/definitions/" + document["schema"], "definitions": DEFINED}
        jsonschema.Draft7Validator(own).validate(document)
        assert jsonschema.Draft7Validator(PROMISED).is_valid(document)
        return document
    return read


def run(*words):
    return subprocess.run([BUILD / "duopolyctl", *map(str, words)], capture_output=True, text=True,
                          timeout=40, check=False)


def formed(form, at, words):
    return run("--form", form, "-s", at, *words).stdout


def full(message):
    """Each member is something."""
    for field in message.DESCRIPTOR.fields:
        if field.label == field.LABEL_REPEATED:
            continue
        if field.message_type:
            full(getattr(message, field.name))
        elif field.type == field.TYPE_STRING:
            setattr(message, field.name, "x")
        elif field.type == field.TYPE_BOOL:
            setattr(message, field.name, True)
        elif field.type != field.TYPE_BYTES:
            setattr(message, field.name, 1 if field.enum_type else 7)
    return message


PAGES = {
    pb.LIST_JOBS: ("page", "jobs"), pb.LIST_TASKS: ("page", "tasks"),
    pb.LIST_HOSTS: ("page", "hosts"), pb.LIST_COUNTERS: ("page", "counters"),
    pb.LIST_KEYS: ("page", "keys"), pb.LIST_SWITCHES: ("switch_page", "switches"),
    pb.LIST_SWITCH_PORTS: ("switch_page", "ports"),
    pb.LIST_SWITCH_STEPS: ("switch_page", "steps"), pb.LIST_LINKS: ("link_page", "rows"),
    pb.LIST_GUESTS: ("guest_page", "rows"), pb.LIST_COMBINATIONS: ("combination_page", "rows"),
    pb.LIST_UNITS: ("unit_page", "rows"), pb.LIST_USERS: ("user_page", "rows"),
    pb.LIST_DEBTS: ("debt_page", "rows"), pb.LIST_SHARES: ("share_page", "rows"),
    pb.LIST_ARCS: ("arc_page", "rows"), pb.LIST_CONFIG: ("config_page", "rows"),
    pb.LIST_CONFIG_CHANGES: ("config_page", "rows"), pb.LIST_HISTORY: ("history_page", "rows"),
    pb.LIST_FLOWS: ("asked_page", "flows"),
    pb.LIST_QUEUES: ("asked_page", "queues"), pb.LIST_COFLOWS: ("coflow_page", "rows"),
    pb.LIST_MACROFLOWS: ("macroflow_page", "rows"), pb.LIST_MODES: ("mode_page", "rows")}
STATE = (TOP / "tests" / "fuzz" / "state" / "one_slot").read_bytes()
DATAPLANE = [("host", "came_packets"), ("host", "flooded_packets"), ("host", "shut_ms"),
             ("host queue 0", "in_packets"), ("worker", "busy_cycles"), ("macs", "alive"),
             ("flows", "alive")]


def spans():
    return pb.ShareSpans(slots_milli=[5], mem_mb=[5], right_ppm=[5], wanted_permille=[5])


def page_of(kind, envelope):
    """One row that has everything, and one that has nothing."""
    page, rows = PAGES[kind]
    page = getattr(envelope, page)
    full(getattr(page, rows).add())
    getattr(page, rows).add()
    if kind == pb.LIST_COUNTERS:
        page.counters.extend(pb.CounterRow(source=source, name=name, value=7)
                             for source, name in DATAPLANE)
    elif kind == pb.LIST_SHARES:
        page.entries = 7
        page.all.CopyFrom(spans())
        page.rows[0].spans.CopyFrom(spans())
    elif kind == pb.LIST_ARCS:
        page.round = 7
        page.rows[1].tail = page.rows[1].head = 1


def answer_to(request):
    kind, envelope = request.WhichOneof("body"), pb.Envelope(version=1)
    if kind == "list":
        page_of(request.list.of, envelope)
    elif kind == "get_status":
        full(envelope.status).wrong.append("x")
        full(envelope.status.policies.add())
        envelope.status.policies.add()
    elif kind == "get_state":
        envelope.state_page.part = STATE
        envelope.state_page.last = True
    elif kind in ("explain", "explain_thing"):
        full(full(envelope.explanation).facts.add())
    elif kind == "get_events":
        full(envelope.event_page.rows.add())
        envelope.event_page.rows.add()
        envelope.event_page.epoch = 7
        envelope.event_page.lost = 3 if request.get_events.wait_ms else 0
    elif kind == "get_audit":
        full(envelope.audit_page.rows.add())
    elif kind in ("begin_capture", "end_capture"):
        full(envelope.captured)
    else:
        full(envelope.accepted)
    return envelope


@pytest.fixture(name="played")
def _played(tmp_path):
    """The socket of a controller, and data plane, that the test plays."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / "s"))
    listener.listen()

    def serve():
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            with client:
                while request := client.recv(65536):
                    answer = answer_to(pb.Envelope.FromString(request))
                    client.send(answer.SerializeToString())
    thread = threading.Thread(target=serve)
    thread.start()
    yield tmp_path / "s"
    listener.shutdown(socket.SHUT_RDWR)
    thread.join(20)
    listener.close()


READS = [
    (["status"], "status"), (["mode"], "mode"), (["jobs"], "jobs"), (["jobs", "-a"], "jobs"),
    (["job", "7"], "job"), (["tasks"], "tasks"), (["tasks", "7"], "tasks"),
    (["tasks", "7", "-a"], "tasks"), (["hosts"], "hosts"), (["units"], "units"),
    (["units", "x"], "units"), (["queues"], "queues"), (["links"], "links"),
    (["flows", "x"], "flows"), (["queues", "x"], "port_queues"),
    (["coflows"], "coflows"), (["macroflows"], "macroflows"),
    (["mode", "history"], "mode_changes"),
    (["counters"], "counters"), (["fastpath"], "fastpath"),
    (["fastpath", "capture", "all", "9"], "capture"), (["fastpath", "capture", "end"], "capture"),
    (["switches"], "switches"), (["switch", "x"], "switch"), (["switch", "x", "plan"], "switch"),
    (["audit"], "audit"), (["events"], "events"), (["policy"], "policies"),
    (["policy", "--all"], "combinations"),
    (["users"], "users"), (["debts"], "debts"), (["shares"], "shares"), (["graph"], "graph"),
    (["graph", "--as", "dimacs"], "graph"), (["explain", "7/0/0"], "explanation"),
    (["explain", "7"], "explanation"), (["explain", "mode"], "explanation"),
    (["explain", "x"], "explanation"), (["explain", "x:uplink"], "explanation"),
    (["whatif", "policy", "turn=fifo"], "whatif"), (["whatif", "host-down", "h0"], "whatif"),
    (["keys", "list"], "keys"), (["config", "show"], "config"),
    (["config", "diff"], "config_changes"),
    (["config", "check", TOP / "schemas" / "duopolyd.yaml"], "config_check"),
    (["history"], "history"),
    (["history", "--who", "x", "--what", "x", "--since", "1h", "--result", "done", "--limit", "1"],
     "history"),
    (["history", "--columns", "job,ended", "--sort", "-ended"], "selected"),
    (["flows", "x", "--columns", "peer,level", "--limit", "1"], "selected"),
    (["queues", "x", "--filter", "port!=-", "--columns", "level"], "selected"),
    (["coflows", "--filter", "on_wire=yes"], "coflows"),
    (["macroflows", "--since", "1h", "--columns", "left_bytes"], "selected"),
    (["mode", "history", "--since", "1h", "--limit", "2"], "mode_changes"),
    (["config", "show", "--columns", "key,value"], "selected"),
    (["config", "diff", "--sort", "-key"], "config_changes"),
    (["switch", "x", "render", "--as", "eos", "--from", TOP / "schemas" / "switch.yaml"],
     "render"),
    (["hosts", "--columns", "text,name", "--sort", "-name"], "selected"),
    (["audit", "--columns", "n", "--limit", "1"], "selected"),
    (["jobs", "--filter", "state=x", "--limit", "3", "--sort", "place,-job"], "jobs"),
    (["policy", "--filter", "parameter=-"], "policies"),
    (["queues", "--filter", "role=switch", "--columns", "port"], "selected")]
STREAMS = ["watch", "record"]  # which go on: as lines, test_a_stream
DRAWN = ["top"]  # test_top.py
CHANGES = [
    (["submit"], "submitted"), (["job", "hold", "1"], "change"),
    (["job", "release", "1"], "change"), (["job", "set", "1", "priority=2"], "change"),
    (["job", "requeue", "1"], "change"), (["cancel", "1"], "change"),
    (["config", "reload"], "change"), (["log", "level"], "log_level"),
    (["log", "level", "debug"], "change"), (["support-bundle"], "bundle"),
    (["drain", "h1", "--wait"], "change"), (["drain", "h1"], "change"),
    (["drain", "h1", "--undo"], "change"), (["policy", "turn", "fifo"], "change"),
    (["user", "set", "ann"], "change"), (["user", "leave", "ann"], "change"),
    (["store", "check"], "change"), (["host", "forget", "h2"], "change"),
    (["keys", "make", "w[1-2]", "--role", "agent", "--out"], "made_keys"),
    (["keys", "rotate", "w1", "--out"], "made_keys"), (["keys", "revoke", "w[1-2]"], "change"),
    (["keys", "rotate", "controller"], "change"), (["stance", "observe", "--all"], "stance")]


def test_every_verb_is_asked():
    asked = {words[0] for words, _ in READS + CHANGES}
    assert asked | set(STREAMS) | set(DRAWN) >= set(COMMANDS)


@pytest.mark.parametrize("words, schema", READS, ids=lambda value: value if isinstance(value, str)
                         else "-".join(map(str, value[:3])))
def test_a_read(valid, played, words, schema):
    done = run("-j", "-s", played, *words)
    assert done.returncode == (8 if words == ["status"] else 0), done
    document = valid(done.stdout)
    assert document["schema"] == schema and document["partial"] is False
    assert not done.stderr, done
    answers.read(done.stdout)
    *items, last = map(json.loads, formed("json-lines", played, words).splitlines())
    assert dict(last, items=items, generated_at=document["generated_at"]) == document
    header, *rows = csv.reader(io.StringIO(formed("csv", played, words)))
    assert len(rows) == len(items) and {len(row) for row in rows} <= {len(header)}
    assert all(len(set(header) - set(item)) == 0 for item in items)
    assert formed("text", played, words), "the same for people"


def lines_of(valid, text):
    """The items of lines, held to the schema of the document that the last one says."""
    *items, last = map(json.loads, text.splitlines())
    assert "items" not in last
    return valid(json.dumps(dict(last, items=items)))["items"]


def test_a_stream(valid, played, tmp_path):
    done = run("-j", "-s", played, "watch", "--limit", 2)
    assert done.returncode == 0 and not done.stderr, done
    lost, one, other = lines_of(valid, done.stdout)
    assert lost["kind"] == "watch" and lost["what"] == "lost" and lost["lost"] == 3
    assert one["sequence"] == "7:7" and one["text"] == "x: x: x: x" and other["text"] is None
    assert formed("json-lines", played, ("watch", "--limit", 2)).count("\n") == 4
    assert formed("csv", played, ("watch", "--limit", 2)).count("\n") == 4
    assert formed("text", played, ("watch", "--limit", 2)).count("\n") == 4
    done = run("-j", "-s", played, "record", tmp_path / "new", "--limit", 2)
    document = valid(done.stdout)
    assert document["schema"] == "recorded" and document["items"] == [
        {"file": str(tmp_path / "new"), "events": 2, "lost": 3, "restarts": 0}]
    assert lines_of(valid, (tmp_path / "new").read_text(encoding="utf-8"))[1] == one
    assert formed("text", played, ("record", tmp_path / "new text", "--limit", 2))


def test_changes(valid, cluster, tmp_path):
    daemon = cluster.daemon(keys=True)
    h1 = cluster.agent(daemon, "h1", key=daemon.key("h1"))
    h2 = cluster.agent(daemon, "h2", host=2, key=daemon.key("h2"))
    h1.join(), h2.join()
    h2.close()
    config = {"submit": workload(tmp_path, [one_job(maps=3)]), "--out": tmp_path / "keys",
              "support-bundle": tmp_path / "bundle.tar"}
    for words, schema in CHANGES:
        if schema == "stance":
            continue
        if words[0] == "host":
            wait_until(lambda: daemon.ctl("hosts")["hosts"][1]["state"] != "up", "it is silent")
        done = run("-j", "-s", daemon.socket, *words,
                   *([config[words[-1]]] if words[-1] in config else []))
        lacks = schema == "bundle" and done.returncode == 7  # the journal
        assert (done.returncode == 0 or lacks) and not done.stderr, done
        document = valid(done.stdout)
        assert document["schema"] == schema and document["partial"] is lacks
    for words, schema in READS[:1] + READS[2:4] + READS[8:10] + [(["history"], "history")]:
        document = valid(run("-j", "-s", daemon.socket, *words).stdout)
        assert document["schema"] == schema


def test_a_stance_that_all_have(valid, cluster):
    done = run("-j", "-s", cluster.daemon().socket, "stance", "observe", "--all")
    assert done.returncode == 0 and valid(done.stdout)["schema"] == "stance"


# ---- refusals ----


def refused(valid, done, code, reason):
    """One document with an error, and nothing else; its sentence."""
    document = valid(done.stdout)
    assert done.returncode == document["error"]["code"] == code and not done.stderr, done
    assert document["error"]["reason"] == reason and document["schema"] == "error", document
    assert len(document["error"]["text"].splitlines()) == 1
    return document["error"]["text"]


@pytest.mark.parametrize("words, sentence", [
    ([], "say what to do; --help lists the commands"),
    (["--nonsense", "status"], "unrecognized option '--nonsense'"),
    (["status", "--limit"], "option '--limit' requires an argument"),
    (["submit", "f", "--id", "0"], "--id is a number from 1, not '0'"),
    (["hsots"], "there is no command 'hsots'; did you mean 'hosts'? (duopolyctl --help "),
    (["x" * 70], "there is no command '" + "x" * 70 + "'; duopolyctl --help lists all"),
    (["cancel", "hold"], "a job is a number from 1, not 'hold'"),
    (["tasks", "-a"], "--all lists every task of one job: duopolyctl tasks JOB --all"),
    (["tasks", "requeue"], "a job is a number from 1, not 'requeue'"),
    (["status", "--form", "xml"], "there is no form 'xml'"),
    (["job", "x"], "a job is a number from 1, not 'x'"),
    (["jobs", "--undo"], "'jobs' takes no --undo"),
    (["whatif", "host", "w1"], "whatif takes one of: policy NAME, host-down HOST, job FILE; not "),
    (["whatif", "host-down", "w 1"], "'w 1' cannot be a host's name"),
    (["whatif", "policy"], "write: duopolyctl whatif policy NAME | host-down HOST | job FILE"),
    (["status", "--key", "f"], "--controller and --key go together"),
    (["hosts", "--filter", "stat=up"],
     "--filter: filter:1: there is no column 'stat'; did you mean 'state'?"),
    (["jobs", "--columns", "nmae"], "--columns: there is no column 'nmae'; did you mean 'name'?"),
    (["tasks", "--sort", "-lvl"], "--sort: there is no column 'lvl'; did you mean 'level'?"),
    (["jobs", "--since", "1h"], "'jobs' has no time that --since could be about"),
    (["keys", "make", "a", "--limit", "1"], "'keys' takes no --filter, --columns, --sort, "),
    (["mode", "--limit", "1"], "'mode' takes no --filter, --columns, --sort, --since and --limit "),
    (["config", "check", "f", "--sort", "key"], "'config' takes no --filter, "),
    (["events", "--filter", "kind=job"], "'events' takes no --filter, --columns and --sort"),
    (["watch", "--columns", "kind"], "'watch' takes no --filter, --columns and --sort"),
    (["flows", "x", "--since", "1h"], "'flows' has no time that --since could be about"),
    (["top"], "top is for a terminal, and standard output is none: `duopolyctl jobs` lists"),
    (["top", "x"], "top shows no 'x'; it shows: hosts, links, jobs"),
    (["top", "links", "--filter", "hst=w1"],
     "--filter: filter:1: there is no column 'hst'; did you mean 'host'?"),
    (["top", "--sort", "job"], "'top' takes no --columns, --sort, --since and --limit"),
    (["queues", "x", "--sort", "lvl"], "--sort: there is no column 'lvl'; did you mean 'level'?"),
])
def test_wrong_arguments(valid, words, sentence):
    assert refused(valid, run("-j", *words), 2, "arguments").startswith(sentence)
    if words[-1:] != ["--limit"]:  # which would take it for its number
        assert refused(valid, run(*words, "--json"), 2, "arguments").startswith(sentence)
    if "--form" not in words:
        line, = run("--form", "json-lines", *words).stdout.splitlines()
        assert json.loads(line)["error"]["text"].startswith(sentence)
    done = run(*words)
    assert done.returncode == 2 and not done.stdout, "for people on standard error"
    assert sentence in done.stderr


def test_what_is_refused(valid, cluster, tmp_path):
    daemon = cluster.daemon(keys=True)
    reader = daemon.key("ann", role="read-only")
    here = ("-j", "-s", daemon.socket)
    there = ("-j", "--controller", daemon.address, "--key", reader)
    assert "nonsense" in refused(valid, run(*here, "policy", "turn", "sjf", "nonsense=1"), 1,
                                 "unsupported")
    assert "no job 7" in refused(valid, run(*here, "job", 7), 5, "unknown")
    assert "none" in refused(valid, run(*here, "submit", tmp_path / "none"), 5, "unknown")
    refused(valid, run("-j", "-s", "/nowhere", "status"), 3, "unreachable")
    refused(valid, run(*there, "drain", "h1"), 4, "permission")
    daemon.ctl("submit", workload(tmp_path, [one_job()]))
    other = workload(tmp_path, [one_job(maps=2)])
    assert "another content" in refused(valid, run(*here, "submit", other), 1, "conflict")


def test_who_does_not_answer(valid, cluster):
    daemon = cluster.daemon()
    h1 = cluster.agent(daemon, "h1")
    h1.join()
    words = ("stance", "observe", "--all")
    assert "h1" in refused(valid, run("-j", "-s", daemon.socket, *words), 6, "late")


def test_what_was_done_in_part(valid, cluster, tmp_path):
    """Of 65 keys 64 are taken at once; the last one is there already."""
    daemon = cluster.daemon(keys=True)
    folder = tmp_path / "keys"
    daemon.ctl("keys", "make", "w65", "--role", "agent", "--out", folder)
    done = run("-j", "-s", daemon.socket, "keys", "make", "w[1-65]", "--role", "agent",
               "--out", folder)
    document = valid(done.stdout)
    assert done.returncode == 7 and not done.stderr, done
    assert len(document["items"]) == 64 and document["partial"] is True
    assert document["error"]["reason"] == "partial" and "w65.key" in document["error"]["text"]
