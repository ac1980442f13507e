"""A host on which every start fails, on real namespaces: jobs run beside it, `duopolyctl hosts` says what is wrong there, and
it gets work again when it works again. A command that fails everywhere is no host's fault."""

import os

import pytest

import small_site
from testbed.net import system

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the testbed needs root")


def commands(name, seen):
    """On w1 a command of all hosts is not found as long as a file is there."""
    wrong = "test ! -e %s/broken || exit 127; " % seen if name == "w1" else ""
    return {"short": wrong + "sleep 0.02", "wrong": "exit 127"}


@pytest.fixture
def site(tmp_path):
    with small_site.site(str(tmp_path), 3, commands) as made:
        yield made


def run(site, tasks, command="short"):
    """The row of a job, when it has ended."""
    number = site.submit({"tasks": tasks, "command": command, "compute_ms": 20})
    return site.wait(number, lambda job: job["state"] not in ("active", "arriving"))


def test_a_host_on_which_every_start_fails(site):
    broken = os.path.join(site.seen, "broken")
    with open(broken, "w"):
        pass
    for _ in range(6):
        assert run(site, 12)["state"] == "done"
    row = site.host("w1")
    assert row["state"] == "suspect" and row["failed_in_a_row"] >= 3
    for words in ("attempts here failed or were lost: suspect for ", "next probe in ", "on w1 ended with exit code 127"):
        assert words in row["text"], row["text"]
    assert [site.host(name)["state"] for name in ("w2", "w3")] == ["up", "up"]
    assert "1 suspect host gets no new work" in site.running.ask("status")["text"]
    os.unlink(broken)

    def works():
        assert run(site, 12)["state"] == "done"
        return site.host("w1")["state"] == "up"
    system.wait_for(works, 60, "a probe that finds it working")
    assert site.host("w1")["failed_in_a_row"] == 0 and site.host("w1")["text"] is None


def test_a_command_that_is_nowhere_is_no_hosts_fault(site):
    for _ in range(4):
        job = run(site, 12, "wrong")
        assert job["state"] == "failed" and "failed 4 times" in job["text"] and "exit code 127" in job["text"]
        for row in site.running.ask("hosts")["hosts"]:
            said = "the last %d attempts here failed or were lost; attempt " % row["failed_in_a_row"]
            assert row["failed_in_a_row"] < 3 or row["text"].startswith(said), row
        assert run(site, 3)["state"] == "done"
        assert [site.host(name)["state"] for name in ("w1", "w2", "w3")] == ["up"] * 3
