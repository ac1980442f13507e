"""What make demo USERS= deals out, and what it reads of what users had; no cluster."""

import json

import pytest

from testbed.demo import sharing
from testbed.net import system


def job(number, tasks, ms, sums=()):
    stages = [{"tasks": tasks, "compute_ms": ms}]
    if sums:
        stages.append({"tasks": len(sums), "compute_ms": [0] * len(sums),
                       "parents": [{"stage": 0, "sums": list(sums)}]})
    return {"id": number, "arrival_ms": 7 * number, "stages": stages}


def test_users_get_equal_work():
    jobs = [job(1, 10, 1000), job(2, 5, 1000), job(3, 1, 1000), job(4, 2, 500, [500_000, 500_000]),
            job(5, 3, 1000)]
    assert sharing.work_of(jobs[3], 10**6) == 1 + 8
    dealt = sharing.deal(jobs, 2, 10**6)
    assert [[one["id"] for one in user] for user in dealt] == [[1, 5, 3], [4, 2]]


def test_all_are_submitted_at_once_in_the_order_of_their_numbers(tmp_path):
    dealt = {0: [job(3, 1, 1)], 2: sharing.repeated([job(1, 1, 1)])}
    path = sharing.write_jobs(tmp_path / "jobs.jsonl", {"duopoly_workload": 1, "hosts": 2}, dealt)
    header, *rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert header["hosts"] == 2
    found = [(row["id"], row["user"], row["arrival_ms"]) for row in rows]
    again = [(number * 10**9 + 1, 2, 0) for number in range(1, sharing.TIMES)]
    assert found == [(1, 2, 0), (3, 0, 0), *again]
    assert len({row.get("name", row["id"]) for row in rows}) == 1 + sharing.TIMES


def said(rows):
    """As duopolyctl does: rows of {user: (slots_milli, wanted_permille)}, a second each."""
    spans = []
    for row in rows:
        everything = (sum(slots for slots, _ in row.values()), 0)
        for user, (slots, wanted) in [(None, everything), *row.items()]:
            spans.append({"user": user, "slots_milli": slots, "wanted_permille": wanted})
    return {"span_ns": 10**9, "spans": spans}


IDLE = (0, 0)


def test_only_what_lies_between_spans_in_which_all_had_work_counts():
    rows = [{0: (9000, 500), 1: IDLE, 5: IDLE}, {0: (2000, 1000), 1: (1000, 1000), 5: IDLE},
            {0: (3000, 1000), 1: (0, 900), 5: IDLE},
            {0: (1000, 1000), 1: (2000, 1000), 5: IDLE}, {0: (9000, 1000), 1: (0, 0), 5: IDLE}]
    had, seconds = sharing.parts(said(rows))
    assert seconds == 3 and had == {0: 6 / 9, 1: 3 / 9}
    assert sharing.parts(said(rows), 2) == ({0: 10 / 12, 1: 2 / 12}, 2)
    assert sharing.parts(said([])) == ({}, 0)
    assert sharing.parts(said([{0: (1, 0), 1: IDLE}])) == ({}, 0)


def test_how_far_the_worst_is_off():
    assert sharing.off_by({0: .5, 1: .5}, {0: 3, 1: 1}) == pytest.approx(1)
    assert sharing.off_by({0: .76, 1: .24}, {0: 3, 1: 1, 2: 50}) == pytest.approx(.04)
    assert sharing.off_by({}, {0: 1}) == 1, "nothing was seen"


@pytest.mark.parametrize("words, sentence", [
    ({"USERS": "4,x"}, "USERS is \"4,x\", must be 2…7 shares of 1…1000 with commas between them"),
    ({"USERS": "4"}, "USERS is \"4\""),
    ({"USERS": "4,0"}, "USERS is \"4,0\""),
    ({"USERS": "4,-1"}, "USERS is \"4,-1\""),
    ({"USERS": "4,,1"}, "USERS is \"4,,1\""),
    ({"USERS": "4,1001"}, "USERS is \"4,1001\""),
    ({"USERS": "1,1,1,1,1,1,1,1"}, "must be 2…7 shares"),
    ({"USERS": "4,2", "POLICIES": "fair"}, "POLICIES is not of USERS, which has rows of its own"),
    ({"USERS": "4,2", "NET": "spark"}, "USERS is not for NET=spark"),
])
def test_wrong_users_are_one_sentence(words, sentence):
    with pytest.raises(system.Failure) as failure:
        sharing.shares_of(words)
    assert sentence in str(failure.value) and "\n" not in str(failure.value)


def test_shares_are_read():
    assert sharing.shares_of({"USERS": "4,2,1"}) == [4, 2, 1]


def test_what_was_held_is_told_by_users(tmp_path):
    log = tmp_path / "0.log"
    log.write_text("step 0\ne job_begin job=7 name=a user=1\ne job_begin job=8 name=b\n"
                   "d hold job=7 stage=0\nd hold job=7 stage=1\nd hold job=8 stage=0\n")
    figures = sharing.report.load("row", [str(log)])
    assert figures["holds_of_users"] == {1: 2, 0: 1}
    assert sharing.held_words(figures).startswith("held on purpose: ann's 1 times, bob's 2 times;")
    assert "on purpose: nothing;" in sharing.held_words(dict(figures, holds_of_users={}))
