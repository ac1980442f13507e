"""A host that was taken over: it has its own agent's key, takes part in the work where that serves it, and speaks for others.

What it may do by right is left out: ends of tasks that it was itself given are its own word (docs/operate/threats.md)."""
import time

from .doors import Broken
from .role import Move, any_kind, of_the_transport
from controller import pb

PHASES = [value.number for value in pb.AttemptPhase.DESCRIPTOR.values]
HUGE = (0, -1, 2**20, 2**31, 2**42, 2**62, 2**63 - 1)


def door(role):
    return role.tcp("h5")


def hello(role, /, **other):
    fields = dict(version_min=1, version_max=1, name="h5", boot=1, hello_sequence=time.monotonic_ns(), units=[pb.Resources(slots=1)],
                  address=bytes(10) + b"\xff\xff\x0a\x63\0\xc8", uplink_bps=10**8, downlink_bps=10**8)
    fields.update(other)
    return pb.Hello(**fields)


def session(role):
    """A door with a session of its own name."""
    opened = door(role)
    if not opened.epoch:
        role.memory["mine"] = {}
        if opened.welcome("hello", hello(role)):
            opened.say(True, inventory_end=pb.InventoryEnd(parts=0))
    obey(role)
    return opened


def obey(role):
    """What it was given to run it runs: it says that it is done."""
    opened = door(role)
    for envelope in opened.drain():
        if envelope.HasField("start"):
            opened.say(True, attempt_state=pb.AttemptState(attempt=envelope.start.attempt, phase=pb.PHASE_STARTED))
            opened.say(True, attempt_state=pb.AttemptState(attempt=envelope.start.attempt, phase=pb.PHASE_DONE))


def say(role, raw=None, **bodies):
    opened = session(role)
    if raw is not None:
        opened.put(raw)
    else:
        opened.say(role.rng.random() < 0.7, **bodies)
    obey(role)


def others_attempt(role):
    """Of somebody, or near by: numbers are the epoch's and a count."""
    if role.known.attempts and role.rng.random() < 0.8:
        return role.rng.choice(role.known.attempts) + role.rng.choice((0, 0, 0, 1, 2, -1))
    return (max(1, door(role).epoch) << 32) + role.rng.randrange(1, 500)


def end_anothers_attempt(role):
    opened = session(role)
    for _ in range(role.some(5, 200)):
        opened.say(True, attempt_state=pb.AttemptState(attempt=others_attempt(role), phase=role.rng.choice(PHASES), exit_status=role.rng.choice((0, 1, -9)),
                                                       text="not mine", job=role.rng.choice(role.known.jobs or [1]),
                                                       received_bytes=role.rng.choice(HUGE) % 2**63))


def blame_a_source(role):
    opened = session(role)
    for _ in range(role.some(5, 100)):
        opened.say(True, source_state=pb.SourceState(attempt=others_attempt(role), address=role.rng.choice(role.known.addresses or [bytes(16)]), flows=False,
                                                     others=role.rng.choice((0, 1, 5, 2**32 - 1))))


def lose_others_outputs(role):
    opened = session(role)
    for _ in range(role.some(5, 100)):
        opened.say(True, output_lost=pb.OutputLost(job=role.rng.choice(role.known.jobs or [1]), stage=role.rng.choice((0, 1, 1023)), task=role.rng.randrange(4),
                                                   attempt=others_attempt(role)))


def progress_of_others(role):
    opened = session(role)
    opened.say(progress=pb.Progress(attempts=[pb.AttemptBytes(attempt=others_attempt(role), received_bytes=role.rng.choice((0, 2**62, 2**64 - 1)))
                                              for _ in range(role.some(5, 200))]))


def claim_much(role):
    """A HELLO of a giant, or of somebody else."""
    role.close("h5")
    opened = door(role)
    other = role.rng.choice([
        dict(units=[pb.Resources(slots=role.rng.choice(HUGE))]),
        dict(units=[pb.Resources(slots=1, cpu_milli=role.rng.choice(HUGE), mem_bytes=role.rng.choice(HUGE),
                                 gpu_milli=role.rng.choice(HUGE))] * role.rng.choice((1, 16, 17))),
        dict(name=role.rng.choice(role.known.hosts or ["h1"])), dict(boot=role.rng.choice((0, 2, 2**64 - 1))),
        dict(hello_sequence=role.rng.choice((0, 1, 2**64 - 1))),
        dict(role=1), dict(address=role.rng.choice(role.known.addresses or [b""])), dict(uplink_bps=2**64 - 1, downlink_bps=0), dict(version_min=2**32 - 1),
        dict(labels=["l%d" % i for i in range(role.rng.choice((8, 9, 1000)))]), dict(rack="r" * 300)])
    role.note(str(other)[:80].replace("\n", " "))
    if opened.welcome("hello", hello(role, **other), 0.5):
        opened.say(True, inventory_end=pb.InventoryEnd(parts=0))
    obey(role)
    role.close("h5")


def inventory_of_fables(role):
    """It holds what it never had: attempts of others, outputs without end, parts that do not come."""
    role.close("h5")
    opened = door(role)
    if not opened.welcome("hello", hello(role)):
        return
    for part in range(role.some(2, 40)):
        opened.say(True, inventory_part=pb.InventoryPart(
            part=role.rng.choice((part, part, 0, 2**32 - 1)),
            attempts=[pb.AttemptState(attempt=others_attempt(role), phase=role.rng.choice(PHASES), job=role.rng.choice(role.known.jobs or [2**40]),
                                      resources=pb.Resources(slots=role.rng.choice(HUGE))) for _ in range(20)],
            outputs=[pb.OutputHeld(job=role.rng.choice(role.known.jobs or [1]), stage=s % 3, task=s, attempt=others_attempt(role)) for s in range(100)]))
    if role.rng.random() < 0.7:
        opened.say(True, inventory_end=pb.InventoryEnd(parts=role.rng.choice((0, 1, 3, 2**32 - 1))))
    role.pause(0.2)
    role.close("h5")


def forged_epoch(role):
    opened = session(role)
    envelope = opened.envelope(True, agent_heartbeat=pb.AgentHeartbeat())
    envelope.epoch = role.rng.choice((0, opened.epoch + 1, 2**31, 2**32 - 3, 2**32 - 1))
    opened.put(envelope.SerializeToString())
    role.pause(0.05)


def sequences(role):
    """Gaps, repeats, and acknowledgements of what was not sent."""
    opened = session(role)
    for _ in range(20):
        envelope = opened.envelope(agent_heartbeat=pb.AgentHeartbeat())
        envelope.sequence = role.rng.choice((0, 1, opened.sent, opened.sent + 2, 2**62, 2**64 - 1))
        envelope.acknowledged = role.rng.choice((0, opened.effected + 1, 2**62, 2**64 - 1))
        opened.put(envelope.SerializeToString())
    role.pause(0.05)
    role.close("h5")


def come_and_go(role):
    """Sessions that begin and end, or begin without end."""
    for _ in range(role.some(3, 30)):
        if role.over():
            break
        role.close("h5")
        door(role).say(hello=hello(role, boot=role.rng.randrange(3)))
        role.pause(role.rng.choice((0, 0.01, 0.05)))
    role.close("h5")


def talk_much(role):
    """As much as is allowed."""
    opened = session(role)
    numbered = role.rng.random() < 0.5
    sent = role.repeat(role.some(200, 4000), lambda i: opened.say(numbered, agent_heartbeat=pb.AgentHeartbeat()) or (i % 100 == 0 and obey(role)), 8000)
    role.note("%d" % sent)
    role.pause(0.1)


def talk_too_much(role):
    """More than is allowed: it is cut off, and kept out."""
    opened = session(role)
    for _ in range(15000):
        opened.say(agent_heartbeat=pb.AgentHeartbeat())
    role.close("h5")


def texts_of_much(role):
    """What people read: escapes, length, change after change."""
    opened = session(role)
    for _ in range(role.some(5, 200)):
        opened.say(True, host_state=role.body("host_state"))
        opened.say(True, host_room=pb.HostRoom(text=role.rng.choice(("", "full", "\x1b[2J", "x" * 200, "\nduopolyd: all is well"))))
    opened.say(True, host_room=pb.HostRoom())


def tables_of_much(role):
    """Ports, links and guests as many as fit, and numbers of more."""
    opened = session(role)
    for i in range(role.some(3, 100)):
        kind = role.rng.choice(("links_part", "guests_part", "switch_part", "load", "agent_counters", "asked_part"))
        opened.say(role.rng.random() < 0.5, **{kind: role.body(kind)})
    same = role.fresh("app")
    for _ in range(2):
        opened.say(guests_part=pb.GuestsPart(applications=[
            pb.GuestApplication(name=role.rng.choice((same, role.fresh("app"))), user=role.rng.choice((0, i)), guests=2**31, cores=2**31,
                                received_bytes=2**63 + i, rung=3, level=7) for i in range(60)]))


def refuse_work(role):
    """It takes nothing that it is given, and says so at once."""
    opened = session(role)
    until = time.monotonic() + 0.3
    while time.monotonic() < until and not role.over():
        envelope = opened.take(0.02)
        if envelope is not None and envelope.HasField("start"):
            opened.say(True, attempt_state=pb.AttemptState(attempt=envelope.start.attempt, phase=pb.PHASE_REFUSED, text="no"))


def never_read(role):
    """Numbered words whose acknowledgements it does not take."""
    opened = session(role)
    role.repeat(role.some(100, 3000), lambda i: opened.say(True, agent_heartbeat=pb.AgentHeartbeat()), 6000)
    role.pause(0.1)
    role.close("h5")


def out_of_order(role):
    """Words about what it was itself given, in every order, again and again, about more than there is; at last its end."""
    opened, mine = session(role), []
    until = time.monotonic() + 0.5
    while time.monotonic() < until and not mine and not role.over():
        envelope = opened.take(0.02)
        if envelope is not None and envelope.HasField("start"):
            mine.append(envelope.start.attempt)
    for attempt in mine:
        for _ in range(role.some(5, 100)):
            opened.say(True,
                       attempt_state=pb.AttemptState(attempt=attempt, phase=role.rng.choice([p for p in PHASES if p < pb.PHASE_DONE or p > pb.PHASE_LOST]),
                                                           text=role.rng.choice(("", "x" * 200)), received_bytes=role.rng.choice((0, 1, 2**62)),
                                                           resources=pb.Resources(slots=role.rng.choice(HUGE))))
            opened.say(progress=pb.Progress(attempts=[pb.AttemptBytes(attempt=attempt, received_bytes=role.rng.choice((0, 2**62, 2**64 - 1)))] * 50))
        for _ in range(3):
            opened.say(True, attempt_state=pb.AttemptState(attempt=attempt, phase=pb.PHASE_DONE))


def twice_at_once(role):
    """Two sessions of one name, each of which says that it is the newer one."""
    both = [door(role), role.tcp("h5", "h5 again")]
    for i in range(role.some(4, 40)):
        if role.over():
            break
        one = both[i % 2]
        if one.welcome("hello", hello(role, boot=role.rng.randrange(3)), 0.3):
            one.say(True, inventory_end=pb.InventoryEnd(parts=0))
        both[1 - i % 2].say(True, agent_heartbeat=pb.AgentHeartbeat())
    role.close_all()


def off(role):
    """It takes no more, and has nothing: what others wait for afterwards is no loss of this host, which takes timers.host_lost."""
    role.close_all()
    try:
        opened = session(role)
        opened.say(True, host_room=pb.HostRoom(text="off"))
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            obey(role)
            time.sleep(0.02)
    except (Broken, OSError):
        pass  # it is kept out


def moves(place):
    # Who talks too much is kept out for 20 s: a short form is over by then.
    cut_off = [Move("talks too much", 1, talk_too_much)] if place.get("long") else []
    return cut_off + any_kind("AGENT", say) + of_the_transport("h5") + [
        Move("out of order", 8, out_of_order), Move("twice at once", 6, twice_at_once),
        Move("ends another's attempt", 20, end_anothers_attempt), Move("blames a source", 12, blame_a_source),
        Move("loses others' outputs", 8, lose_others_outputs), Move("progress of others", 6, progress_of_others),
        Move("claims much", 14, claim_much), Move("an inventory of fables", 10, inventory_of_fables), Move("a forged epoch", 6, forged_epoch),
        Move("forged sequences", 6, sequences), Move("comes and goes", 6, come_and_go), Move("talks much", 6, talk_much),
        Move("texts of much", 6, texts_of_much), Move("tables of much", 8, tables_of_much),
        Move("refuses work", 6, refuse_work), Move("never reads", 4, never_read)]
