"""Who may only look: a read-only key from elsewhere, and a member of `readers` on the controller's host."""
import socket

from .doors import Packets, Tcp
from .role import Move, any_kind, of_the_transport
from controller import pb

CHANGES = ("cancel_job", "drain_host", "set_policy", "set_user", "forget_host", "set_stance", "key_revoke", "key_set", "store_care", "rotate_controller", "submit_begin")


def door(role):
    if role.place["keys"] and role.rng.random() < 0.5:
        return role.tcp("reader")
    return role.unix()


def say(role, raw=None, **bodies):
    opened = door(role)
    opened.put(raw) if raw is not None else opened.say(role.rng.random() < 0.3, **bodies)
    opened.take(0.05)


def hold(role, made, ask):
    """Opens so many ways in and goes on saying that it is there; what it could not open is no matter."""
    held = []
    try:
        for _ in range(role.some(40, 400)):
            if role.over():
                break
            held.append(made())
            ask(held[-1])
        role.note("%d" % len(held))
        for _ in range(role.rng.choice((1, 5, 20))):
            role.pause(0.1)
            for one in held:
                one.drain()
                one.say(acknowledge=pb.Acknowledge())
    finally:
        for one in held:
            one.close()


def hold_connections(role):
    if role.place["keys"]:
        hold(role, lambda: Tcp(role.context, role.place["address"], role.place["keys"]["reader"]), lambda one: one.say(get_status=pb.GetStatus()))


def hold_silent_connections(role):
    if role.place["keys"]:
        hold(role, lambda: Tcp(role.context, role.place["address"], role.place["keys"]["reader"]), lambda one: one.say(acknowledge=pb.Acknowledge()))


def hold_watchers(role):
    hold(role, lambda: Packets(role.place["socket"]), lambda one: one.say(watch=pb.Watch(job=role.rng.choice((0, 0, 1, 2**64 - 1)))))


def watch_from_afar(role):
    if role.place["keys"]:
        hold(role, lambda: Tcp(role.context, role.place["address"], role.place["keys"]["reader"]), lambda one: one.say(watch=pb.Watch()))


def knock(role):
    """Places on the Unix socket that say nothing at all."""
    held = []
    try:
        for _ in range(role.some(40, 400)):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            held.append(one)
            one.settimeout(0.2)
            one.connect(role.place["socket"])
        role.pause(0.5)
    finally:
        for one in held:
            one.close()


def ask_for_changes(role):
    """What it may not: refused, again and again, and each time somebody has to write that down."""
    opened = door(role)
    bodies = [(kind, role.body(kind)) for kind in CHANGES]

    def one(i):
        kind, body = bodies[i % len(bodies)]
        opened.say(**{kind: body})
        if i % 16 == 15:
            opened.drain()
    role.note("%d" % role.repeat(role.some(100, 5000), one, 4000))
    opened.take(0.2)


def one_change_again_and_again(role):
    opened, number = door(role), role.rng.choice(role.known.jobs or [1])
    role.repeat(role.some(100, 5000), lambda i: opened.say(cancel_job=pb.CancelJob(job=number)) or (i % 16 == 15 and opened.drain()), 4000)
    opened.take(0.2)


def list_all(role):
    """Everything, page after page, with cursors and versions of its own."""
    opened = door(role)
    for _ in range(role.some(5, 100)):
        if role.over():
            return
        answer = opened.ask(list=pb.List(of=role.rng.choice((0, 0, 1, 2, 3, 60, 61, 62, 63, 70, 71)), finished=True,
                                         job=role.rng.choice([0, 1, 2**64 - 1] + role.known.jobs),
                                         cursor=role.rng.choice((0, 0, 1, 2**32, 2**64 - 1)), version=role.rng.choice((0, 0, 1, 2**64 - 1)),
                                         name=role.rng.choice(role.known.hosts + [""])))
        if answer.HasField("page") and answer.page.cursor:
            opened.ask(list=pb.List(of=0, cursor=answer.page.cursor, version=answer.page.version, finished=True))


def explain_all(role):
    opened = door(role)
    for _ in range(role.some(5, 300)):
        if role.over():
            return
        opened.ask(explain=role.body("explain"))


def read_audit(role):
    opened = door(role)
    for _ in range(role.some(3, 50)):
        opened.ask(get_audit=pb.GetAudit(after=role.rng.choice((0, 0, 1, 2**32, 2**64 - 1))))


def never_read(role):
    """Asks for long answers and takes none."""
    opened = door(role)
    role.repeat(role.some(30, 300), lambda i: opened.say(list=pb.List(of=role.rng.choice((0, 2, 3)), finished=True)), 1000)
    role.pause(0.5)
    role.close_all()


def asks_in_heaps(role):
    """What costs the most to answer, without a pause between two; every answer is taken."""
    opened = door(role)
    bodies = [dict(explain=role.body("explain")) for _ in range(9)] + [
        dict(explain=pb.Explain(job=role.rng.choice(role.known.jobs or [1]))), dict(get_audit=pb.GetAudit()),
        dict(list=pb.List(of=pb.LIST_TASKS, finished=True)), dict(get_controller_keys=pb.GetControllerKeys())]

    def one(i):
        opened.say(**role.rng.choice(bodies))
        if i % 8 == 7:
            opened.drain()
    role.note("%d" % role.repeat(role.some(100, 4000), one, 4000))
    opened.take(0.2)
    opened.drain()


def watches_again_and_again(role):
    opened = door(role)
    role.repeat(role.some(50, 2000), lambda i: opened.say(watch=pb.Watch(job=role.rng.choice([0, i] + role.known.jobs))) or (i % 16 == 15 and opened.drain()),
                4000)
    role.close_all()


def reads_slowly(role):
    """Asks for much, and takes one answer now and then: it is not stuck, and never through."""
    opened = door(role)
    role.repeat(role.some(30, 200), lambda i: opened.say(list=pb.List(of=role.rng.choice((0, 2)), finished=True)), 1000)
    for _ in range(role.rng.choice((3, 20))):
        if role.over():
            break
        opened.take(0.05)
        role.pause(0.05)
    role.close_all()


def halves(role):
    """Ways in over which nothing more is said, by who goes on listening, with descriptors that nobody wants."""
    held = []
    try:
        for _ in range(role.some(5, 60)):
            held.append(Packets(role.place["socket"]))
            if role.rng.random() < 0.5:
                held[-1].pass_descriptors(role.rng.choice((1, 50, 250)))
            held[-1].say(watch=pb.Watch())
            held[-1].say_no_more()
        role.pause(0.3)
    finally:
        for one in held:
            one.close()


def too_long(role):
    opened = role.unix()
    opened.put(role.rng.randbytes(role.rng.choice((65535, 65536, 65537, 100_000))))
    role.close("unix")


def moves(place):
    return any_kind("READER", say) + (of_the_transport("reader") if place.get("keys") else []) + [
        Move("asks in heaps", 8, asks_in_heaps), Move("watches again and again", 4, watches_again_and_again), Move("reads slowly", 4, reads_slowly),
        Move("halves", 4, halves),
        Move("holds connections", 6, hold_connections), Move("holds silent connections", 4, hold_silent_connections), Move("holds watchers", 8, hold_watchers),
        Move("watches from afar", 4, watch_from_afar), Move("knocks", 5, knock), Move("asks for changes", 14, ask_for_changes),
        Move("one change again and again", 8, one_change_again_and_again), Move("lists all", 10, list_all), Move("explains all", 8, explain_all),
        Move("reads the audit", 6, read_audit), Move("never reads", 6, never_read), Move("too long", 3, too_long)]
