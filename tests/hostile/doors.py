"""Ways to a controller or an agent for who means no good: nothing here waits for long, and what
breaks is opened anew.

They are written from the schema alone, as tests/net/controller.py is, which they share the classes
of messages with."""
import socket
import struct
import time

import zmq

from . import edges, path  # noqa: F401: by path the modules of tests/net are found
from controller import pb

ANSWER_SECONDS = 0.5


class Broken(Exception):
    """The other side ended it, or says nothing: the move is over."""


class Door:
    """What a session counts: sequences each way. `version` and `epoch` are as the schema says,
    unless a move forges them."""

    def __init__(self):
        self.sent = self.effected = self.answered = self.epoch = 0
        self.refused, self.others = [], []

    def envelope(self, numbered=False, **bodies):
        envelope = pb.Envelope(version=1, epoch=self.epoch, acknowledged=self.effected)
        for kind, value in bodies.items():
            getattr(envelope, kind).CopyFrom(value)
        if numbered:
            self.sent += 1
            envelope.sequence = self.sent
        return envelope

    def say(self, numbered=False, **bodies):
        self.put(edges.written(self.envelope(numbered, **bodies)))

    def take(self, seconds=0.0):
        """The next message, or None."""
        raw = self.get(seconds)
        if raw is None:
            return None
        envelope = pb.Envelope.FromString(raw)
        if envelope.sequence:
            self.effected = envelope.sequence
        self.answered = max(self.answered, envelope.acknowledged)
        if envelope.HasField("refused"):
            self.refused.append(envelope.refused.text)
        return envelope

    def drain(self):
        """All that waits."""
        taken = []
        while (envelope := self.take()) is not None:
            taken.append(envelope)
        return taken

    def ask(self, seconds=ANSWER_SECONDS, **bodies):
        """The answer; Broken where none comes."""
        self.say(**bodies)
        answer = self.take(seconds)
        if answer is None:
            raise Broken("no answer")
        return answer

    def welcome(self, kind, message, seconds=2.0):
        """After a HELLO of this kind: whether there is a session."""
        self.sent = self.effected = self.answered = self.epoch = 0
        self.say(**{kind: message})
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            envelope = self.take(0.1)
            if envelope is not None and envelope.HasField("welcome"):
                self.epoch = envelope.epoch
                return True
            if envelope is not None and envelope.HasField("refused"):
                return False
        return False


class Tcp(Door):
    """ZeroMQ's DEALER, with a key (the dictionary of controller.read_key) or without one."""

    def __init__(self, context, address, key=None, identity=None):
        super().__init__()
        self.socket = context.socket(zmq.DEALER)
        if identity:
            self.socket.setsockopt(zmq.ROUTING_ID, identity)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.SNDHWM, 2000)
        self.socket.setsockopt(zmq.RECONNECT_IVL, 200)
        if key:
            self.socket.curve_publickey = key["public"].encode()
            self.socket.curve_secretkey = key["secret"].encode()
            self.socket.curve_serverkey = key["controller"][0].encode()
        self.socket.connect(address)

    def put(self, raw, more=False):
        try:
            self.socket.send(raw, zmq.DONTWAIT | (zmq.SNDMORE if more else 0))
        except zmq.Again:
            raise Broken("nothing is taken in") from None

    def get(self, seconds):
        return self.socket.recv() if self.socket.poll(seconds * 1000) else None

    def close(self):
        self.socket.close()


class Packets(Door):
    """A Unix socket of packets: duopolyctl's and the drivers' at the controller."""

    KIND = socket.SOCK_SEQPACKET

    def __init__(self, path):
        super().__init__()
        self.socket = socket.socket(socket.AF_UNIX, self.KIND)
        self.socket.settimeout(2)
        self.socket.connect(path)

    def put(self, raw):
        self.socket.settimeout(2)
        self.socket.send(raw or b"\0")

    def pass_descriptors(self, count):
        """With a message come so many: who takes the message holds them, unless it throws them
        away."""
        with open("/dev/null", "rb") as one:
            socket.send_fds(self.socket, [b"\0"], [one.fileno()] * count)

    def say_no_more(self):
        """Its half is closed; it goes on listening."""
        self.socket.shutdown(socket.SHUT_WR)

    def get(self, seconds):
        self.socket.settimeout(seconds or 1e-4)
        try:
            raw = self.socket.recv(1 << 17)
        except TimeoutError:
            return None
        if not raw:
            raise Broken("closed")
        return raw

    def close(self):
        self.socket.close()


class Stream(Packets):
    """A Unix stream socket with lengths: an agent's for frameworks."""

    KIND = socket.SOCK_STREAM

    def __init__(self, path):
        super().__init__(path)
        self.had = b""

    def put(self, raw):
        self.socket.settimeout(2)
        self.socket.sendall(struct.pack(">I", len(raw)) + raw)

    def get(self, seconds):
        deadline = time.monotonic() + seconds
        while len(self.had) < 4 or len(self.had) - 4 < struct.unpack(">I", self.had[:4])[0]:
            more = super().get(max(0, deadline - time.monotonic()))
            if more is None:
                return None
            self.had += more
        end = 4 + struct.unpack(">I", self.had[:4])[0]
        raw, self.had = self.had[4:end], self.had[end:]
        return raw
