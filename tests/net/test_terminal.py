"""A hostile workload's words never drive the terminal of who reads them."""
import json
import subprocess

import pytest

from controller import BUILD, TOP, Played, pb

NASTY = "\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202e"


def workload(folder, name="j", description=NASTY, **job):
    stages = [{"tasks": 1, "input_bytes": 1000, "replicas": [[0]], "compute_ms": 5}]
    path = folder / "w.jsonl"
    lines = [{"duopoly_workload": 1, "hosts": 2, "description": description}, {"id": 1, "name": name, "stages": stages, **job}]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n")
    return path


def said(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, timeout=20, check=False)
    return done.returncode, (done.stdout + done.stderr).decode()


def assert_harmless(text):
    assert not [c for c in text if c != "\n" and not c.isprintable()], repr(text)


@pytest.mark.parametrize("words", [["duopoly-workload", "describe"], ["duopoly-sim", "run", "--workload"]])
def test_descriptions(tmp_path, words):
    status, text = said(BUILD / words[0], *words[1:], workload(tmp_path))
    assert status == 0 and "owned" in text
    assert_harmless(text)


@pytest.mark.parametrize("broken", [
    {"name": NASTY, "stages": [{"tasks": 0}]},
    {"name": NASTY},
    {NASTY: 1},
    {"kind": NASTY},
    {"stages": [{"tasks": 1, "command": NASTY, NASTY: 2}]},
])
def test_refused_submissions(cluster, tmp_path, broken):
    daemon = cluster.daemon()
    words = dict(broken)
    path = workload(tmp_path, words.pop("name", "j"), **words)
    for program in (["duopolyctl", "-s", daemon.socket, "submit"], ["duopoly-workload", "describe"]):
        assert_harmless(said(BUILD / program[0], *program[1:], path)[1])
    for form in ([], ["-j"]):
        assert_harmless(said(BUILD / "duopolyctl", "-s", daemon.socket, *form, "jobs", "-a")[1])
    assert_harmless(daemon.words())


def test_recordings(tmp_path):
    recording = next((TOP / "tests" / "recordings").glob("greedy*.log")).read_text()
    path = tmp_path / "r.log"
    path.write_text(recording.replace("d start reason=", "d start reason=" + NASTY.replace("\r", ""), 1))
    status, text = said(BUILD / "duopoly-sim", "replay", "--quiet", path)
    assert status == 1 and "recorded:" in text and "owned" in text
    assert_harmless(text)


def graph_said(tmp_path, rows, *words):
    def answer(request):
        if request.HasField("list"):
            return pb.Envelope(version=1, arc_page=pb.ArcPage(rows=rows, round=1))
        return pb.Envelope(version=1, status=pb.Status())
    path = tmp_path / "s"
    path.unlink(missing_ok=True)
    with Played(path, answer):
        return said(BUILD / "duopolyctl", "-s", path, "graph", *words)


@pytest.mark.parametrize("form", ["dot", "dimacs"])
def test_graphs(tmp_path, form):
    rows = [pb.ArcRow(arc=1, tail=2, head=1, tail_is=NASTY, head_is=NASTY, capacity=1, flow=1)]
    status, text = graph_said(tmp_path, rows, "--as", form)
    assert status == 0 and "owned" in text
    assert_harmless(text)


def test_a_graph_with_a_node_that_cannot_be(tmp_path):
    """It takes neither all memory nor for ever."""
    status, text = graph_said(tmp_path, [pb.ArcRow(arc=1, tail=2**32 - 1, head=1, capacity=1, flow=1)])
    assert status != 0 and "names node 4294967295" in text
