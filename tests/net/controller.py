"""A real duopolyd on loopback and what talks to it: agents over ZeroMQ with the official protobuf
library, duopolyctl, a clock.

Nothing here needs root. Waiting is on conditions with a deadline."""
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib

TOP = pathlib.Path(__file__).resolve().parents[2]
if str(TOP) not in sys.path:  # where one of the tree's programs runs it
    sys.path.append(str(TOP))

from testbed.net import answers  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BUILD", TOP / "build"))
BUILD = BUILD if BUILD.is_absolute() else TOP / BUILD
DEADLINE = 20.0
SECOND = 1_000_000_000


def load_messages():
    """The schema's Python classes, made by protoc."""
    out = BUILD / "gen" / "python"
    out.mkdir(parents=True, exist_ok=True)
    made = out / "duopoly_pb2.py"
    schema = TOP / "schemas" / "duopoly.proto"
    if not made.exists() or made.stat().st_mtime < schema.stat().st_mtime:
        scratch = tempfile.mkdtemp(dir=out)
        subprocess.run(["protoc", f"--python_out={scratch}", f"-I{schema.parent}", schema.name], check=True)
        os.replace(f"{scratch}/duopoly_pb2.py", made)
        os.rmdir(scratch)
    sys.path.insert(0, str(out))
    import duopoly_pb2
    return duopoly_pb2


pb = load_messages()


def wait_until(condition, what, every=0.005):
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(every)
    raise AssertionError(f"{what}: not within {DEADLINE} s")


class Client:
    """Talks to the Unix socket by the schema alone."""

    def __init__(self, daemon):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(str(daemon.socket))

    def send(self, **body):
        envelope = pb.Envelope(version=1)
        for kind, value in body.items():
            getattr(envelope, kind).CopyFrom(value)
        self.socket.send(envelope.SerializeToString())

    def answer(self):
        return pb.Envelope.FromString(self.socket.recv(65536))

    def ask(self, **body):
        self.send(**body)
        return self.answer()

    def close(self):
        self.socket.close()


class Played:
    """The socket of a controller that answers one client after the other as a function says; None:
    it closes."""

    def __init__(self, path, answer):
        self.path, self.answer, self.asked = path, answer, []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            with client:
                while asked := client.recv(65536):
                    request = pb.Envelope.FromString(asked)
                    self.asked.append(request)
                    answer = self.answer(request)
                    if answer is None:
                        return
                    client.send(answer.SerializeToString())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(20)
        self.listener.close()


def older_says(path, *words):
    """What a command says that asks a controller without any of what was added later; it asks for
    the status alone."""
    with Played(path, lambda request: pb.Envelope(version=1, status=pb.Status())) as played:
        done = subprocess.run([BUILD / "duopolyctl", "-s", path, *words], capture_output=True,
                              text=True, timeout=20, check=False)
    assert [request.WhichOneof("body") for request in played.asked] == ["get_status"], played.asked
    assert done.returncode == 1 and not done.stdout, done
    return done.stderr


class Clock:
    """The scripted clock's other end."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(str(path))
        self.now = 0

    def advance(self, ns):
        self.now += ns
        self.socket.send(f"advance {self.now}".encode())
        answer = self.socket.recv(256).decode().split()
        assert answer[:2] == ["now", str(self.now)], answer
        return answer[3]

    def close(self):
        self.socket.close()


def read_key(path):
    """A key file as a dictionary; `controller` is a list."""
    words = [line.split() for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("#")]
    key = {word: value for word, value in words if word != "controller"}
    key["controller"] = [value for word, value in words if word == "controller"]
    return key


class Daemon:
    """duopolyd with a folder of its own; `scripted` gives its time to the test. `log`: more of that
    section, None: nothing of it. `keys`: it has a key of its own, so that whoever connects needs
    one."""

    def __init__(self, scripted=False, config="", log="", files=None, keys=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="duopoly-"))
        self.socket = self.folder / "s"
        self.scripted = scripted
        self.clock = None
        self.process = None
        self.arguments = []  # more of its command line
        self.started = 0  # how often it said before that it listens
        self.extra = config
        if log is not None:
            folder = "" if "folder:" in log else f"folder: {self.folder}/log"
            self.extra = "log: {%s}\n%s" % (", ".join(filter(None, [folder, log])), config)
        self.files = files  # how many may be open, None: as here
        if keys:
            (self.folder / "state").mkdir()
            subprocess.run([BUILD / "duopolyctl", "keys", "make", "controller", "--role", "controller", "--out",
                            self.folder / "state" / "keys"], check=True, stdout=subprocess.DEVNULL)
        self.start()

    def start(self):
        config = self.folder / "duopolyd.yaml"
        config.write_text(f"listen: tcp://127.0.0.1:*\nsocket: {self.socket}\nstate: {self.folder}/state\n{self.extra}")
        command = [BUILD / "duopolyd", "--config", config, *self.arguments]
        if self.scripted:
            (self.folder / "clock").unlink(missing_ok=True)
            command += ["--clock", self.folder / "clock"]
        self.stderr = open(self.folder / "stderr", "ab")
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (self.files, self.files))) if self.files else None
        self.process = subprocess.Popen(command, stderr=self.stderr, preexec_fn=limit)
        said = wait_until(self.address_said, "duopolyd says where it listens")
        self.address = said
        if self.scripted:
            self.clock = Clock(self.folder / "clock")

    def address_said(self):
        if self.process.poll() is not None:
            raise AssertionError(f"duopolyd ended: {self.words()}")
        lines = [l for l in self.words().splitlines() if "agents on" in l]
        return lines[-1].split("agents on ")[1].split(",")[0] if len(lines) > self.started else None

    def words(self):
        return (self.folder / "stderr").read_text()

    def kill(self):
        self.started = self.words().count("agents on")
        if self.clock:
            self.clock.close()
        self.process.kill()
        self.process.wait()
        self.stderr.close()

    def stop(self):
        """Ends it as an operator does; its exit status."""
        self.started = self.words().count("agents on")
        if self.clock:
            self.clock.close()
        self.process.terminate()
        status = self.process.wait(timeout=DEADLINE)
        self.stderr.close()
        return status

    def remove(self):
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ctl(self, *words, expect=0):
        """Runs duopolyctl; its answer (testbed/net/answers.py), or, where it is to fail, its sentence. `status` also succeeds
        where it says that something is wrong."""
        return self._ctl(["-s", self.socket], words, expect)

    def _ctl(self, where, words, expect):
        done = subprocess.run([BUILD / "duopolyctl", *where, "-j", *map(str, words)], capture_output=True, text=True,
                              timeout=DEADLINE, check=False)
        assert done.returncode == expect or (words[0], expect, done.returncode) == ("status", 0, 8), \
            (done.returncode, done.stdout[-1000:], done.stderr)
        try:
            answer = answers.read(done.stdout)
        except answers.Refused as refused:
            assert refused.error["code"] == done.returncode == expect, refused.error
            return f"duopolyctl: {refused}\n"
        assert expect == 0, answer
        return answer

    def key(self, name, role="agent"):
        """Makes a key; its file."""
        self.ctl("keys", "make", name, "--role", role, "--out", self.folder / "keys")
        return self.folder / "keys" / f"{name}.key"

    def remote(self, key, *words, expect=0):
        """As ctl, over TCP."""
        return self._ctl(["--controller", self.address, "--key", key], words, expect)

    def counters(self, source="controller"):
        return {c["name"]: c["value"] for c in self.ctl("counters")["counters"] if c["source"] == source}

    def log(self):
        return (self.folder / "log" / "duopoly.log").read_text().splitlines()


class Agent:
    """An agent by the schema alone: no code is shared with the controller."""

    def __init__(self, daemon, name, slots=4, boot=1, hello_sequence=1, host=None, key=None, address=None):
        import zmq
        self.zmq = zmq
        self.daemon = daemon
        self.name, self.slots, self.boot, self.hello_sequence = name, slots, boot, hello_sequence
        self.host = host or 1 + zlib.crc32(name.encode()) % 65000  # the end of its address
        self.context = zmq.Context()
        self.key = read_key(key) if key else None
        self.address = address  # None: the daemon's, which changes when it begins anew
        self.running = {}
        self.disk_bytes_s = self.asks = 0
        self.rack = ""
        self.units, self.unit_names = [], []  # none: one of `slots`, without a name
        self.connect()

    def connect(self):
        self.socket = self.context.socket(self.zmq.DEALER)
        self.socket.setsockopt(self.zmq.LINGER, 0)
        if self.key:
            self.socket.curve_publickey = self.key["public"].encode()
            self.socket.curve_secretkey = self.key["secret"].encode()
            self.socket.curve_serverkey = self.key["controller"][0].encode()
        self.socket.connect(self.address or self.daemon.address)
        self.sent = self.effected = 0
        self.epoch = 0
        self.passed = []  # what came while an acknowledgement was waited for

    def close(self):
        self.socket.close()
        self.context.term()

    def send(self, numbered=False, **body):
        envelope = pb.Envelope(version=1, epoch=self.epoch, acknowledged=self.effected)
        for kind, value in body.items():
            getattr(envelope, kind).CopyFrom(value)
        if numbered:
            self.sent += 1
            envelope.sequence = self.sent
        self.socket.send(envelope.SerializeToString())
        return envelope.sequence

    def receive(self, timeout=DEADLINE):
        if not self.socket.poll(timeout * 1000):
            raise AssertionError(f"{self.name} got nothing")
        envelope = pb.Envelope.FromString(self.socket.recv())
        if envelope.sequence:
            assert envelope.sequence == self.effected + 1
            self.effected = envelope.sequence
        return envelope

    def expect(self, kind):
        """The next message of this kind; leases and acknowledgements in between are passed over."""
        for envelope in self.passed:
            if envelope.HasField(kind):
                self.passed.remove(envelope)
                return envelope
        while True:
            envelope = self.receive()
            got = envelope.WhichOneof("body")
            if got == kind:
                return envelope
            assert got in ("lease", "acknowledge", "mode", "levels"), f"{self.name} got {got}, not {kind}"

    def receive_start(self):
        """Takes one message; true if it was a start, which is then in `running`."""
        envelope = self.receive()
        if envelope.HasField("start"):
            self.running[envelope.start.attempt] = envelope.start
        return envelope.HasField("start")

    def hello(self):
        self.send(hello=pb.Hello(version_min=1, version_max=1, name=self.name, rack=self.rack, boot=self.boot, hello_sequence=self.hello_sequence,
                                 units=self.units or [pb.Resources(slots=self.slots)], unit_names=self.unit_names, asks=self.asks, address=b"\0" * 10 + b"\xff\xff\x0a\x4d" + self.host.to_bytes(2, "big"),
                                 uplink_bps=100_000_000, downlink_bps=100_000_000, disk_bytes_s=self.disk_bytes_s))

    def join(self, attempts=()):
        self.hello()
        welcome = self.expect("welcome")
        self.epoch = welcome.epoch
        if attempts:
            self.send(numbered=True, inventory_part=pb.InventoryPart(part=0, attempts=attempts))
        self.send(numbered=True, inventory_end=pb.InventoryEnd(parts=1 if attempts else 0))
        self.acknowledged(self.sent)
        return welcome.welcome

    def acknowledged(self, sequence):
        while True:
            envelope = self.receive()
            if envelope.HasField("start"):
                self.running[envelope.start.attempt] = envelope.start
            elif envelope.HasField("start_inputs") or envelope.HasField("forget"):
                self.passed.append(envelope)
            if envelope.acknowledged >= sequence:
                return

    def state(self, attempt, phase, **more):
        return self.send(numbered=True, attempt_state=pb.AttemptState(
            attempt=attempt, phase=getattr(pb, "PHASE_" + phase), **more))


def workload(folder, jobs, hosts=2):
    """Writes a workload file and returns its path."""
    path = pathlib.Path(folder) / "workload.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in [{"duopoly_workload": 1, "hosts": hosts}, *jobs]) + "\n")
    return path
