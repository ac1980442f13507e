"""A scheduler's key that means harm. What it may do by right is left out: it may cancel anybody's job, so it cancels only its own (docs/operate/threats.md)."""
from .doors import Packets, Tcp
from .role import Move, any_kind, of_the_transport
from controller import pb

COMMANDS = ("true", "true", "false", "no-such-command", "", "x" * 300, "missing")
MUCH = (0, -1, 1, 2**20, 2**31, 2**62, 2**63 - 1)


def door(role):
    if role.place["keys"]:
        return role.tcp("sch2", "submit")
    return role.unix("submit")


def say(role, raw=None, **bodies):
    opened = door(role)
    number = bodies["cancel_job"].job if "cancel_job" in bodies else 0
    if number in role.known.jobs:
        return
    opened.put(raw) if raw is not None else opened.say(role.rng.random() < 0.3, **bodies)
    opened.take(0.05)


def submit(role, stages, parts=(), end="submit_end", **begin):
    """One job; the answer to what ended it: a refusal, or its number, which is remembered so that it can be cancelled."""
    opened = door(role)
    opened.drain()
    fields = dict(name=role.fresh("evil-job"), content=role.rng.randrange(2**62), estimate_bytes=-1, estimate_ns=-1)
    fields.update(begin)
    sent = [dict(submit_begin=pb.SubmitBegin(**fields))] + [dict(submit_stage=stage) for stage in stages] + list(parts)
    for bodies in sent:
        answer = opened.ask(**bodies)
        if answer.HasField("refused"):
            role.note(answer.refused.text[:60])
            return answer
    answer = opened.ask(**{end: {"submit_end": pb.SubmitEnd, "submit_prepare": pb.SubmitPrepare}[end](parts=len(sent))}, seconds=3)
    if answer.HasField("accepted") and answer.accepted.job:
        role.memory.setdefault("jobs", []).append(answer.accepted.job)
    return answer


def cancel_all(role):
    """Takes back what it submitted: what others notice afterwards is no queue of jobs."""
    jobs = role.memory.pop("jobs", [])
    try:
        for number in jobs:
            door(role).ask(cancel_job=pb.CancelJob(job=number), seconds=2)
    except Exception:
        role.close("submit")
        role.memory["jobs"] = jobs  # the next time


off = cancel_all


def stage(number=0, tasks=1, command="true", demand=None, parents=(), **more):
    return pb.SubmitStage(stage=number, tasks=tasks, demand=demand or pb.Resources(slots=1), command=command, parents=[pb.Edge(parent=p) for p in parents],
                          **more)


def demands_of_nothing(role):
    demand = role.rng.choice((pb.Resources(), pb.Resources(slots=0), pb.Resources(cpu_milli=1), pb.Resources(io_bytes_s=1), pb.Resources(slots=-1)))
    submit(role, [stage(tasks=role.some(50, 20000), demand=demand)])


def demands_of_much(role):
    submit(role, [stage(tasks=3, demand=pb.Resources(slots=role.rng.choice(MUCH), cpu_milli=role.rng.choice(MUCH), mem_bytes=role.rng.choice(MUCH)))])


def many_tasks(role):
    submit(role, [stage(tasks=role.rng.choice((10_000, 10**5, 10**6, 2**31, 2**32 - 1) if role.place["long"] else (1000, 2**31, 2**32 - 1)), command="true",
                        demand=pb.Resources(slots=1))])


def matrix(role):
    """Bytes for each pair of two wide stages, begun and not always ended."""
    wide = role.rng.choice((64, 1024, 4096)) if role.place["long"] else 64
    parts = [dict(submit_bytes=pb.SubmitBytes(stage=1, parent=0, first=first, matrix=True, bytes=[1] * 1024))
             for first in range(0, min(wide * wide, role.rng.choice((4096, 65536, 2**20)) if role.place["long"] else 4096), 1024)]
    submit(role, [stage(0, wide), stage(1, wide, parents=[0])], parts)


def tangled_stages(role):
    count = role.rng.choice((1, 2, 30, 1024, 1025)) if role.place["long"] else role.rng.choice((1, 2, 30))
    submit(role,
           [stage(role.rng.choice((i, i, i, 1023, 2**32 - 1)), 1,
                  parents=[role.rng.choice((max(0, i - 1), i, i + 1, 2**32 - 1))] if i else []) for i in range(count)])


def commands_that_fail(role):
    submit(role, [stage(tasks=role.some(5, 200), command=role.rng.choice(COMMANDS), constraint=role.rng.choice(("", "no-such-label", "x" * 40)))],
           priority=role.rng.choice((0, 2**31 - 1, -2**31)), deadline_ns=role.rng.choice((0, 1, 2**64 - 1)))


def many_jobs(role):
    for _ in range(role.some(5, 500)):
        if role.over():
            break
        submit(role, [stage()])


def parts_without_end(role):
    """Submissions that are begun and never ended, on one connection after the other."""
    for _ in range(role.some(3, 60)):
        if role.over():
            break
        opened = door(role)
        opened.ask(submit_begin=pb.SubmitBegin(name=role.fresh("half"), content=1, estimate_bytes=-1, estimate_ns=-1))
        opened.ask(submit_stage=stage(tasks=role.rng.choice((1, 1000, 100_000))))
        role.close("submit")


def prepared_without_end(role):
    for _ in range(role.some(2, 100)):
        if role.over():
            break
        submit(role, [stage()], end="submit_prepare")
    opened = door(role)
    answer = opened.ask(submit_commit=pb.SubmitCommit(most=role.rng.choice((0, 1, 64, 65, 2**32 - 1))), seconds=2) if role.rng.random() < 0.5 else None
    if answer is not None and answer.HasField("accepted"):
        role.note("%d left" % answer.accepted.left)
    role.close("submit")


def same_name(role):
    name = role.rng.choice((role.fresh("twice"), role.rng.choice(role.known.names or ["honest"])))
    for content in (1, 1, 2):
        submit(role, [stage()], name=name, content=content)


def replicas_of_nobody(role):
    many = [role.rng.choice((0, 1, 2**31, 2**32 - 1)) for _ in range(role.rng.choice((1, 3, 8, 200)))]
    tasks = [pb.TaskInput(replicas=many, input_bytes=role.rng.choice((0, 2**62, 2**64 - 1)),
                          compute_ns=role.rng.choice((0, 2**62, 2**64 - 1)))] * role.rng.choice((1, 4, 128))
    submit(role, [stage(tasks=4)],
           [dict(submit_tasks=pb.SubmitTasks(stage=role.rng.choice((0, 0, 1, 2**32 - 1)), first=role.rng.choice((0, 0, 3, 4, 2**32 - 1)), tasks=tasks))])


def bytes_of_much(role):
    submit(role, [stage(0, 2), stage(1, 2, parents=[0])],
           [dict(submit_bytes=pb.SubmitBytes(stage=1, parent=role.rng.choice((0, 1, 2**32 - 1)), first=role.rng.choice((0, 1, 2, 2**32 - 1)),
                                             matrix=role.rng.random() < 0.5,
                                             bytes=[role.rng.choice((0, 2**62, 2**64 - 1))] * role.rng.choice((1, 2, 4, 1000))))],
           estimate_bytes=role.rng.choice((-2**63, -1, 0, 2**63 - 1)), estimate_ns=role.rng.choice((-1, 2**63 - 1)))


def cancel_own(role):
    mine = role.memory.get("jobs", [])
    for _ in range(min(len(mine), role.some(5, 200))):
        door(role).ask(cancel_job=pb.CancelJob(job=mine.pop()))
    door(role).ask(cancel_job=pb.CancelJob(job=role.rng.choice((0, 2**40, 2**64 - 1))))


def watch_much(role):
    opened = door(role)
    opened.ask(watch=pb.Watch(job=role.rng.choice((0, 1, 2**64 - 1))))
    role.close("submit")


def never_read(role):
    opened = door(role)
    role.repeat(role.some(30, 500), lambda i: opened.say(submit_begin=pb.SubmitBegin(name=role.fresh("deaf"), content=i, estimate_bytes=-1, estimate_ns=-1)),
                1000)
    role.pause(0.2)
    role.close("submit")


def parts_held(role):
    """Submissions that are begun, large, and not ended, on many ways in at once."""
    held = []
    try:
        for _ in range(role.some(4, 60)):
            if role.over():
                break
            one = Tcp(role.context, role.place["address"], role.place["keys"]["sch2"]) if role.place["keys"] else Packets(role.place["socket"])
            held.append(one)
            one.ask(submit_begin=pb.SubmitBegin(name=role.fresh("held"), content=1, estimate_bytes=-1, estimate_ns=-1))
            wide = role.some(100, 4096)
            for number in range(3):
                one.ask(submit_stage=stage(number, wide, command="x" * 31, parents=range(number)))
            for first in range(0, role.some(1, 8) * 1024, 1024):
                one.ask(submit_bytes=pb.SubmitBytes(stage=1, parent=0, first=first, matrix=True, bytes=[1] * 1024))
        role.note("%d" % len(held))
        role.pause(role.rng.choice((0, 0.3)))
    finally:
        for one in held:
            one.close()


def everything_after_everything(role):
    """Each stage has all before it for parents."""
    submit(role, [stage(number, role.rng.choice((1, 3)), parents=range(number)) for number in range(role.some(10, 100))])


def names_of_much(role):
    submit(role, [stage(command="/" * role.rng.choice((30, 63, 64, 255)), constraint="a" * role.rng.choice((0, 31, 32)))],
           name=role.fresh("x" * role.rng.choice((10, 40, 63, 255))))


def moves(place):
    return any_kind("SCHEDULER", say) + (of_the_transport("sch2") if place.get("keys") else []) + [
        Move("parts held", 6, parts_held), Move("everything after everything", 5, everything_after_everything), Move("names of much", 4, names_of_much),
        Move("demands of nothing", 12, demands_of_nothing), Move("demands of much", 8, demands_of_much), Move("many tasks", 8, many_tasks),
        Move("a matrix", 8, matrix),
        Move("tangled stages", 8, tangled_stages), Move("commands that fail", 10, commands_that_fail), Move("many jobs", 8, many_jobs),
        Move("parts without end", 6, parts_without_end), Move("prepared without end", 6, prepared_without_end), Move("the same name", 5, same_name),
        Move("replicas of nobody", 6, replicas_of_nobody), Move("bytes of much", 6, bytes_of_much), Move("cancels its own", 6, cancel_own),
        Move("watches much", 4, watch_much), Move("never reads", 4, never_read)]
