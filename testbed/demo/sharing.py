"""make demo USERS=4,2,1: the demo's jobs dealt out to users with those shares, who all have equal
work, and submitted at once, so that all users have work for long. Rows (ROWS) replay them with real
tasks and transfers; the last one changes users and shares on the way (Changes).

A row says which part of the slots each user had while all had work (in a row without users: until
the first user's jobs were done), by `duopolyctl shares`. Where users are divided each part is to be
within OFF_MOST of its share."""

import json
import os
import re
import time
import typing

from testbed.demo import demo as whole
from testbed.demo import inputs, places, report, spoilt
from testbed.net import cluster, instance, network, system

NAMES = ("ann", "bob", "cyd", "dan", "eve", "fay", "gus", "hal")
SHARE_MOST = 1000
OFF_MOST = 0.05  # of a share
JOBS = "120"  # by default: a load of minutes, so that shares show
# After a change, shares are right from then on: slots change hands as tasks end, within 15 s here,
# and what users came to owe until then is paid back by a tenth a second: 5 % of it remain 30 s
# later (AHEAD in controller/engine/users/sequence_time.c).
SETTLED_SECONDS = 45
PHASE_SECONDS = 30  # so long they are looked at
TIMES = 6  # so often the jobs are there where there are phases, so that work lasts


class Row(typing.NamedTuple):
    label: str
    preset: str
    choices: tuple = ()  # lines of the controller's section `policy`
    divides: bool = False  # between users
    judged: bool = False  # slot time is to be by shares
    changes: bool = False  # users and shares change on the way


ROWS = (Row("fair", "fair"), Row("joint", "joint"),
        Row("sequence", "fair", ("users: sequence",), divides=True),  # by tasks, not by their time
        Row("sequence-joint", "joint", ("users: sequence",), divides=True),  # with what it holds
        Row("sequence-time", "fair", ("users: sequence-time",), divides=True, judged=True),
        Row("changes", "fair", ("users: sequence-time",), divides=True, judged=True, changes=True))


def labels():
    return ", ".join(row.label for row in ROWS)


def is_share(word):
    return re.fullmatch("[0-9]{1,4}", word) and 1 <= int(word) <= SHARE_MOST


def shares_of(environment):
    """[share] of USERS."""
    words, most = environment["USERS"].split(","), len(NAMES) - 1  # one more joins
    if not 2 <= len(words) <= most or not all(map(is_share, words)):
        raise system.Failure("USERS is \"%s\", must be 2…%d shares of 1…%d with commas between "
                             "them, such as 4,2,1" % (environment["USERS"], most, SHARE_MOST))
    if environment.get("POLICIES"):
        raise system.Failure("POLICIES is not of USERS, which has rows of its own: " + labels())
    if environment.get("NET") in places.PLACES:
        raise system.Failure("USERS is not for NET=%s" % environment["NET"])
    return list(map(int, words))


# ---- the load ----


def work_of(job, slot_bps):
    """Slot-seconds that it takes about: computing, and bytes at a slot's part of its host's
    link."""
    ms = moved = 0
    for stage in job["stages"]:
        computing = stage.get("compute_ms", 0)
        ms += sum(computing) if isinstance(computing, list) else computing * stage["tasks"]
        for edge in stage.get("parents", ()):
            moved += sum(edge.get("sums", ())) + sum(map(sum, edge.get("matrix", ())))
    return ms / 1000 + 8 * moved / slot_bps


def deal(jobs, users, slot_bps):
    """[jobs of each user]: the largest first, each to the user with the least work."""
    dealt, work = [[] for _ in range(users)], [0.0] * users
    for job in sorted(jobs, key=lambda job: (-work_of(job, slot_bps), job["id"])):
        user = min(range(users), key=lambda user: (work[user], user))
        dealt[user].append(job)
        work[user] += work_of(job, slot_bps)
    return dealt


def read_jobs(path, limit):
    """The header and so many jobs of a workload file."""
    with inputs.open_input(path) as lines:
        read = [json.loads(line) for line in lines if line.strip()]
    return read[0], read[1:1 + limit]


def repeated(jobs):
    """The jobs, and all of them again until they are there TIMES times."""
    return jobs + [dict(job, id=job["id"] + number * 10**9, name="%d-%d" % (job["id"], number))
                   for number in range(1, TIMES) for job in jobs]


def write_jobs(path, header, dealt):
    """A workload file of all jobs at once, each its user's; dealt: {user: jobs}."""
    rows = [dict(job, user=user, arrival_ms=0) for user, jobs in dealt.items() for job in jobs]
    rows.sort(key=lambda job: job["id"])
    with open(path, "w") as out:
        out.writelines(json.dumps(line) + "\n" for line in [header, *rows])
    return path


# ---- what users had ----


def parts(said, seconds=None):
    """{user: (part of the slots in use, share)} and how many seconds that is of: of what
    `duopolyctl shares -j` says, from the first to the last span in which every user that holds or
    wants something wanted more all the time; `seconds`: of the last so many seconds instead."""
    spans = {}
    for row in said["spans"]:
        spans.setdefault(row["user"], []).append(row)
    everything = spans.pop(None, [])
    users = [user for user, of in spans.items()
             if any(span["slots_milli"] or span["wanted_permille"] for span in of)]
    length = said["span_ns"] / 1e9
    taken = list(range(len(everything)))
    if seconds is not None:
        taken = taken[-max(int(seconds / length), 1):]
    else:
        wanted = [i for i in taken
                  if users and all(spans[user][i]["wanted_permille"] == 1000 for user in users)]
        taken = list(range(wanted[0], wanted[-1] + 1)) if wanted else []
    total = sum(everything[i]["slots_milli"] for i in taken)
    held = {user: sum(spans[user][i]["slots_milli"] for i in taken) for user in users}
    return {user: held[user] / total for user in users if total}, len(taken) * length


def off_by(had, shares):
    """How far the worst user is from its share, as a part of that."""
    total = sum(shares[user] for user in had)
    return max((abs(part * total / shares[user] - 1) for user, part in had.items()), default=1.0)


def words_of(had, shares):
    total = sum(shares.get(user, 0) for user in had)
    return ", ".join("%s %.1f %% (%.1f)" % (NAMES[user], 100 * part, 100 * shares[user] / total)
                     for user, part in sorted(had.items()))


# ---- a run ----


class Run:
    """One row's cluster, its users and what is checked of it."""

    def __init__(self, net, asked, row, shares, scale, folder):
        self.row, self.shares = row, dict(enumerate(shares))
        self.logs = os.path.join(folder, row.label)
        self.cluster = cluster.Cluster(net, asked.build, row.label, asked.slots, scale, asked.seed,
                                       self.logs, queues=asked.queue_lines, preset=row.preset,
                                       choices=row.choices, limiter=asked.limiter)
        self.said, self.good = [], True

    def set_user(self, user, share):
        self.cluster.ask("user", "set", NAMES[user], "number=%d" % user, "share=%d" % share)
        self.shares[user] = share

    def submit(self, path):
        self.cluster.ask("submit", path)

    def wait(self, condition, seconds, what):
        system.wait_for(lambda: self.cluster.check_alive() or condition(), seconds, what,
                        lambda: "the daemons' logs are in " + self.logs)

    def active(self):
        """Numbers of the users that have jobs."""
        return {job["user"] for job in self.cluster.ask("jobs")["jobs"]}

    def judge(self, what, had, seconds, settled=""):
        worst = off_by(had, self.shares)
        bad = self.row.judged and worst > OFF_MOST
        self.good &= not bad
        self.said.append("%s: %s over %.0f s%s: at most %.1f %% of a share off%s" % (
            what, words_of(had, self.shares), seconds, settled, 100 * worst,
            ", MORE THAN %.0f %%" % (100 * OFF_MOST) if bad else ""))


WAIT_SECONDS = 1800


def run_to_the_end(run, header, jobs, users, slot_bps):
    """All jobs of all users, at once."""
    dealt = dict(enumerate(deal(jobs, users, slot_bps)))
    run.submit(write_jobs(os.path.join(run.logs, "jobs.jsonl"), header, dealt))
    everybody, begin = run.active(), time.monotonic()
    run.wait(lambda: run.active() != everybody, WAIT_SECONDS, "the first user's last job")
    first_seconds, said = time.monotonic() - begin, run.cluster.ask("shares")
    if run.row.divides:
        run.judge("while all had work", *parts(said))
    else:
        had, seconds = parts(said, first_seconds)
        run.said.append("until the first user was done: %s over %.0f s; users are not looked at" %
                        (words_of(had, run.shares), seconds))
    run.wait(lambda: not run.active(), WAIT_SECONDS, "the end of all jobs")


def look(run, what):
    """Shares of the next PHASE_SECONDS, from SETTLED_SECONDS on."""
    wait_until = time.monotonic() + SETTLED_SECONDS + PHASE_SECONDS
    run.wait(lambda: time.monotonic() >= wait_until, WAIT_SECONDS, "the next change")
    had, seconds = parts(run.cluster.ask("shares"), PHASE_SECONDS)
    run.judge(what, had, seconds, " from %d s on" % SETTLED_SECONDS)


def leave(run, user):
    """It goes with its last job; the jobs it has are cancelled meanwhile."""
    name, ask = NAMES[user], run.cluster.ask
    run.said.append("%s leaves: %s" % (name, ask("user", "leave", name)["text"]))
    cancel(run, {user})
    run.wait(lambda: name not in {row["name"] for row in ask("users")["users"]}, WAIT_SECONDS,
             "%s's leaving" % name)
    del run.shares[user]


def cancel(run, users):
    for job in run.cluster.ask("jobs")["jobs"]:
        if job["user"] in users:
            run.cluster.controller_answers("cancel", str(job["job"]))  # it may end meanwhile


def restart(run):
    run.cluster.kill("duopolyd", network.CONTROLLER)
    run.cluster.start("duopolyd", network.CONTROLLER)
    run.cluster.wait_for_controller()


def change(run, header, jobs, users, slot_bps):
    """A user joins, shares change, the user leaves, the controller is killed: each time shares are
    right again soon."""
    dealt = dict(enumerate(map(repeated, deal(jobs, users + 1, slot_bps))))
    late = {users: dealt.pop(users)}
    run.submit(write_jobs(os.path.join(run.logs, "jobs.jsonl"), header, dealt))
    look(run, "at first")
    run.set_user(users, max(run.shares.values()))
    run.submit(write_jobs(os.path.join(run.logs, "late.jsonl"), header, late))
    look(run, "%s has joined" % NAMES[users])
    for user, share in enumerate(sorted(run.shares[user] for user in range(users))):
        run.set_user(user, share)
    look(run, "new shares")
    leave(run, users)
    look(run, "%s has left" % NAMES[users])
    restart(run)
    look(run, "the controller was killed and is back")
    cancel(run, set(run.shares))
    run.wait(lambda: not run.active(), WAIT_SECONDS, "the end of all jobs")


def held_words(figures):
    """What the placement kept from tasks on purpose, by the users whose tasks they were."""
    of_users = ", ".join("%s's %d times" % (NAMES[user], n)
                         for user, n in sorted(figures["holds_of_users"].items()))
    return "held on purpose: %s; %.1f slot-seconds were free beside ready tasks" % (
        of_users or "nothing", figures["idle_held"])


def run_row(net, asked, row, shares, header, jobs, folder):
    """Its figures, and lines about it, the first one the proof that its marks were right."""
    run = Run(net, asked, row, shares, header.get("scale", 1), folder)
    running = run.cluster
    try:
        running.up()
        verify = whole.Verify(running, run.logs)
        verify.start()
        watch = spoilt.Watch()
        for user, share in enumerate(shares):
            run.set_user(user, share)
        (change if row.changes else run_to_the_end)(run, header, jobs, len(shares),
                                                    asked.link_bps / asked.slots)
        machine = watch.figures()
        proof, good = verify.finish()
    finally:
        running.down()
    figures = dict(report.load(row.label, running.log_files()), **machine, marks_right=good,
                   shares_right=run.good)
    return figures, proof[:1] + run.said + ([held_words(figures)] if row.divides else [])


def demo(environment):
    shares = shares_of(environment)
    asked = whole.prepare(dict({"JOBS": JOBS}, **environment))
    with whole.own_folder(asked.build) as folder, whole.own_programs(asked, folder):
        path = asked.workload(folder)
        header, jobs = read_jobs(path, int(asked.jobs_limit()))
        if len(jobs) <= len(shares):
            raise system.Failure("USERS has %d users, and one more joins: %d jobs are too few for "
                                 "them" % (len(shares), len(jobs)))
        return run_all(asked, shares, header, jobs, folder)


def run_all(asked, shares, header, jobs, folder):
    print("%s, links of %g Mb/s; %d jobs at once, of users with shares %s; rows: %s" % (
        asked.describe_hosts(), asked.link_bps / 1e6, len(jobs), ", ".join(map(str, shares)),
        labels()), flush=True)
    instance.end_abandoned()
    own = instance.create(whole.TREE)
    runs, words = [], []
    try:
        net = asked.network(own)
        net.up()
        for row in ROWS:
            figures, said = run_row(net, asked, row, shares, header, jobs, folder)
            print("%s: %s" % (row.label, said[1]), flush=True)
            runs.append(figures)
            words.append((row, said))
    finally:
        own.down()
    return conclude(runs, words)


def conclude(runs, words):
    """Prints the table of the rows that ran to their end, and what was found; the exit status."""
    ended = [run for run, (row, _) in zip(runs, words) if not row.changes]
    print("\n" + "\n".join(report.table(ended)))
    for row, said in words:
        print("\n%s\n  %s" % (row.label, "\n  ".join(said)))
    bad = [run["label"] for run in runs if not (run["marks_right"] and run["shares_right"])
           or (run in ended and run["unfinished"])]
    print("\n" + ("Not as it should be: %s." % ", ".join(bad) if bad else
                  "While all had work, each user's slot time was within %.0f %% of its share, and "
                  "%d s after each change again." % (100 * OFF_MOST, SETTLED_SECONDS)))
    return 1 if bad else 0
