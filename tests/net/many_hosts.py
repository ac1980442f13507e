"""Agents of many hosts that only are there, for tests and benchmarks of what grows with them."""
import multiprocessing
import resource
import signal

from controller import pb, wait_until

# Then none of them is silent, and nothing else happens.
QUIET = ("timers: {heartbeat: 60 s, silent: 300 s, host_lost: 600 s, lease: 600 s, "
         "start_timeout: 600 s}\n")
FILES = 2  # that a connection takes here
OTHER_FILES = 200


def join(address, name, number, context):
    """The connection of an agent that has said HELLO."""
    import zmq
    one = context.socket(zmq.DEALER)
    one.setsockopt(zmq.LINGER, 0)
    # One address may begin so many connections at once.
    place = number // 25
    source = f"tcp://127.1.{place // 250}.{place % 250 + 1}:0;"
    one.connect(source + address.removeprefix("tcp://"))
    at = b"\0" * 10 + b"\xff\xff\x0a" + number.to_bytes(3, "big")
    one.send(pb.Envelope(version=1, hello=pb.Hello(
        version_min=1, version_max=1, name=name, boot=1, hello_sequence=1,
        units=[pb.Resources(slots=8)], address=at, uplink_bps=10**9,
        downlink_bps=10**9)).SerializeToString())
    return one


def say_all(one):
    """It has nothing that runs, and some counters."""
    epoch = pb.Envelope.FromString(one.recv()).epoch
    end = pb.InventoryEnd(parts=0)
    one.send(pb.Envelope(version=1, epoch=epoch, sequence=1,
                         inventory_end=end).SerializeToString())
    counters = pb.AgentCounters(marked_bytes=[10**12] * 8, queue_drops=[10**6] * 10)
    one.send(pb.Envelope(version=1, epoch=epoch, agent_counters=counters).SerializeToString())


def stay(address, numbers):
    """Until it is killed."""
    import zmq
    context = zmq.Context(4)
    context.set(zmq.MAX_SOCKETS, len(numbers) + 10)
    connections = [join(address, f"host-{number}", number, context) for number in numbers]
    for one in connections:
        say_all(one)
    signal.pause()


def hosts_up(daemon):
    return daemon.ctl("status")["hosts_up"]


class ManyHosts:
    """host-0, host-1, …: with 8 slots each, up. They take as many processes as their files need."""

    def __init__(self, daemon, hosts):
        self.processes = []
        most = (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - OTHER_FILES) // FILES
        for first in range(0, hosts, most):
            numbers = range(first, min(first + most, hosts))
            self.processes.append(multiprocessing.Process(
                target=stay, args=(daemon.address, numbers), daemon=True))
            self.processes[-1].start()
        try:
            while (up := hosts_up(daemon)) < hosts:
                wait_until(lambda had=up: hosts_up(daemon) > had, "more are up", 0.2)
        except BaseException:
            self.close()
            raise

    def close(self):
        for process in self.processes:
            process.kill()
            process.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
