"""A framework that means harm: over TCP with a framework's key, and over an agent's socket for frameworks as a user of that host."""
import socket
import struct
import time

from .doors import Broken, Stream
from .role import Move, any_kind, of_the_transport
from controller import pb

WIDE = 2**20


def door(role):
    """One of both ways, drawn anew whenever it is opened."""
    if "app" not in role.doors:
        role.memory["way"] = role.rng.choice(("tcp", "socket")) if role.place.get("frameworks") else "tcp"
        if role.memory["way"] == "socket":
            role.door("app", lambda: Stream(role.place["frameworks"]))
        else:
            role.tcp("driver2", "app")
    return role.doors["app"]


def hello(role, /, **other):
    fields = dict(version_min=1, version_max=1, name=role.memory.setdefault("name", role.fresh("evil-app")), boot=1, hello_sequence=time.monotonic_ns(),
                  holds=True,
                  executors=role.rng.random() < 0.5)
    fields.update(other)
    return pb.FrameworkHello(**fields)


def session(role):
    opened = door(role)
    if not opened.epoch:
        if role.rng.random() < 0.2:
            role.memory.pop("name", None)
        if not opened.welcome("framework_hello", hello(role)):
            role.close("app")
            role.memory.pop("name", None)
            raise Broken("no session by %s" % role.memory["way"])
    opened.drain()
    return opened


def say(role, raw=None, **bodies):
    opened = session(role)
    if raw is not None:
        opened.put(raw)
    else:
        opened.say(role.rng.random() < 0.8, **bodies)
    opened.drain()


def facts(role, count, make, rate=3000):
    """`make(i)`, numbered, so often."""
    opened = session(role)

    def one(i):
        opened.say(True, **make(i))
        if i % 50 == 0:
            opened.drain()
    role.note("%d" % role.repeat(count, one, rate))
    opened.drain()


def job(role):
    return role.rng.choice((0, 1, 2, 77, 2**31, 2**32 - 1, role.rng.randrange(2**32)))


def sparse_stages(role):
    base = role.rng.randrange(2**31)
    facts(role, role.some(50, 3000), lambda i: {"framework_stage": pb.FrameworkStage(job=base + i, stage=role.rng.choice((1023, 1022, 512)), tasks=1)})


def wide_shuffles(role):
    """Little said about much: the last task of a wide stage, of every parent, in each form."""
    number, form, parents = job(role), role.rng.randrange(4), role.some(5, 120)
    opened = session(role)
    opened.say(True, framework_stage=pb.FrameworkStage(job=number, stage=200, tasks=WIDE))
    role.note("form %d" % form)
    for parent in range(parents):
        opened.say(True, framework_stage=pb.FrameworkStage(job=number, stage=parent, tasks=1))

    def bytes_of(parent):
        last = WIDE - 1
        return {"framework_bytes": pb.FrameworkBytes(job=number, stage=200, parent=parent, form=form, first=last if form in (0, 3) else 0,
                                                     at=[last] if form == 2 else [], hosts=["h1"] if form == 3 else [], bytes=[1])}
    facts(role, parents, bytes_of, 500)
    if role.rng.random() < 0.5:
        session(role).say(True, framework_end=pb.FrameworkEnd(job=number, outcome=role.rng.randrange(3)))


def executors_of_giants(role):
    many = [role.rng.choice((2**42, 2**62, 2**63 - 1, -1, 0, 2**31)) for _ in range(6)]
    facts(role, role.some(3, 30), lambda i: {"framework_executor": pb.FrameworkExecutor(
        executor="e%d" % i, host=role.rng.choice(role.known.hosts + [role.fresh("nowhere")]), shared=role.rng.random() < 0.3,
        resources=pb.Resources(slots=role.rng.choice(many), cpu_milli=role.rng.choice(many), mem_bytes=role.rng.choice(many)))})


def hosts_that_are_not(role):
    facts(role, role.some(20, 3000),
          lambda i: {"framework_executor": pb.FrameworkExecutor(executor=role.fresh("x"), host=role.fresh("no"), resources=pb.Resources(slots=1))})


def many_jobs(role):
    facts(role, role.some(100, 5000), lambda i: {"framework_job": pb.FrameworkJob(job=role.rng.randrange(2**32), name="x" * 31, user=i, priority=2**62)}, 5000)


def many_tasks(role):
    number = job(role)
    facts(role, role.some(4, 40), lambda i: {"framework_stage": pb.FrameworkStage(
        job=number, stage=i % 1024, tasks=role.rng.choice((2**20, 2**22, 2**31, 2**32 - 1)), phase=1,
        demand=pb.Resources(slots=role.rng.choice((0, 1, -1, 2**62))))})


def tangled_stages(role):
    """Parents that are itself, later ones, or a thousand."""
    number = job(role)
    facts(role, role.some(10, 200), lambda i: {"framework_stage": pb.FrameworkStage(
        job=number, stage=role.rng.randrange(1024), tasks=role.rng.choice((0, 1, 5)), phase=role.rng.randrange(3), history=7, ungated=role.rng.random() < 0.5,
        parents=[pb.Edge(parent=role.rng.choice((0, 1, 1023, 1024, 2**32 - 1)), kind=role.rng.randrange(2)) for _ in range(role.rng.choice((1, 3, 200)))])})


def names_without_end(role):
    """As many applications as one connection may be."""
    opened = door(role)
    for _ in range(role.some(5, 80)):
        if role.over():
            break
        opened.welcome("framework_hello", hello(role, name=role.rng.choice((role.fresh("app"), "honest-app", "x" * 63, "", "a b"))), 0.2)
    role.close("app")


def tasks_of_nobody(role):
    number = job(role)
    facts(role, role.some(20, 2000), lambda i: {"framework_task": pb.FrameworkTask(
        attempt=role.rng.randrange(2**32), allow=role.rng.choice((0, 1, 2, i, 2**63, 2**64 - 1)), job=number, stage=role.rng.choice((0, 1, 1023)),
        task=role.rng.choice((0, i, 2**32 - 1)),
        host=role.rng.choice(("", "nowhere", "x" * 63)), state=role.rng.randrange(5), received_bytes=role.rng.choice((0, 2**63, 2**64 - 1)))})


def claim_slots(role):
    """Its tasks run, it says, on hosts of others, by leave of nobody."""
    facts(role, role.some(5, 100), lambda i: {"framework_task": pb.FrameworkTask(
        attempt=role.rng.randrange(2**32), job=1, task=i, host=role.rng.choice(role.known.hosts + [""]), state=pb.TASK_STARTED)})


def replays(role):
    """It has told all, and told nothing: again and again."""
    opened = session(role)
    for _ in range(role.some(2, 50)):
        opened.say(True, framework_job=pb.FrameworkJob(job=1, name="j"))
        opened.say(True, framework_replayed=pb.FrameworkReplayed())
        opened.drain()


def come_and_go(role):
    for _ in range(role.some(3, 40)):
        if role.over():
            break
        role.close("app")
        door(role).say(framework_hello=hello(role, boot=role.rng.randrange(3), hello_sequence=role.rng.choice((0, 1, 2**64 - 1, time.monotonic_ns()))))
        role.pause(role.rng.choice((0, 0.01)))
    role.close("app")


def never_read(role):
    opened = session(role)
    role.repeat(role.some(100, 3000), lambda i: opened.say(True, framework_job=pb.FrameworkJob(job=i % 50, name="j%d" % i)), 6000)
    role.pause(0.2)
    role.close("app")


def sequences(role):
    opened = session(role)
    for _ in range(20):
        envelope = opened.envelope(framework_job=pb.FrameworkJob(job=1))
        envelope.sequence = role.rng.choice((0, 1, opened.sent, opened.sent + 2, 2**64 - 1))
        envelope.acknowledged = role.rng.choice((0, opened.effected + 1, 2**62, 2**64 - 1))
        envelope.epoch = role.rng.choice((opened.epoch, 0, 2**32 - 1))
        opened.put(envelope.SerializeToString())
    role.pause(0.05)
    role.close("app")


def backwards(role):
    """The end before the beginning, each of it again and again: of jobs, stages, tasks and executors."""
    number, attempt = role.rng.randrange(2**32), role.rng.randrange(2**31)
    words = [dict(framework_end=pb.FrameworkEnd(job=number, outcome=1)), dict(framework_executor=pb.FrameworkExecutor(executor="e", host="nowhere")),
             *(dict(framework_task=pb.FrameworkTask(attempt=attempt, job=number, stage=1, host="nowhere", state=state))
               for state in reversed(pb.FrameworkTaskState.values())),
             dict(framework_bytes=pb.FrameworkBytes(job=number, stage=1, parent=0, bytes=[2**62] * 3)),
             *(dict(framework_stage=pb.FrameworkStage(job=number, stage=s, tasks=3 - s, phase=phase, parents=[pb.Edge(parent=1 - s)]))
               for s in (1, 0) for phase in (2, 0, 1)),
             dict(framework_job=pb.FrameworkJob(job=number, name="backwards"))]
    facts(role, role.some(30, 1000), lambda i: words[i % len(words)] if role.rng.random() < 0.8 else role.rng.choice(words))


def descriptors_and_halves(role):
    """At the agent's socket: with its bytes come descriptors, and then no more bytes from who goes on listening."""
    if not role.place.get("frameworks"):
        return
    held = []
    try:
        for _ in range(role.rng.choice((1, 9, 20))):
            held.append(Stream(role.place["frameworks"]))
            held[-1].pass_descriptors(role.rng.choice((1, 50, 250)))
            held[-1].say_no_more()
        role.pause(0.2)
    finally:
        for one in held:
            one.close()


def broken_frames(role):
    """At the agent's socket: lengths that lie, halves, and connections that say nothing."""
    if not role.place.get("frameworks"):
        return
    raw = []
    try:
        for _ in range(role.rng.choice((1, 9, 20))):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            raw.append(one)
            one.settimeout(0.3)
            one.connect(role.place["frameworks"])
            length = role.rng.choice((0, 1, 65536, 65537, 2**31, 2**32 - 1))
            one.sendall(struct.pack(">I", length)[:role.rng.choice((1, 4, 4))] + role.rng.randbytes(role.rng.choice((0, 1, 100))))
        role.pause(0.2)
    finally:
        for one in raw:
            one.close()


def moves(_place):
    return any_kind("FRAMEWORK", say) + of_the_transport("driver2") + [
        Move("claims slots", 6, claim_slots), Move("backwards", 8, backwards), Move("descriptors and halves", 4, descriptors_and_halves),
        Move("sparse stages", 14, sparse_stages), Move("wide shuffles", 14, wide_shuffles), Move("executors of giants", 10, executors_of_giants),
        Move("hosts that are not", 6, hosts_that_are_not), Move("many jobs", 10, many_jobs), Move("many tasks", 8, many_tasks),
        Move("tangled stages", 8, tangled_stages), Move("names without end", 5, names_without_end), Move("tasks of nobody", 10, tasks_of_nobody),
        Move("replays", 6, replays), Move("comes and goes", 6, come_and_go), Move("never reads", 4, never_read), Move("forged sequences", 6, sequences),
        Move("broken frames", 6, broken_frames)]
