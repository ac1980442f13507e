"""A stand-in for a framework's executor: its command line has an executor's words, and it fetches
what it is told to on its standard input, over one connection for each peer that stays open. Every
order is answered by one line."""
import contextlib
import json
import os
import socket
import struct
import sys

connections = {}
agent = None


def connection(address, port):
    if (address, port) not in connections:
        made = socket.socket()
        made.connect((address, int(port)))
        connections[address, port] = made
    return connections[address, port]


def fetch(address, port, count):
    peer, left = connection(address, port), int(count)
    peer.sendall(f"{left}\n".encode())
    while left:
        left -= len(peer.recv(min(left, 65536))) or sys.exit("the peer has gone")


def start():
    """A process below this one."""
    child = os.fork()
    if not child:
        os.close(0)
        os.execvp("sleep", ["sleep", "1000"])
    return child


def say(**body):
    """A message to the agent, and its answer as a dictionary: the plug-in's part, by the schema
    alone."""
    from controller import pb
    from google.protobuf.json_format import MessageToDict
    envelope = pb.Envelope(version=1, **body).SerializeToString()
    agent.sendall(struct.pack(">I", len(envelope)) + envelope)
    length, = struct.unpack(">I", agent.recv(4, socket.MSG_WAITALL))
    answer = MessageToDict(pb.Envelope.FromString(agent.recv(length, socket.MSG_WAITALL)), preserving_proto_field_name=True)
    answer.pop("version", None)
    return json.dumps(answer)


def hello(path, application, executor, cores):
    from controller import pb
    global agent
    agent = socket.socket(socket.AF_UNIX)
    try:
        agent.connect(path)
    except OSError as error:
        return json.dumps({"errno": error.errno})
    return say(guest_hello=pb.GuestHello(name=application, executor=executor, cores=int(cores)))


def task(attempt, allow, job=0, stage=0, task=0):
    from controller import pb
    return say(guest_task=pb.GuestTask(attempt=int(attempt), allow=int(allow), job=int(job), stage=int(stage), task=int(task)))


def end(attempt):
    from controller import pb
    return say(guest_task=pb.GuestTask(attempt=int(attempt), ended=True))


def flood():
    """Until the agent ends it."""
    from controller import pb
    envelope = pb.Envelope(version=1, guest_task=pb.GuestTask(attempt=1)).SerializeToString()
    many = (struct.pack(">I", len(envelope)) + envelope) * 1000
    agent.setblocking(False)
    try:
        while True:
            with contextlib.suppress(BlockingIOError):
                agent.send(many)
            with contextlib.suppress(BlockingIOError):
                if not agent.recv(1 << 20):
                    return "cut"
    except ConnectionError:
        return "cut"


def garbage(text):
    agent.sendall(bytes.fromhex(text))
    return len(agent.recv(65536))


def silence():
    agent.close()


orders = dict(fetch=fetch, start=start, hello=hello, task=task, end=end, flood=flood, garbage=garbage, silence=silence)
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    order, *words = line.split()
    print(orders[order](*words), flush=True)
