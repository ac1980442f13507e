"""Users as an operator sets and lists them: a real daemon and duopolyctl; nothing runs."""

import subprocess
import xml.etree.ElementTree

import pytest

from controller import BUILD, SECOND, pb, wait_until, workload


def users(daemon):
    """What `duopolyctl users` says: name, share, jobs and whether it leaves, by number."""
    return {row["user"]: (row["name"], row["share"], row["jobs"], row["leaves"])
            for row in daemon.ctl("users")["users"]}


def submit(daemon, name, user, tasks=1, expect=0):
    job = {"id": 1, "name": name, "user": user, "arrival_ms": 0,
           "stages": [{"tasks": tasks, "compute_ms": 10}]}
    return daemon.ctl("submit", workload(daemon.folder, [job]), expect=expect)


def restart(daemon):
    assert daemon.stop() == 0
    daemon.start()


EVERYBODY = ("everybody", 1, 0, False)


def test_users_are_set_listed_and_kept(cluster):
    daemon = cluster.daemon()
    assert users(daemon) == {0: EVERYBODY}
    assert daemon.ctl("users")["users"][0]["age_ns"] is None
    said = daemon.ctl("user", "set", "ann", "share=5")["text"]
    assert said == "user ann has number 1 and share 5"
    daemon.ctl("user", "set", "bob", "number=7")
    daemon.ctl("user", "set", "cyd%,=", "share=1000000")
    daemon.ctl("user", "set", "all", "number=0", "share=3")
    daemon.ctl("user", "set", "eve", "number=7", "share=2")
    known = {0: ("all", 3, 0, False), 1: ("ann", 5, 0, False), 2: ("cyd%,=", 1000000, 0, False),
             7: ("eve", 2, 0, False)}
    assert users(daemon) == known
    restart(daemon)
    assert users(daemon) == known
    assert all(row["age_ns"] >= 0 for row in daemon.ctl("users")["users"] if row["user"])
    assert daemon.ctl("user", "leave", "eve")["text"] == "user eve is gone"
    del known[7]
    assert users(daemon) == known
    restart(daemon)
    assert users(daemon) == known
    changes = [row["what"] for row in daemon.ctl("audit")["audit"]]
    assert "user set ann share=5" in changes and "user leave eve" in changes


def test_a_user_leaves_with_its_last_job(cluster):
    daemon = cluster.daemon()
    submit(daemon, "before", 4)
    daemon.ctl("user", "set", "ann", "number=4")
    submit(daemon, "after", 4)
    submit(daemon, "stranger", 9)
    assert users(daemon) == {0: ("everybody", 1, 1, False), 4: ("ann", 1, 2, False)}
    said = daemon.ctl("user", "leave", "ann")["text"]
    assert said == ("user ann has 2 jobs: it leaves with the last of them, and new ones are "
                    "refused")
    refused = submit(daemon, "late", 4, expect=5)
    assert "user 4 is not known, or leaves" in refused
    daemon.ctl("cancel", 1)
    restart(daemon)
    assert users(daemon)[4] == ("ann", 1, 1, True)
    daemon.ctl("cancel", 2)
    assert 4 not in users(daemon)
    restart(daemon)
    assert users(daemon) == {0: ("everybody", 1, 1, False)}
    daemon.ctl("user", "set", "bob", "share=2")
    assert users(daemon)[1] == ("bob", 2, 0, False)


def test_unknown_users_are_refused_where_that_is_said(cluster):
    daemon = cluster.daemon(config="users: {unknown: refuse}\n")
    submit(daemon, "alone", 4)
    daemon.ctl("user", "set", "ann", "number=5")
    assert "`duopolyctl user set NAME number=4`" in submit(daemon, "stranger", 4, expect=5)
    submit(daemon, "known", 5)
    restart(daemon)
    assert users(daemon) == {0: ("everybody", 1, 1, False), 5: ("ann", 1, 1, False)}


def test_the_recording_decides_the_same_again(cluster):
    daemon = cluster.daemon()
    daemon.ctl("user", "set", "ann", "share=5")
    submit(daemon, "one", 1)
    daemon.ctl("user", "leave", "ann")
    daemon.ctl("cancel", 1)
    assert daemon.stop() == 0
    replay = [BUILD / "duopoly-sim", "replay", "--quiet", daemon.folder / "log" / "duopoly.log"]
    assert subprocess.run(replay, timeout=20, check=False).returncode == 0


def debts(daemon):
    """What `duopolyctl debts` says: who owes whom how much."""
    return [(row["borrower"], row["lender"], row["amount"])
            for row in daemon.ctl("debts")["debts"]]


def starts(agent, number):
    """The next starts, also those that came while it joined; each is answered. Their jobs."""
    while len(agent.running) < number:
        agent.receive_start()
    got = list(agent.running.values())
    agent.running.clear()
    for start in got:
        agent.state(start.attempt, "COMPUTING", job=start.job, stage=start.stage, task=start.task)
    return sorted(start.job for start in got)


DIVIDED = "policy: {place: greedy, users: sequence}\n"


def test_slots_go_to_users_by_their_shares(cluster):
    """Who has nothing to run lends, and is paid back; debts outlive a restart."""
    daemon = cluster.daemon(config=DIVIDED)
    daemon.ctl("user", "set", "ann", "share=2")
    daemon.ctl("user", "set", "bob")
    h1 = cluster.agent(daemon, "h1", slots=4)
    h1.join()
    submit(daemon, "a", 1, tasks=8)
    assert starts(h1, 4) == [1] * 4
    owed = [("ann", "everybody", 1), ("ann", "bob", 1)]
    assert debts(daemon) == owed
    assert {r["name"]: r["owed"] for r in daemon.ctl("users")["users"]} == {
        "everybody": 1, "ann": -2, "bob": 1}
    said = daemon.ctl("explain", "1/0/7")["text"]
    assert "Its user ann has 2 of 4 places of a turn" in said and "owes 2 granules" in said
    h1.close()
    restart(daemon)
    assert debts(daemon) == owed
    submit(daemon, "b", 2, tasks=8)
    h1 = cluster.agent(daemon, "h1", slots=4, hello_sequence=2)
    h1.join()
    jobs = starts(h1, 4)
    assert sum(job != 1 for job in jobs) == 2, "its own, and what is paid back to it"


REFUSED, ARGUMENTS, UNKNOWN = 1, 2, 5  # docs/operate/cli.md
SET, LEAVE, SEQUENCE = ("user", "set"), ("user", "leave"), ("policy", "users", "sequence")


@pytest.mark.parametrize("words, status, sentence", [
    ((*SET, "ann", "share=0"), ARGUMENTS, "share is a number from 1 to 2147483648, not '0'"),
    ((*SET, "ann", "share=-1"), ARGUMENTS, "share is a number from 1 to 2147483648, not '-1'"),
    ((*SET, "ann", "share=2147483649"), ARGUMENTS, "not '2147483649'"),
    ((*SET, "ann", "share=x"), ARGUMENTS, "not 'x'"),
    ((*SET, "bob", "share=0"), ARGUMENTS, "not '0'"),
    ((*SET, "ann", "share=1048576"), REFUSED, "user 3 has 1048576"),
    ((*SET, "bob", "share=1048577"), REFUSED, "a turn of these shares has 1048579 entries"),
    ((*SET, "ann", "sahre=2"), ARGUMENTS, "can be set: share=N, number=N, not 'sahre=2'"),
    ((*SET, "a/b", "share=2"), ARGUMENTS, "'a/b' cannot be a user's name"),
    ((*SET, "bob", "number=4294967296"), ARGUMENTS, "not '4294967296'"),
    ((*SET, "bob", "number=2"), REFUSED, "user 1 has the name bob already"),
    ((*LEAVE, "bob", "share=1"), ARGUMENTS, "user leave takes a NAME and nothing more"),
    ((*LEAVE, "ann"), UNKNOWN, "there is no user ann"),
    ((*LEAVE, "everybody"), REFUSED, "user 0 (everybody) stays"),
    (("user", "kick", "bob"), ARGUMENTS, "told to: set NAME, leave NAME; not 'kick'"),
    ((*SEQUENCE, "repay_permille=0"), REFUSED, "repay_permille"),
    ((*SEQUENCE, "repay_permille=1001"), REFUSED, "repay_permille"),
    ((*SEQUENCE, "repay_permille=-1"), REFUSED, "repay_permille"),
    ((*SEQUENCE, "repay_permille=.5"), REFUSED, "repay_permille"),
    ((*SEQUENCE, "granule_slots=-1"), REFUSED, "granule_slots"),
    ((*SEQUENCE, "granule_slots=1000001"), REFUSED, "granule_slots"),
    ((*SEQUENCE, "granule_mem_bytes=2000000000000000"), REFUSED, "granule_mem_bytes"),
    ((*SEQUENCE, "debt_max=0"), REFUSED, "debt_max"),
    (("submit", 9), UNKNOWN, "`duopolyctl user set NAME number=9`"),
    (("submit", 2), UNKNOWN, "user 2 is not known, or leaves"),
])
def test_bad_input_is_one_sentence_and_changes_nothing(cluster, words, status, sentence):
    """What duopolyctl judges is not even asked; of submit the word is the user of its job."""
    daemon = cluster.daemon(scripted=True, config=DIVIDED + "users: {unknown: refuse}\n")
    daemon.ctl(*SET, "bob")
    daemon.ctl(*SET, "cyd")
    submit(daemon, "before", 2)
    daemon.ctl(*LEAVE, "cyd")

    def everything():
        jobs = [(job["job"], job["user"]) for job in daemon.ctl("jobs")["jobs"]]
        return users(daemon), jobs, debts(daemon), daemon.ctl("policy")

    if words[0] == "submit":
        job = {"id": 7, "user": words[1], "arrival_ms": 0,
               "stages": [{"tasks": 1, "compute_ms": 1}]}
        words = ("submit", workload(daemon.folder, [job]))
    before = everything()
    said = daemon.ctl(*words, expect=status)
    assert sentence in said and said.startswith("duopolyctl: ") and said.count("\n") == 1
    assert everything() == before
    restart(daemon)
    assert everything() == before


def test_a_granule_larger_than_all_that_is_free_stops_nobody(cluster):
    """Shares count granules, so none is smaller than one; a task takes at least one."""
    daemon = cluster.daemon(config=DIVIDED)
    daemon.ctl(*SET, "ann")
    daemon.ctl(*SEQUENCE, "granule_slots=1000000")
    h1 = cluster.agent(daemon, "h1", slots=4)
    h1.join()
    submit(daemon, "a", 1, tasks=2)
    submit(daemon, "b", 0, tasks=2)
    assert starts(h1, 4) == [1, 1, 2, 2]


def test_a_user_with_running_tasks_drains_first(cluster):
    daemon = cluster.daemon()
    daemon.ctl(*SET, "ann")
    h1 = cluster.agent(daemon, "h1", slots=1)
    h1.join()
    submit(daemon, "a", 1, tasks=2)
    for left in (2, 1):
        while not h1.running:
            h1.receive_start()
        (attempt,) = h1.running
        if left == 2:
            assert daemon.ctl(*LEAVE, "ann")["text"] == (
                "user ann has 1 job: it leaves with the last of them, and new ones are refused")
        assert users(daemon)[1] == ("ann", 1, 1, True), "what runs, and what waits, goes on"
        h1.running.clear()
        h1.acknowledged(h1.state(attempt, "DONE"))
    wait_until(lambda: 1 not in users(daemon), "the user to go with its last task")


def test_a_user_that_owes_pays_before_it_goes(cluster):
    daemon = cluster.daemon(config=DIVIDED)
    daemon.ctl(*SET, "ann")
    h1 = cluster.agent(daemon, "h1", slots=2)
    h1.join()
    submit(daemon, "a", 1, tasks=2)
    while len(h1.running) < 2:
        h1.receive_start()
    for attempt in sorted(h1.running):
        h1.acknowledged(h1.state(attempt, "DONE"))
    h1.running.clear()
    wait_until(lambda: users(daemon)[1] == ("ann", 1, 0, False), "the end of its job")
    assert daemon.ctl(*LEAVE, "ann")["text"] == (
        "user ann owes 1 granule: it leaves when its part of the cluster has paid that back")
    assert users(daemon)[1] == ("ann", 1, 0, True)
    submit(daemon, "b", 0, tasks=2)
    assert starts(h1, 2) == [2, 2]
    wait_until(lambda: 1 not in users(daemon), "the user to go with its debt")
    assert not debts(daemon)


def shares(daemon):
    """What `duopolyctl shares` says: each user's parts; each span of each user, oldest first."""
    said = daemon.ctl("shares")
    spans = {}
    for row in said["spans"]:
        spans.setdefault(row["user"], []).append(row)
    return {row["name"]: row for row in said["shares"]}, spans, said


def test_shares_over_time(cluster):
    """Three users with work, of shares 2, 1 and 1, on four slots; then one has another name and
    share."""
    daemon = cluster.daemon(scripted=True, config=DIVIDED)
    daemon.ctl("user", "set", "ann", "share=2")
    daemon.ctl("user", "set", "b<b", "number=7")
    for user in (0, 1, 7):
        submit(daemon, f"job{user}", user, tasks=8)
    h1 = cluster.agent(daemon, "h1", slots=4)
    h1.join()
    daemon.clock.advance(SECOND // 2)
    starts(h1, 4)
    daemon.clock.advance(2 * SECOND)
    rows, spans, said = shares(daemon)
    assert said["span_ns"] == SECOND and said["spans_kept"] == 2 and len(spans[None]) == 2
    assert [row["age_ns"] for row in spans[1]] == [3 * SECOND // 2, SECOND // 2]
    held = {row["user"]: row["slots_milli"] for row in said["spans"][4:]}
    assert held == {None: 4000, 0: 1000, 1: 2000, 7: 1000}, "the second of them is whole"
    assert spans[1][1]["right_ppm"] == 500000 and spans[1][1]["wanted_permille"] == 1000
    assert rows["ann"]["right_permille"] == 500 and rows["ann"]["used_permille"] == 500
    assert said["entries"] == 4 and said["literal_ahead"] >= said["even_ahead"] > 0
    daemon.ctl("user", "set", "bob", "number=7", "share=5")
    daemon.clock.advance(SECOND)
    rows, spans, said = shares(daemon)
    assert [row["right_ppm"] for row in spans[7]] == [250000, 250000, 625000]
    assert rows["bob"]["share"] == 5
    assert said["entries"] == 8


def test_shares_as_text_and_as_a_picture(cluster):
    daemon = cluster.daemon(scripted=True, config=DIVIDED)
    daemon.ctl("user", "set", "a&b<c")
    h1 = cluster.agent(daemon, "h1", slots=2)
    h1.join()
    submit(daemon, "job", 1, tasks=8)
    starts(h1, 2)
    daemon.clock.advance(3 * SECOND)
    picture = daemon.folder / "shares.svg"
    for locale, line in (("C", "8" * 3), ("C.UTF-8", "█" * 3)):
        command = [BUILD / "duopolyctl", "-s", daemon.socket, "shares", "--svg", picture]
        text = subprocess.run(command, stdout=subprocess.PIPE, timeout=20, check=True,
                              env={"LC_ALL": locale}).stdout.decode()
        assert line in text and "a&b<c" in text and "spans_kept" not in text and "none" not in text
    drawn = xml.etree.ElementTree.parse(picture).getroot()
    texts = [node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "a&b<c: share 1" in texts and "everybody: share 1" in texts and "100 %" in texts


def test_shares_of_many_users_come_in_pages(cluster):
    daemon = cluster.daemon(scripted=True)
    for number in range(1, 11):
        daemon.ctl("user", "set", f"u{number}", f"share={number}")
    daemon.clock.advance(200 * SECOND)
    rows, spans, said = shares(daemon)
    assert len(rows) == 11 and said["span_ns"] == 2 * SECOND and said["spans_kept"] == 100
    assert all(len(of) == 100 for of in spans.values())
    assert spans[10][-1]["right_ppm"] == 10 * 10**6 // 56
    restart(daemon)
    assert shares(daemon)[2]["spans_kept"] == 0, "they begin anew"


@pytest.mark.parametrize("words, status, sentence", [
    (["shares", "x"], 2, "write: duopolyctl shares [--svg FILE]"),
    (["users", "--svg", "x"], 2, "'users' takes no --svg"),
    (["shares", "--svg", "/nosuch/x"], 5, "/nosuch/x: No such file or directory"),
])
def test_wrong_words_about_shares_are_one_sentence(cluster, words, status, sentence):
    said = cluster.daemon().ctl(*words, expect=status)
    assert sentence in said and said.count("\n") == 1


def stands(daemon):
    """How the users stand: what each is owed, and what is used of the turn."""
    owed = {row["name"]: row["owed"] for row in daemon.ctl("users")["users"]}
    facts = {row["name"]: row["value"] for row in daemon.ctl("explain", "1/0/0")["facts"]}
    return owed, facts["user_position"]


def running(agent, number):
    """As an inventory reports them, so many that it was told to start."""
    while len(agent.running) < number:
        agent.receive_start()
    for start in agent.running.values():
        agent.state(start.attempt, "COMPUTING", job=start.job, stage=start.stage, task=start.task)
    return [pb.AttemptState(attempt=start.attempt, job=start.job, stage=start.stage,
                            task=start.task, resources=pb.Resources(slots=1),
                            phase=pb.PHASE_COMPUTING)
            for start in agent.running.values()]


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_what_runs_is_charged_from_inventories(cluster, end):
    """Starts are written once a second at most: a kill loses some, and the agent's inventory has
    them. None is charged twice."""
    daemon = cluster.daemon(config=DIVIDED)
    daemon.ctl("user", "set", "ann", "share=5")
    daemon.ctl("user", "set", "bob", "share=3")
    h1 = cluster.agent(daemon, "h1", slots=8)
    h1.join()
    for number in range(8):
        submit(daemon, f"a{number}", 1 if number % 4 else 2)
    attempts = running(h1, 8)
    before = stands(daemon)
    assert before[1] == "8 of 9" and sum(before[0].values()) == 0 and before[0]["everybody"] == 1
    for sequence in (2, 3):
        h1.close()
        getattr(daemon, end)()
        daemon.start()
        h1 = cluster.agent(daemon, "h1", slots=8, hello_sequence=sequence)
        h1.join(attempts)
        wait_until(lambda: daemon.ctl("status")["attempts"] == 8, "the inventory's attempts")
        wait_until(lambda: stands(daemon) == before, "they are charged, once")


def test_a_policy_away_and_back_keeps_all(cluster):
    daemon = cluster.daemon(config=DIVIDED)
    daemon.ctl("user", "set", "ann", "share=2")
    h1 = cluster.agent(daemon, "h1", slots=2)
    h1.join()
    submit(daemon, "a", 1, tasks=8)
    starts(h1, 2)
    before, debts_before = stands(daemon), debts(daemon)
    assert before[1] == "2 of 3" and debts_before
    for users_policy in ("none", "capacity", "sequence"):
        daemon.ctl("policy", "users", users_policy)
        assert debts(daemon) == debts_before
        restart(daemon)
        assert debts(daemon) == debts_before
    assert stands(daemon) == before
