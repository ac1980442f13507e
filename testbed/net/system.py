"""Processes and small commands: what the testbed needs of the operating system.

A process is known by its number and its start time together, so that a reused number is never
mistaken for ours (and never killed)."""

import contextlib
import ctypes
import errno
import functools
import os
import signal
import subprocess
import time


LIBC = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """One sentence for the user; no traceback."""


def root_is_mount():
    """In a chroot / is no mount: its mounts cannot be made private, nor itself read-only."""
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == "/" for line in mounts)


def _die_with(parent):
    """For a child between fork and exec; the parent may have been killed before the child asks to
    die with it."""
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def run(*command, text=None, fine=(0,)):
    """Runs a command to its end; its output, or, where its exit status is not `fine`, Failure with
    the last line of its output.

    It dies with us: after our end, what it made would never be removed."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                          preexec_fn=functools.partial(_die_with, os.getpid()))
    if done.returncode not in fine:
        said = (done.stderr or done.stdout).strip().splitlines()
        said = said or ["exit status %d" % done.returncode]
        raise Failure("%s: %s" % (" ".join(command)[:120], said[-1]))
    return done.stdout


def printable(text):
    """Another program's output for a terminal: unprintable characters become '?'."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _stat(pid):
    """What follows the name in /proc/PID/stat: the state, the parent, …; None: no such process."""
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()
    except OSError:
        return None


def start_time(pid):
    """When the process was started, in clock ticks since boot; None if there is no such process (a
    zombie is none)."""
    fields = _stat(pid)
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def parent(pid):
    """0: none, or there is no such process."""
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def is_alive(process):
    """process: [pid, start time]; without a time it had ended when it was identified."""
    return process is not None and process[1] is not None and start_time(process[0]) == process[1]


def peak_memory_kb(pid):
    """The most resident memory that a process had."""
    with open("/proc/%d/status" % pid) as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def fill_file_system(path):
    """Makes a file that leaves no byte there."""
    with open(path, "wb", buffering=0) as out:
        for size in (1 << 20, 4096, 1):
            try:
                while out.write(b"x" * size) == size:
                    pass
            except OSError as failure:
                if failure.errno != errno.ENOSPC:
                    raise


def names_of(pids):
    """Numbers and names of processes, in words."""
    def name(pid):
        try:
            with open("/proc/%d/comm" % pid) as comm:
                return printable(comm.read().strip())
        except OSError:
            return "ended"
    return ", ".join("%d (%s)" % (pid, name(pid)) for pid in pids) or "none"


def identify(pid):
    return [pid, start_time(pid)]


def last_words(log):
    """The last line of a process's log, for a Failure."""
    try:
        with open(log, errors="replace") as said:
            return (said.read().strip().splitlines() or ["it said nothing"])[-1]
    except OSError as failure:
        return failure.strerror


def where_said(log):
    """Where its log is, and how that ends: for a Failure, of a log that stays."""
    return "its log is %s and ends: %s" % (log, last_words(log))


def wait_for(condition, seconds, what, cause=None):
    """Polls until the condition holds and returns its value; Failure after that many seconds.
    `cause` gives the words that then say where to look, or what is in the way."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            words = "; " + cause() if cause else ""
            raise Failure("%s did not happen within %g s%s" % (what, seconds, words))
        time.sleep(0.02)


def stop(processes, seconds=5.0):
    """SIGTERM, then SIGKILL to those of [pid, start time] that are still there; waits until all are
    gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        alive = [p for p in processes if is_alive(p)]
        for process in alive:
            try:
                os.kill(process[0], number)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + seconds
        while any(is_alive(p) for p in alive) and time.monotonic() < deadline:
            for process in alive:
                reap(process[0])
            time.sleep(0.01)
    for process in processes:
        reap(process[0])


def kill_in_namespace(name):
    """SIGKILL to all processes in a network namespace; waits until none is left."""
    def living():
        return [int(pid) for pid in run("ip", "netns", "pids", name).split()]

    def none_lives():
        pids = living()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not pids

    wait_for(none_lives, 10, "the end of all processes in %s" % name,
             lambda: "still there: " + names_of(living()))


def reap(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def end_with_parent():
    """SIGTERM to us when our parent (make) is killed, so that nothing outlives it."""
    parent = os.getppid()
    LIBC.prctl(1, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def stop_signals_raise():
    """SIGINT, SIGTERM and SIGHUP all as Ctrl-C, so that `finally` runs; SIGHUP not if nohup has it
    ignored.

    SIGINT even if the shell has it ignored, as it does in background jobs: its sender then means
    us."""
    def handler(number, _frame):
        raise KeyboardInterrupt("signal %d" % number)

    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handler)


@contextlib.contextmanager
def signals_ignored():
    """For work that a second Ctrl-C must not interrupt."""
    before = {number: signal.signal(number, signal.SIG_IGN)
              for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
