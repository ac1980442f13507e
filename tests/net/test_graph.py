"""`duopolyctl graph` of a real daemon: what duopoly-mcmf finds on its DIMACS costs the same; DOT, a
picture, JSON; more arcs than a page has; and the sentence where nothing is to be seen."""

import itertools
import subprocess
import xml.etree.ElementTree

import pytest

import flow_picture
from controller import BUILD, TOP, Daemon, wait_until, workload

FLOW = "policy: {preset: flow}\n"
PAGE = 160  # arcs: duopoly.ArcPage.rows in schemas/duopoly.options


def text(daemon, *words):
    """The answer as text."""
    command = [BUILD / "duopolyctl", "-s", daemon.socket, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout


@pytest.fixture
def crowd():
    """A controller under `flow` that has placed jobs of so many tasks each on three hosts of
    `slots`, all at once; a fourth is taken."""
    made = []

    def begin(slots, tasks):
        made.append(Daemon(config=flow_picture.CONFIG))
        hosts = [("w0", "r1", 1), *((f"w{i}", "r2", slots) for i in (1, 2, 3))]
        made.extend(flow_picture.begin(made[0], hosts, tasks))
        return made[0]

    yield begin
    for thing in reversed(made):
        thing.remove() if isinstance(thing, Daemon) else thing.close()


def mcmf(folder, dimacs):
    path = folder / "graph.min"
    path.write_text(dimacs)
    done = subprocess.run([BUILD / "duopoly-mcmf", path], capture_output=True, text=True,
                          timeout=20, check=True)
    return int(done.stdout.split()[1])


def test_mcmf_finds_the_same_cost(crowd, tmp_path):
    daemon = crowd(2, [4, 4, 4])
    graph = daemon.ctl("graph")
    assert graph["round"] > 0 and graph["cost"] > 0
    assert mcmf(tmp_path, text(daemon, "graph", "--as", "dimacs")) == graph["ranked_cost"]
    assert sum(arc["flow"] for arc in graph["arcs"] if arc["what"] == "slots") <= 6
    assert {"tasks of 4/0", "job 4 waits"} <= {arc["tail_is"] for arc in graph["arcs"]}
    assert {"host w0", "host w1", "host w3"} <= {arc["head_is"] for arc in graph["arcs"]}


def test_arcs_come_in_portions(crowd, tmp_path):
    daemon = crowd(2, [1] * 120)
    graph = daemon.ctl("graph")
    assert len(graph["arcs"]) > 2 * PAGE
    assert len({arc["arc"] for arc in graph["arcs"]}) == len(graph["arcs"])
    assert mcmf(tmp_path, text(daemon, "graph", "--as", "dimacs")) == graph["ranked_cost"]


def test_dot_and_picture(crowd, tmp_path):
    daemon = crowd(1, [2, 2])
    dot = text(daemon, "graph", "--svg", tmp_path / "graph.svg")
    assert dot.startswith("// optimum ") and dot.rstrip().endswith("}")
    assert text(daemon, "graph", "--as", "dot") == dot
    nodes = {line.split()[0] for line in dot.splitlines() if "label=" in line and "->" not in line}
    ends = {word for line in dot.splitlines() if "->" in line for word in line.split()[:3:2]}
    assert nodes == ends and len(nodes) > 5
    picture = xml.etree.ElementTree.parse(tmp_path / "graph.svg")
    words = "".join(picture.getroot().itertext())
    assert all(word in words for word in ("host w1", "job 3 waits", "sink"))


def test_the_page_shows_what_is_drawn(cluster, tmp_path):
    """docs/explain/flow.md; `make flow-picture` draws it anew."""
    daemon = cluster.daemon(config=flow_picture.CONFIG)
    agents = flow_picture.begin(daemon, flow_picture.HOSTS, flow_picture.JOBS)
    graph = daemon.ctl("graph", "--svg", tmp_path / "graph.svg")
    for agent in agents:
        agent.close()
    page = (TOP / "docs" / "explain" / "flow.md").read_text()
    assert f"cost {graph['cost']}" in page
    drawn = (TOP / "docs" / "explain" / "flow-graph.svg").read_text()
    assert (tmp_path / "graph.svg").read_text() == drawn


def test_explain_has_the_arcs(crowd):
    daemon = crowd(1, [1] * 4)
    ready = {2, 3, 4, 5} - {row["job"] for row in daemon.ctl("tasks")["tasks"]}
    answer = daemon.ctl("explain", f"{ready.pop()}/0/0")
    facts = {fact["name"]: fact["value"] for fact in answer["facts"]}
    assert facts["arc_block_1"] == "w0: 0, full" and facts["stage_waits"] == "1"
    assert int(facts["arc_wait"]) > 0
    assert ("Its arcs: w0 (its block, full) 0; elsewhere in the rack of a block 1016; any other "
            "host 2040") in answer["text"]
    running = daemon.ctl("explain", f"{daemon.ctl('tasks')['tasks'][1]['job']}/0/0")
    assert "displaced_job" in {fact["name"] for fact in running["facts"]}


def finish_what_runs(agent, started):
    """Takes what has been sent to the agent, and ends what it was told to start."""
    while agent.socket.poll(10):
        agent.receive_start()
    for attempt, start in list(agent.running.items()):
        started.append((start.job, start.stage, start.task))
        agent.state(attempt, "DONE")
        del agent.running[attempt]


def test_ten_switches_lose_nothing(cluster):
    """Objectives change while jobs run: each task is started and accepted once."""
    daemon = cluster.daemon(config=FLOW)
    agents = [cluster.agent(daemon, name, slots=2) for name in ("w1", "w2", "w3")]
    for agent in agents:
        agent.join()
    wait_until(lambda: daemon.ctl("status")["hosts_up"] == 3, "hosts")
    daemon.ctl("submit", workload(daemon.folder, [flow_picture.job(n, 4) for n in range(1, 31)],
                                  hosts=3))
    started, switches = [], itertools.cycle(["quincy", "borg", "duopoly", "weights"])
    for _ in range(10):
        daemon.ctl("policy", "place", "flow", "objective=" + next(switches))
        for agent in agents:
            finish_what_runs(agent, started)
    assert daemon.ctl("status")["jobs_active"] > 0, "they changed in the middle"

    def all_done():
        for agent in agents:
            finish_what_runs(agent, started)
        return daemon.ctl("status")["jobs_done"] == 30
    wait_until(all_done, "all jobs")
    assert len(started) == 120 and len(set(started)) == 120
    assert daemon.ctl("status")["attempts"] == 0


@pytest.mark.parametrize("words, status, sentence", [
    (["graph", "--as", "eos"], 2, "there is no format 'eos' of a graph; there are: dot, dimacs"),
    (["graph", "--from", "file"], 2, "'graph' takes no --from"),
    (["graph", "job"], 2, "write: duopolyctl graph"),
    (["graph"], 1, "the placement joint decides by no graph; those that do: flow (duopolyctl "
                   "policy place NAME)"),
])
def test_what_cannot_be_shown(cluster, words, status, sentence):
    assert sentence in cluster.daemon().ctl(*words, expect=status)


def test_before_the_first_optimum(cluster):
    daemon = cluster.daemon(config=FLOW)
    assert "there is no optimum yet" in daemon.ctl("graph", expect=1)
