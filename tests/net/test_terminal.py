"""A hostile workload's words never drive the terminal of who reads them."""
import json
import subprocess

import pytest

from controller import BUILD

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
