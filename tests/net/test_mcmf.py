"""duopoly-mcmf as its users call it."""

import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("BUILD", "build"), "duopoly-mcmf").resolve()

PROBLEM = """c two ways from 1 to 4
p min 4 5
n 1 4
n 4 -4
a 1 2 0 4 2
a 1 3 0 2 2
a 2 3 0 2 1
a 2 4 0 3 3
a 3 4 0 5 1
"""


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60)


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.min"
    path.write_text(PROBLEM)
    return path


def algorithms():
    lines = run("--help").stdout.splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ")]


@pytest.mark.parametrize("algorithm", algorithms())
def test_one_problem(problem, algorithm):
    done = run("--algorithm", algorithm, problem)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0] == "s 14"
    flows = [list(map(int, line.split()[1:])) for line in lines[1:]]
    out = {node: 0 for node in range(1, 5)}
    for tail, head, flow in flows:
        out[tail] += flow
        out[head] -= flow
    assert out == {1: 4, 2: 0, 3: 0, 4: -4}


def test_rounds_go_on_after_an_infeasible_one(problem, tmp_path):
    changes = tmp_path / "changes"
    changes.write_text("r\nm 1 0 1 2\nr\nm 1 0 4 2\nn 5 1\nn 4 -5\na 9 5 4 0 1 7\nr\nd 9\nx 5\nn 4 -4\na 9 1 4 0 9 1\n")
    done = run("--changes", changes, problem)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 3
    assert [line[0] for line in lines] == ["s", "infeasible", "s", "s"]
    assert "arc 1 (1 -> 2)" in done.stdout
    assert [line[1] for line in lines if line[0] == "s"] == ["14", "21", "4"]
    assert all(line[4] == "certified" for line in lines if line[0] == "s")


def test_a_lower_bound_that_cannot_be_kept_is_named(tmp_path):
    path = tmp_path / "problem.min"
    path.write_text("p min 3 2\nn 1 1\nn 3 -1\na 1 2 0 1 1\na 2 3 2 5 1\n")
    done = run(path)
    assert done.returncode == 3
    assert done.stdout.startswith("infeasible the lower bound 2 of arc 2 (2 -> 3)")


@pytest.mark.parametrize("text, where", [
    ("p min 2 1\na 1 2 0 1\n", ":2:"),
    ("p min 2 1\na 1 9 0 1 1\n", ":2:"),
    ("p min 2 1\na 1 2 0 x 1\n", ":2:"),
    ("a 1 2 0 1 1\n", ":1:"),
    ("", ":0:"),
])
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path, text, where):
    path = tmp_path / "bad.min"
    path.write_text(text)
    done = run(path)
    assert done.returncode == 1
    assert where in done.stderr


def test_wrong_calls(problem):
    assert run().returncode == 2
    assert run("--algorithm", "magic", problem).returncode == 1
    assert run(problem.parent / "missing").returncode == 1
