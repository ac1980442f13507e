"""What a hostile task runs: moves drawn by seed, as the user of tasks, with what a task is given. It stands alone, copied to where that user can read it.

    task_program.py SEED FOLDER FRAMEWORKS CONTROLLER SECONDS      FOLDER: where its moves are written; CONTROLLER: an address and a port

Left out is what its user may do by right: end processes of its own user, and remove what these wrote (docs/operate/threats.md)."""
import ctypes
import os
import random
import resource
import signal
import socket
import struct
import sys
import time


class Task:
    def __init__(self, seed, folder, frameworks, controller, seconds):
        lines = [line.split() for line in open(os.environ["DUOPOLY_TASK_INPUT"])]
        self.input = {words[0]: words[1:] for words in lines if words}
        self.attempt = int(self.input["attempt"][0])
        self.rng = random.Random("%s %s" % (seed, " ".join(self.input[key][0] for key in ("job", "stage", "task"))))
        self.say = socket.socket(fileno=int(os.environ["DUOPOLY_TASK_SOCKET"]))
        self.output = os.environ["DUOPOLY_TASK_OUTPUT"]
        self.frameworks, self.controller = frameworks, controller
        self.until = time.monotonic() + float(seconds)
        self.log = open(os.path.join(folder, "%d" % self.attempt), "a", 1)

    def over(self):
        return time.monotonic() > self.until

    def words(self, message, most):
        """So often, as fast as it is taken."""
        for _ in range(self.rng.choice((10, 100, most))):
            if self.over():
                return
            self.say.send(message())


def addresses(task):
    return task.rng.choice(("10.99.0.1", "10.99.0.2", "10.99.0.3", "127.0.0.1", "255.255.255.255", "::", "fd99::1", "nonsense"))


def missing(task):
    task.words(lambda: ("missing %d %d %d %s" % (task.rng.choice((0, 1, 2**31, 2**32 - 1)), task.rng.randrange(4),
                                                 task.rng.choice((1, task.attempt, 2**63, 2**64 - 1)),
                                                 addresses(task))).encode(), 20000)


def stalled(task):
    task.words(lambda: ("%s %s %d" % (task.rng.choice(("stalled", "flows")), addresses(task), task.rng.choice((0, 1, 2**32 - 1, 2**64 - 1)))).encode(), 20000)


def connections(task):
    task.words(lambda: ("connection 10.99.0.%d %d 10.99.0.%d %d" % (task.rng.randrange(256), task.rng.randrange(2**17),
                                                                    task.rng.randrange(256), task.rng.randrange(2**16))).encode(), 20000)


def nonsense(task):
    task.words(lambda: task.rng.choice((b"", b"\0", b"x" * 512, b"x" * 513, b"x" * 60000, b"done done", b"missing", b"received\n",
                                        b"stalled \xff\xfe 1", b"-1 -1")) or b" ", 5000)


def received(task):
    task.words(lambda: b"received", 2000)


def outputs(task):
    """Folders and files by the thousand, named as it likes."""
    os.makedirs(task.output, exist_ok=True)
    for i in range(task.rng.choice((10, 300, 2000))):
        if task.over():
            return
        os.makedirs(os.path.join(task.output, "d%d" % i), exist_ok=True)


def outputs_of_others(task):
    """Beside its own, under names that others' outputs might have."""
    folder = os.path.dirname(task.output)
    for i in range(task.rng.choice((10, 300))):
        try:
            os.mkdir(os.path.join(folder, task.rng.choice(("%d-0-0-%d" % (i + 10**6, 2**62 + i), "x" * 255, "1", "-1-0-0-1",
                                                           "\udcff\udcfe%d" % i))))
        except OSError:
            pass


def deep(task):
    os.makedirs(task.output, exist_ok=True)
    os.chdir(task.output)
    for _ in range(task.rng.choice((50, 500))):
        os.makedirs("d" * 100, exist_ok=True)
        os.chdir("d" * 100)
    os.chdir("/")


def kinds_of_files(task):
    os.makedirs(task.output, exist_ok=True)
    for name, make in (("link", lambda p: os.symlink("/etc", p)), ("loop", lambda p: os.symlink("loop", p)), ("fifo", os.mkfifo),
                       ("socket", lambda p: socket.socket(socket.AF_UNIX).bind(p)),
                       ("sparse", lambda p: os.truncate(os.open(p, os.O_CREAT | os.O_RDWR), 2**40)),
                       ("closed", lambda p: os.mkdir(p, 0))):
        try:
            make(os.path.join(task.output, name))
        except (OSError, TypeError):
            pass


def output_is_a_link(task):
    try:
        os.symlink(task.rng.choice(("/etc", "/", "..", "/run")), task.output)
    except FileExistsError:
        pass


def swap(task):
    """A folder and a link change places all the time, for who walks there by path."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.makedirs(task.output + "/swapped", exist_ok=True)
    link = os.path.join(os.path.dirname(task.output), "swap-%d" % task.attempt)
    try:
        os.symlink("/usr/share", link)
    except FileExistsError:
        pass
    for i in range(20000):
        if i % 100 == 0 and task.over():
            break
        libc.renameat2(-100, (task.output + "/swapped").encode(), -100, link.encode(), 2)


def processes(task):
    for _ in range(task.rng.choice((1, 5, 20))):
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            if task.rng.random() < 0.5 and os.fork():
                os._exit(0)
            time.sleep(60)
            os._exit(0)


def deaf(task):
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass


def loud(task):
    for _ in range(task.rng.choice((10, 2000))):
        os.write(2, b"x" * 1000 + b"\n\x1b[2J")


def framework(task):
    """It speaks as a framework's driver, if it is let in: it should not be."""
    if not task.frameworks:
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(0.5)
            door.connect(task.frameworks)
            door.sendall(struct.pack(">I", 2**31) + b"x" * 100)
        task.log.write("was let in at frameworks.socket\n")
    except OSError:
        pass


def knock(task):
    """At the controller, from its host's own address: as many as may be."""
    host, _, port = task.controller.rpartition(":")
    held = []
    try:
        for _ in range(task.rng.choice((5, 50, 200))):
            one = socket.socket()
            held.append(one)
            one.setblocking(False)
            one.connect_ex((host, int(port)))
        time.sleep(0.2)
        for one in held:
            try:
                one.send(task.rng.choice((b"\xff", b"GET / HTTP/1.0\r\n\r\n", task.rng.randbytes(1000))))
            except OSError:
                pass
    finally:
        for one in held:
            one.close()


def writes(task):
    """Into what is the agent's, the kernel's or root's."""
    state = os.path.dirname(os.path.dirname(task.output))
    own = next((line.split("::")[1].strip() for line in open("/proc/self/cgroup") if "::" in line), "/")
    for path in (state + "/attempts/%016x" % task.attempt, state + "/attempts/of-a-task", state + "/key",
                 "/sys/fs/cgroup" + own + "/cgroup.procs", "/sys/fs/cgroup" + own + "/../cgroup.kill",
                 "/run/of-a-task", "/sys/fs/bpf/of-a-task"):
        try:
            if not os.path.exists(path) and os.stat(os.path.dirname(path)).st_mode & 0o002:
                continue  # a folder of everybody's, as /run is on some machines, is no promise of ours
            with open(path, "w") as there:
                there.write("1")
            task.log.write("may write %s\n" % path)
        except OSError:
            pass


def descriptors(task):
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = []
    try:
        for _ in range(min(soft, task.rng.choice((100, 5000)))):
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for one in held:
        os.close(one)


def passes_descriptors(task):
    """With its words come descriptors: who takes them holds them, unless it throws them away."""
    with open("/dev/null", "rb") as one:
        for _ in range(task.rng.choice((1, 100))):
            socket.send_fds(task.say, [b"received"], [one.fileno()] * task.rng.choice((1, 250)))


def half(task):
    task.say.shutdown(task.rng.choice((socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR)))


def like_an_executor(task):
    """By its command line it is somebody's executor, with as much room as it says."""
    if os.fork() == 0:
        os.execv(sys.executable,
                 [b"java", b"-c", b"import time; time.sleep(30)", b"org.apache.spark.executor.CoarseGrainedExecutorBackend", b"--executor-id", b"\xff\xfe",
                                  b"--cores", b"999999999999", b"--app-id", task.rng.choice((b"honest-app-tcp", b"x" * 100_000))])


def connects(task):
    """Connections of its own by the hundred, on its host."""
    held = [socket.socket()]
    try:
        held[0].bind((task.rng.choice(("127.0.0.1", "0.0.0.0")), 0))
        held[0].listen(1000)
        for _ in range(task.rng.choice((10, 500))):
            held.append(socket.create_connection(("127.0.0.1", held[0].getsockname()[1]), 0.5))
    except OSError:
        pass
    finally:
        for one in held:
            one.close()


def names_of_files(task):
    """Links to one file under names that no line can hold, and a size that no disk has."""
    os.makedirs(task.output, exist_ok=True)
    path = os.path.join(task.output, "one")
    with open(path, "w"):
        pass
    for i in range(task.rng.choice((5, 500))):
        try:
            os.link(path, os.path.join(task.output, task.rng.choice(("%d\n" % i, "\udcff%d" % i, "\x1b[2J%d" % i, "%d" % i + "x" * 240))))
        except OSError:
            pass
    os.truncate(path, task.rng.choice((0, 2**40)))


def done_and_on(task):
    """It says that it is done, and goes on."""
    task.say.send(b"done")
    task.words(lambda: b"done", 200)


def closes(task):
    task.say.close()
    raise SystemExit(task.rng.choice((0, 3)))


def dies(task):
    os.kill(os.getpid(), task.rng.choice((signal.SIGSEGV, signal.SIGKILL, signal.SIGSTOP if task.rng.random() < 0.1 else signal.SIGABRT)))


# name, weight, function: a move more is a line more
MOVES = [("missing", 14, missing), ("stalled", 12, stalled), ("connections", 10, connections), ("nonsense", 8, nonsense), ("received", 4, received),
         ("outputs", 10, outputs), ("outputs of others", 6, outputs_of_others), ("deep", 5, deep), ("kinds of files", 6, kinds_of_files),
         ("its output is a link", 3, output_is_a_link),
         ("swaps", 5, swap), ("processes", 5, processes), ("deaf", 3, deaf), ("loud", 4, loud), ("speaks as a framework", 6, framework), ("knocks", 5, knock),
         ("writes", 6, writes), ("descriptors", 3, descriptors), ("done and on", 4, done_and_on),
         ("passes descriptors", 4, passes_descriptors), ("half", 2, half), ("like an executor", 3, like_an_executor), ("connects", 4, connects),
         ("names of files", 4, names_of_files), ("closes", 2, closes), ("dies", 3, dies)]


def main(words):
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    task = Task(*words)
    while not task.over():
        name, _, move = task.rng.choices(MOVES, [weight for _, weight, _ in MOVES])[0]
        task.log.write(name + "\n")
        try:
            move(task)
        except OSError as error:
            task.log.write("(%s)\n" % error)
            time.sleep(0.01)
    if task.rng.random() < 0.5:
        task.say.send(b"done")
    raise SystemExit(task.rng.choice((0, 0, 1)))


if __name__ == "__main__":
    main(sys.argv[1:])
