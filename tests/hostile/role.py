"""A hostile program: one role's moves, drawn by seed from its table while it is told to.

    python3 -B -m tests.hostile.role ROLE       (nothing but tests/hostile/run.py starts it)

A line of JSON on its standard input: first the place (addresses, keys, seeds), then {"on": true,
…what it may know of others} or {"on": false}. Each is answered by one line: what it has done since
the last. Its end is its input's."""
import collections
import importlib
import json
import os
import queue
import random
import sys
import threading
import time

import zmq

from . import edges, path  # noqa: F401: path first, the modules of tests/net are found by it
from .doors import Broken, Packets, Tcp
from controller import TOP, pb

ROLES = ("task", "driver", "agent", "reader", "submitter", "stranger")
REMEMBERED = 20

Move = collections.namedtuple("Move", "name weight function")


class Role:
    """What all moves work on. `known`: of others. `place`: as run.py's World.place says it."""

    def __init__(self, place, seed):
        self.place, self.rng = place, random.Random(seed)
        self.context = zmq.Context()
        self.context.max_sockets = 4000
        self.known = edges.Known()
        self.done, self.broken = collections.Counter(), []
        self.last = collections.deque(maxlen=REMEMBERED)
        self.doors, self.memory = {}, {}
        self.inbox = queue.Queue()
        self.number = 0

    # ---- doors ----

    def door(self, name, make):
        """The one of this name, made where there is none."""
        if name not in self.doors:
            self.doors[name] = make()
        return self.doors[name]

    def tcp(self, key=None, name=None):
        return self.door(name or key or "bare", lambda: Tcp(self.context, self.place["address"], self.place["keys"].get(key)))

    def unix(self, name="unix"):
        return self.door(name, lambda: Packets(self.place["socket"]))

    def close(self, name):
        if name in self.doors:
            self.doors.pop(name).close()

    def close_all(self):
        for name in list(self.doors):
            self.close(name)

    # ---- what moves need ----

    def over(self):
        """A move that goes on for long ends here."""
        return not self.inbox.empty()

    def pause(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.over():
            time.sleep(min(0.02, max(0, until - time.monotonic())))

    def repeat(self, count, step, rate=4000):
        """`step(i)` so often, no faster than so many a second (more would end a connection), until
        it is over; how often."""
        began = time.monotonic()
        for i in range(count):
            if i % 50 == 0:
                if self.over():
                    return i
                time.sleep(max(0, began + i / rate - time.monotonic()))
            step(i)
        return count

    def some(self, few, many):
        """A count: a few in the short form, up to many in the long one."""
        most = many if self.place["long"] else few
        return self.rng.choice((1, 2, max(1, most // 10), most))

    def fresh(self, word):
        """A name that nobody had."""
        self.number += 1
        return "%s-%d-%d" % (word, os.getpid(), self.number)

    def body(self, kind):
        return edges.body(self.rng, pb, kind, self.known)

    def note(self, text):
        """More about the move that runs."""
        self.last[-1] += " " + text

    # ---- the loop ----

    def step(self, moves):
        move = self.rng.choices(moves, [move.weight for move in moves])[0]
        self.done[move.name] += 1
        self.last.append(move.name)
        try:
            move.function(self)
        except AssertionError as promise:  # the role itself sees that one is broken
            self.broken.append("%s: %s" % (move.name, promise))
        except (Broken, OSError, zmq.ZMQError, EOFError) as broken:
            self.note("(%s: %s)" % (type(broken).__name__, broken))
            self.close_all()
            self.pause(0.02)

    def report(self):
        told = {"moves": dict(self.done), "last": list(self.last), "broken": self.broken}
        self.done.clear()
        self.broken = []
        return told


def kinds():
    tables = ("agents/agent_kinds.c", "frameworks/application_fact.c", "clients/requests.c")
    return edges.kinds_by_role(*((TOP / "controller" / table).read_text() for table in tables))


def any_kind(role_in_table, say):
    """Moves that every role has: each kind that it may send, with fields at their edges; those it
    may not; bytes that nobody made."""
    mine = kinds()[role_in_table]
    others = sorted({field.name for field in pb.Envelope.DESCRIPTOR.oneofs_by_name["body"].fields} - set(mine))
    seeds = [file.read_bytes() for file in sorted((TOP / "tests" / "fuzz" / "wire").iterdir())]

    def allowed(role):
        kind = role.rng.choice(mine)
        role.note(kind)
        say(role, **{kind: role.body(kind)})

    def forbidden(role):
        kind = role.rng.choice(others)
        role.note(kind)
        say(role, **{kind: role.body(kind)})

    def forged(role):
        """Its envelope is: version, epoch, sequence, acknowledgements."""
        kind = role.rng.choice(mine)
        envelope = pb.Envelope(**{kind: role.body(kind)})
        for field in ("version", "epoch", "sequence", "acknowledged"):
            edges.set_scalar(envelope, pb.Envelope.DESCRIPTOR.fields_by_name[field], role.rng.choice(edges.NUMBERS))
        role.note(kind)
        say(role, raw=edges.written(envelope))

    def bytes_of_nobody(role):
        say(role, raw=edges.changed(seeds, role.rng))

    return [Move("any kind", 40, allowed), Move("a kind of others", 8, forbidden), Move("a forged envelope", 8, forged),
            Move("bytes of nobody", 8, bytes_of_nobody)]


def of_the_transport(key):
    """Moves of who has a key: what ZeroMQ takes and the schema does not know."""

    def own_door(role, **more):
        return Tcp(role.context, role.place["address"], role.place["keys"].get(key), **more)

    def many_parts(role):
        """A message of many parts, whole ones around it."""
        one, parts = own_door(role), role.some(300, 9000)
        try:
            one.say(acknowledge=pb.Acknowledge())
            for i in range(parts):
                one.put(role.rng.randbytes(role.rng.choice((0, 1, 200))), more=i < parts - 1)
            one.say(acknowledge=pb.Acknowledge())
            role.note("%d" % parts)
            role.pause(0.2)
        finally:
            one.close()

    def names_itself(role):
        """A routing id of its own, now and then one that two have."""
        held = []
        try:
            for _ in range(role.some(2, 20)):
                held.append(own_door(role, identity=role.rng.choice((b"x", b"h1", b"x" * 255, role.rng.randbytes(5).replace(b"\0", b"x")))))
                held[-1].say(acknowledge=pb.Acknowledge())
            role.pause(0.1)
        finally:
            for one in held:
                one.close()

    return [Move("many parts", 4, many_parts), Move("names itself", 3, names_itself)]


def listen(inbox):
    for line in sys.stdin:
        inbox.put(json.loads(line))
    inbox.put(None)


def drop_rights(place):
    """Whose process it is from now on; with no more of the processor than nobody else wants: who
    attacks has a machine of its own."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if place.get("user") is not None and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(place["group"])
        os.setuid(place["user"])


def main(name):
    module = importlib.import_module("tests.hostile.role_" + name)
    place = json.loads(sys.stdin.readline())
    role = Role(place, "%s %s" % (place["seed"], name))
    moves = module.moves(place)
    wanted = os.environ.get("HOSTILE_MOVES")
    if wanted:  # to find which of them does it
        moves = [move for move in moves if move.name in wanted.split(",")]
        assert moves, "no move of %s is named so: %s" % (name, wanted)
    drop_rights(place)
    threading.Thread(target=listen, args=(role.inbox,), daemon=True).start()
    on, told = False, role.inbox.get()
    while told is not None:
        on = told["on"]
        if on:
            role.known = edges.Known(**{key: [bytes.fromhex(x) for x in value] if key == "addresses" else value for key, value in told["known"].items()})
        else:
            getattr(module, "off", lambda _role: None)(role)
            role.close_all()
        print(json.dumps(role.report()), flush=True)
        while on and role.inbox.empty():
            role.step(moves)
        told = role.inbox.get()


if __name__ == "__main__":
    main(sys.argv[1])
