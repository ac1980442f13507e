"""Somebody without a key, on the network and on the hosts: as a user who is in no group."""
import os
import select
import socket
import struct

import zmq

from . import edges
from .doors import Packets, Tcp
from .role import Move, kinds
from controller import TOP, pb
from floods import GREETING, READY, frame

SEEDS = [file.read_bytes() for file in sorted((TOP / "tests" / "fuzz" / "wire").iterdir())]


def where(role):
    host, _, port = role.place["address"].partition("//")[2].rpartition(":")
    return host, int(port)


def some_connections(role, count, say, seconds=0.3):
    """So many at once, each says its bytes; they stand for a while."""
    opened = []
    try:
        for _ in range(count):
            if role.over():
                break
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(where(role))
            opened.append(one)
        for one in opened:
            select.select([], [one], [], 0.05)
            try:
                one.send(say())
            except OSError:
                pass
        role.note("%d" % len(opened))
        role.pause(seconds)
    finally:
        for one in opened:
            one.close()


def come_and_go(role):
    some_connections(role, role.some(20, 500), lambda: GREETING[:role.rng.choice((0, 1, 10, 64))], 0)


def half_open(role):
    some_connections(role, role.some(50, 800), lambda: GREETING[:role.rng.choice((1, 12))], role.rng.choice((0.2, 1, 3)))


def silent(role):
    some_connections(role, role.some(50, 800), lambda: b"", role.rng.choice((0.2, 1)))


def oversize(role):
    some_connections(role, role.some(3, 30),
                     lambda: GREETING + READY + b"\x02" + struct.pack(">Q", role.rng.choice((1 << 16, 1 << 30, 1 << 62, (1 << 64) - 1))) + bytes(2000))


def handshakes_of_nobody(role):
    """Greetings and commands with bytes changed, plain and CURVE."""
    greeting = GREETING.replace(b"NULL".ljust(20, b"\0"), role.rng.choice((b"NULL", b"CURVE", b"PLAIN", b"GSSAPI")).ljust(20, b"\0"))

    def said():
        return edges.changed([greeting, greeting + READY, greeting + b"\x04\xc8\x05HELLO\x01\0" + os.urandom(192)], role.rng)
    some_connections(role, role.some(5, 100), said, 0.05)


def random_bytes(role):
    some_connections(role, role.some(5, 100), lambda: role.rng.randbytes(role.rng.choice((1, 64, 1000, 60000))), 0.05)


def halves(role):
    """A greeting, and no more to say: it goes on listening."""
    opened = []
    try:
        for _ in range(role.some(5, 200)):
            one = socket.create_connection(where(role), 0.5)
            opened.append(one)
            one.sendall(GREETING[:role.rng.choice((1, 12, 64))])
            one.shutdown(socket.SHUT_WR)
        role.pause(0.3)
    finally:
        for one in opened:
            one.close()


def one_message_without_end(role):
    """Parts, and each says that more follow. Where keys are wanted nobody hears even the first."""
    one = socket.create_connection(where(role), 0.5)
    try:
        one.sendall(GREETING + READY)
        role.pause(0.05)
        parts = (b"\1\xc8" + bytes(200)) * 100
        for _ in range(role.some(5, 2000)):
            if role.over():
                break
            one.sendall(parts)
    finally:
        one.close()


def slowly(role):
    """A greeting, one byte after the other."""
    one = socket.create_connection(where(role), 0.5)
    try:
        for byte in GREETING:
            one.send(bytes([byte]))
            role.pause(0.01)
    finally:
        one.close()


def made_up_key(role):
    """CURVE with a pair that nobody gave it: to the right controller where it knows its public key, and as nobody."""
    public, secret = zmq.curve_keypair()
    key = dict(public=public.decode(), secret=secret.decode(), controller=[role.place["controller_key"] or public.decode()])
    for _ in range(role.some(2, 30)):
        one = Tcp(role.context, role.place["address"], key)
        one.say(get_status=pb.GetStatus())
        assert one.take(0.05) is None, "who has no key was answered"
        one.close()


def plain(role):
    """Plain text, where keys are wanted: nothing of it is answered."""
    one = Tcp(role.context, role.place["address"])
    try:
        for kind in role.rng.sample(kinds()["AGENT"] + kinds()["ADMIN"], 8):
            one.say(**{kind: role.body(kind)})
        answer = one.take(0.05)
        assert not role.place["keys"] or answer is None, "plain text was answered: %s" % answer
    finally:
        one.close()


def plain_flood(role):
    one = socket.create_connection(where(role), 0.5)
    try:
        one.sendall(GREETING + READY)
        for _ in range(role.some(5, 100)):
            one.sendall(frame(edges.changed(SEEDS, role.rng)) * 20)
    finally:
        one.close()


def local_doors(role):
    """Every Unix socket that he can find: of the controller he is told that he may not, the others do not let him in."""
    for path in role.place["sockets"]:
        for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM, socket.SOCK_DGRAM):
            one = socket.socket(socket.AF_UNIX, kind)
            try:
                one.settimeout(0.2)
                one.connect(path)
                one.send(edges.changed(SEEDS, role.rng) or b"\0")
                one.recv(1 << 17)
            except OSError:
                pass
            finally:
                one.close()


def knock(role):
    """Places on the controller's Unix socket, by who is in no group."""
    held = []
    try:
        for _ in range(role.some(20, 400)):
            one = Packets(role.place["socket"])
            held.append(one)
            answer = one.ask(0.5, get_status=pb.GetStatus())
            assert answer.HasField("refused"), "who is in no group was answered: %s" % answer
        role.pause(0.2)
    finally:
        for one in held:
            one.close()


def files(role):
    """Reads what he should not, writes where he should not."""
    for path in role.place["secrets"]:
        try:
            with open(path, "rb") as secret:
                secret.read(1)
        except OSError:
            continue
        raise AssertionError("who is nobody may read %s" % path)
    for path in role.place["folders"]:
        try:
            with open(os.path.join(path, "of-a-stranger"), "w"):
                pass
        except OSError:
            continue
        raise AssertionError("who is nobody may write in %s" % path)


def moves(_place):
    return [Move("comes and goes", 10, come_and_go), Move("half open", 8, half_open), Move("silent", 6, silent), Move("oversize", 8, oversize),
            Move("handshakes of nobody", 12, handshakes_of_nobody), Move("random bytes", 10, random_bytes), Move("slowly", 3, slowly),
            Move("halves", 4, halves), Move("one message without end", 5, one_message_without_end),
            Move("a made-up key", 8, made_up_key), Move("plain", 10, plain), Move("plain flood", 6, plain_flood), Move("local doors", 10, local_doors),
            Move("knocks", 8, knock), Move("files", 8, files)]
