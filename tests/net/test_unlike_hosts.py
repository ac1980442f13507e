"""The commands of the page on unlike hosts, as they stand there, and what bad cluster files are
told."""

import os
import re
import subprocess

import pytest

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
PAGE, EXAMPLE = "docs/operate/unlike-hosts.md", "testbed/clusters/mixed.yaml"


def run(*words, cwd=None):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, cwd=cwd)


def test_the_commands_of_the_page_run(tmp_path):
    (tmp_path / "build").symlink_to(BUILD)
    (tmp_path / "testbed").symlink_to(os.path.abspath("testbed"))
    with open(PAGE, encoding="utf-8") as page:
        commands = re.findall(r"^build/.*$", page.read(), re.M)
    said = [run(*command.split(), cwd=tmp_path) for command in commands]
    assert [done.returncode for done in said] == [0, 0, 0], said
    hosts = [line.split() for line in said[0].stdout.splitlines()[1:]]
    assert [host[0] for host in hosts] == ["g1", "g2", "g3", "p1", "p2", "p3", "s1", "s2", "s3"]
    assert "gpu1: 1 slots 1000 gpu_milli 8000000000 gpu_mem_bytes" in said[0].stdout and hosts[6][1:4] == ["r3", "spot", "500"]
    assert re.search(r"9 hosts of \S+mixed.yaml with 36 slots", said[2].stdout)


@pytest.mark.parametrize("change,words", [
    (("hosts: 3", "hosts: -1"), ":4:12: "), (("names: [s1, s2, s3]", "names: [s1, g1]"), "two hosts are called g1: of class 1 and of class 3"),
    (("rack: r1", "rakc: r1"), ":5:5: "), (("name: gpu1", "name: gpu0"), ": two units are called gpu0"), (("slots: 2", "slots: two"), ":20:21: ")])
def test_bad_cluster_files_are_refused(tmp_path, change, words):
    """One sentence with the place, exit status 2, and nothing is simulated."""
    with open(EXAMPLE, encoding="utf-8") as file:
        text = file.read()
    assert change[0] in text
    bad, jobs = tmp_path / "bad.yaml", tmp_path / "jobs.jsonl"
    bad.write_text(text.replace(*change, 1))
    jobs.write_text('{"duopoly_workload": 1, "hosts": 2}\n{"id": 1, "stages": [{"tasks": 1}]}\n')
    for command in (["cluster", bad], ["run", "--workload", jobs, "--cluster", bad]):
        done = run(BUILD + "/duopoly-sim", *command)
        assert done.returncode == 2 and not done.stdout and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
        assert str(bad) in done.stderr


def test_what_no_host_of_the_file_meets_is_refused(tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    for constraint, words in (("gpu & rack=r9", "none that meets 'gpu' meets 'rack=r9'"), ("gpu & (spot", "column 7: this bracket is not closed")):
        jobs.write_text('{"duopoly_workload": 1, "hosts": 2}\n{"id": 1, "stages": [{"tasks": 1, "constraint": "%s"}]}\n' % constraint)
        done = run(BUILD + "/duopoly-sim", "run", "--workload", jobs, "--cluster", EXAMPLE)
        assert done.returncode == 1 and words in done.stderr, done.stderr
