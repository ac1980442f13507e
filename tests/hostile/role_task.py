"""Tasks that mean harm, on the hosts where others' tasks run. This program only submits them, as
anybody may; their moves are task_program.py's."""
import collections
import os

from .role import Move
from .role_submitter import cancel_all, stage, submit
from controller import pb


def one_job(role):
    """A few tasks; the next job when these have ended."""
    answer = submit(role, [stage(tasks=role.rng.choice((1, 2, 3)), command="hostile")])
    if not answer.HasField("accepted"):
        role.pause(0.2)
        return
    for _ in range(60):
        if role.over():
            return
        role.pause(0.1)
        rows = role.doors["submit"].ask(list=pb.List(of=0, job=answer.accepted.job)).page.jobs
        if not rows:
            role.memory["jobs"].remove(answer.accepted.job)
            break


def off(role):
    cancel_all(role)
    gather(role)


def gather(role):
    """What the tasks did, by what they wrote down."""
    did = collections.Counter()
    for name in os.listdir(role.place["tasks"]):
        path = os.path.join(role.place["tasks"], name)
        with open(path, errors="replace") as lines:
            said = lines.read().splitlines()
        had = role.memory.setdefault(name, 0)
        role.memory[name] = len(said)
        for line in said[had:]:
            role.last.append("%x: %s" % (int(name), line))
            if not line.startswith("("):
                did["its " + line] += 1
            if line.startswith(("may ", "was ")):
                role.broken.append("a task " + line)
    role.done.update(did)


def moves(_place):
    return [Move("a job of such tasks", 1, one_job)]
