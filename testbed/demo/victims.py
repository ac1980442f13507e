"""Failures in a soak: one victim at a time, anything but the switch, each back after a while (in
quick ones, where the daemons' timers are divided, after proportionally less).

All randomness comes from one seed, in an order that does not depend on how the run goes: a kill
draws what, where and for how long, even if it uses only some of these."""

import collections
import heapq
import itertools
import os
import random
import signal
import time

from testbed.net import network, system

# The controller tries its disk again after 1 s.
BACK_SECONDS = 5
TASKS = ("replay-map", "replay-reduce", "replay-gpu")


def programs(folder):
    """[(process number, program)] of those that run from that folder, by number."""
    found = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            where, name = os.path.split(os.readlink("/proc/%d/exe" % pid))
        except OSError:
            continue
        if where == folder:
            found.append((pid, name))
    return found


def parent_of(pid):
    """None when the process is gone."""
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return int(stat.read().rpartition(")")[2].split()[1])
    except OSError:
        return None


class Victims:
    """running: the Cluster; driver: what has restart() and kill(); say: takes a line."""

    def __init__(self, running, driver, seed, say):
        self.running, self.driver, self.say = running, driver, say
        self.random = random.Random(seed)
        self.returns = []  # heap of (when, number, what comes back, how)
        self.numbers = itertools.count()
        self.hurt = {}  # host: what it lacks just now; network.CONTROLLER: then nobody can submit
        self.killed = collections.Counter()

    def kill(self):
        """One of KINDS, at random; if there is nothing of that kind, the next one that there is."""
        first = self.random.randrange(len(self.KINDS))
        where, seconds = self.random.random(), self.random.random()
        for kind in self.KINDS[first:] + self.KINDS[:first]:
            done = kind(self, where, seconds)
            if done:
                self.killed[kind.__name__.strip("_")] += 1
                self.say(done)
                return

    def bring_back(self, everything=False):
        """What is due by now, or all that is still away."""
        while self.returns and (everything or self.returns[0][0] <= time.monotonic()):
            _, _, what, how = heapq.heappop(self.returns)
            how()
            self.say("%s is back" % what)

    def bury(self):
        """Kills a whole host for good; its name."""
        host = self._host(self.random.random(), all_of_them=True)
        self.hurt[host] = "everything"
        self.running.end_host(host)
        self.say("kill all of %s, for good" % host)
        return host

    def raise_up(self, host):
        self.running.begin_host(host)
        del self.hurt[host]

    # ---- which ----

    def _host(self, draw, all_of_them=False):
        """A host that lacks nothing; None when half of them are hurt, as much as a cluster must
        bear."""
        whole = [host for host in self.running.net.hosts if host not in self.hurt]
        if not whole or (not all_of_them and 2 * len(whole) <= len(self.running.net.hosts)):
            return None
        return whole[int(draw * len(whole))]

    def _process(self, draw, names, forked=True):
        """Kills one of these programs, by more than a number that may be another's by now."""
        found = [pid for pid, name in programs(os.path.dirname(self.running.program("")))
                 if name in names]
        if not forked:
            found = [pid for pid in found if parent_of(pid) not in found]
        if not found:
            return None
        pid = found[int(draw * len(found))]
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return None
        try:
            if os.readlink("/proc/%d/exe" % pid) not in [self.running.program(name)
                                                         for name in names]:
                return None
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            return pid
        except OSError:
            return None
        finally:
            os.close(handle)

    def _between(self, draw, least, most):
        """Seconds."""
        return (least + draw * (most - least)) / self.running.quick

    def _later(self, seconds, what, how, host=None):
        def back():
            how()
            self.hurt.pop(host, None)
        heapq.heappush(self.returns, (time.monotonic() + seconds, next(self.numbers), what, back))

    # ---- what ----

    def _daemon(self, program, draw, seconds):
        host = self._host(draw)
        if host is None:
            return None
        self.hurt[host] = program
        self.running.kill(program, host)
        what = "%s of %s" % (program, host)
        self._later(seconds, what, lambda: self.running.start(program, host), host)
        return "kill %s, for %.1f s" % (what, seconds)

    def _agent(self, where, seconds):
        return self._daemon("duopoly-agent", where, self._between(seconds, 0.2, 20))

    def _stopped_agent(self, where, seconds):
        """It lives, but is stopped."""
        host = self._host(where)
        if host is None:
            return None
        child = self.running.processes["duopoly-agent", host]
        seconds = self._between(seconds, 0.2, 20)
        self.hurt[host] = "duopoly-agent"
        child.send_signal(signal.SIGSTOP)
        what = "duopoly-agent of %s" % host
        self._later(seconds, what, lambda: child.send_signal(signal.SIGCONT), host)
        return "stop %s, for %.1f s" % (what, seconds)

    def _disk(self, where, seconds):
        """The file system of an agent's state is full."""
        host = self._host(where)
        if host is None:
            return None
        self.hurt[host] = "disk"
        path = os.path.join(self.running.state(host), "filler")
        seconds = self._between(seconds, 2, 45)
        system.fill_file_system(path)
        what = "disk of %s" % host
        self._later(seconds, what, lambda: os.unlink(path), host)
        return "fill %s, for %.1f s" % (what, seconds)

    def _server(self, where, seconds):
        """One in four stays away for a minute or more."""
        return self._daemon("replay-serve", where, self._between(seconds * 4 / 3, 1, 15)
                            if seconds < 0.75 else
                            self._between(seconds * 4 - 3, 60, 90))

    def _parent(self, where, _seconds):
        """An attempt's, or the one of an agent's that begins them."""
        pid = self._process(where, ("duopoly-task",))
        return pid and "kill duopoly-task %d" % pid

    def _task(self, where, _seconds):
        # Not what a sanitizer forks from a task as it ends, and then waits for, for ever.
        pid = self._process(where, TASKS, forked=False)
        return pid and "kill task process %d" % pid

    def _link(self, where, seconds):
        """At either end: the host sees its interface gone, or only its carrier."""
        host = self._host(where)
        if host is None:
            return None
        net, seconds = self.running.net, self._between(seconds, 2, 45)
        place, device = (host, net.uplink(host)) if int(where * 1000) % 2 else net.behind(host)

        def turn(word):
            system.run(*net.enter(place, "ip", "link", "set", device, word))
        self.hurt[host] = "link"
        turn("down")
        what = "link of %s, %s" % (host, "at the host" if place == host else "at the switch")
        self._later(seconds, what, lambda: turn("up"), host)
        return "cut %s, for %.1f s" % (what, seconds)

    def _whole_host(self, where, seconds, forgets=False):
        host = self._host(where)
        if host is None:
            return None
        self.hurt[host] = "everything"
        self.running.end_host(host)
        if forgets:
            self.running.forget_boot(host)
        seconds = self._between(seconds, 1, 60)
        self._later(seconds, "all of %s" % host, lambda: self.running.begin_host(host), host)
        return "%s all of %s, for %.1f s" % ("reboot" if forgets else "kill", host, seconds)

    def _boot(self, where, seconds):
        """As a whole host, of which nothing is left when it returns."""
        return self._whole_host(where, seconds, forgets=True)

    def controller_is_away(self):
        return self.hurt.get(network.CONTROLLER) == "duopolyd"

    def _without_submissions(self, lacks):
        """Whether the controller is whole now; then the driver, which would end without it, is
        killed."""
        if network.CONTROLLER in self.hurt:
            return False
        self.hurt[network.CONTROLLER] = lacks
        if self.driver.runs():
            self.driver.kill()
        return True

    def _controller(self, _where, seconds):
        if not self._without_submissions("duopolyd"):
            return None

        def back():
            self.running.start("duopolyd", network.CONTROLLER)
            self.running.wait_for_controller()
        self.running.kill("duopolyd", network.CONTROLLER)
        seconds = self._between(seconds, 0.2, 25)
        self._later(seconds, "controller", back, network.CONTROLLER)
        return "kill controller, for %.1f s" % seconds

    def _controllers_disk(self, _where, seconds):
        if not self._without_submissions("disk"):
            return None
        path = os.path.join(self.running.state(network.CONTROLLER), "filler")
        seconds = self._between(seconds, 2, 45)
        system.fill_file_system(path)

        def back():
            os.unlink(path)
            system.wait_for(lambda: self.running.controller_answers(
                "drain", self.running.net.hosts[0], "--undo"), BACK_SECONDS,
                "a change that the controller keeps again",
                lambda: self.running.where_said("duopolyd", network.CONTROLLER))
        self._later(seconds, "controller's disk", back, network.CONTROLLER)
        return "fill controller's disk, for %.1f s" % seconds

    def _driver(self, _where, seconds):
        if not self.driver.runs():
            return None
        self.driver.kill()
        seconds = self._between(seconds, 0.2, 10)
        self._later(seconds, "driver", lambda: None)  # whoever starts it looks for this
        return "kill driver, for %.1f s" % seconds

    KINDS = [_agent, _stopped_agent, _parent, _task, _server, _link, _disk, _whole_host, _boot,
             _driver,
             _controller, _controllers_disk]
