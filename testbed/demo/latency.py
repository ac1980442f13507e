"""How quickly the machinery acts, from the agents' measurements and the controller's log of one
run.

- slot: from when an agent sees an attempt's end to the return of clone3 for the next one on that
  host, if the controller started the next in the very step in which it got the end (else the
  slot waited for work, not for us);
- its floor: an empty round trip between that agent and the controller, the one nearest in time,
  and that very clone3: what no scheduler can save;
- connections, as the tasks recorded them: from clone3 to an attempt's first connect (only this
  machine's CPU), each connection's handshake (its two packets in the links' queues), and from
  its first open to the first byte of content;
- mode switch: from the controller's step to the map write, on each host and on the last one.

The measurements use CLOCK_MONOTONIC, the log CLOCK_BOOTTIME; they differ by the time that the
machine was suspended."""

import bisect
import time

from testbed.demo import ports, report


class Measurements:
    """One host's: begins[attempt] = (asked, before, after), ends[attempt], modes[sequence], echoes
    = [(sent, back)…], in ns of CLOCK_MONOTONIC."""

    def __init__(self, lines):
        self.begins, self.ends, self.modes, self.echoes = {}, {}, {}, []
        for line in lines:
            words = line.split()
            if not line.endswith("\n") or not words:
                break
            if words[0] == "begin":
                self.begins[words[1]] = tuple(int(word) for word in words[2:5])
            elif words[0] == "end":
                self.ends[words[1]] = int(words[2])
            elif words[0] == "mode":
                self.modes[words[2]] = int(words[3])
            elif words[0] == "echo":
                self.echoes.append((int(words[1]), int(words[2])))

    def round_trip(self, time_ns):
        """The empty one nearest in time; None without any."""
        at = bisect.bisect(self.echoes, (time_ns,))
        near = self.echoes[max(at - 1, 0):at + 1]
        if not near:
            return None
        sent, back = min(near, key=lambda echo: abs(echo[0] - time_ns))
        return back - sent


def read_log(lines):
    """([(ended attempt, started attempt, …) of each step], {mode sequence: step's time})."""
    refills, modes = [], {}
    now_ns, ended, started = 0, [], []
    for line in list(lines) + ["step 0\n"]:
        words = line.split()
        if not words:
            continue
        if words[0] == "step":
            if ended and started:
                refills.append((ended, started))
            now_ns, ended, started = int(words[1]), [], []
        elif words[:2] == ["e", "attempt_done"]:
            ended.append(report.fields(words)["attempt"])
        elif words[:2] == ["d", "start"]:
            started.append(report.fields(words)["attempt"])
        elif words[:2] == ["d", "mode"]:
            modes[report.fields(words)["sequence"]] = now_ns
    return refills, modes


def slot_latencies(measured, refills):
    """(latency, floor) of each refilled slot: the ends of a step on a host are matched with its
    starts there, in order."""
    found = []
    for ended, started in refills:
        for host in measured:
            ends = sorted(host.ends[a] for a in ended if a in host.ends)
            begins = sorted((host.begins[a][1:] for a in started if a in host.begins),
                            key=lambda begin: begin[1])
            for end, (before, after) in zip(ends, begins):
                empty = host.round_trip(end)
                if empty is not None:
                    found.append((after - end, empty + after - before))
    return found


def mode_latencies(measured, modes, suspended_ns):
    """(to each host, to the last host of each switch that reached all)."""
    each, last = [], []
    for sequence, step_ns in modes.items():
        writes = [m.modes[sequence] + suspended_ns - step_ns for m in measured
                  if sequence in m.modes]
        each += writes
        if writes and len(writes) == len(measured):
            last.append(max(writes))
    return each, last


def connection_latencies(measured, said, suspended):
    """(clone3's return to the first connect of each attempt, handshakes, first open to first byte);
    `said`: ports.read()'s."""
    begins = {attempt: begin[2] for host in measured for attempt, begin in host.begins.items()}
    connects, handshakes, firsts = [], [], []
    for attempt, lines in said.items():
        connect, opened, first = (ports.first_of(lines, what)
                                  for what in ("connect", "open", "first"))
        if connect is not None and attempt in begins:
            connects.append(connect - suspended - begins[attempt])
        if opened is not None and first is not None:
            firsts.append(first - opened)
        handshakes += ports.handshakes(lines)
    return connects, handshakes, firsts


def suspended_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def summary(what, values_ns):
    if not values_ns:
        return "%s: no samples" % what
    values = sorted(values_ns)
    return "%s: %d samples, mean %.2f ms, median %.2f ms, p99 %.2f ms, worst %.2f ms" % (
        what, len(values), sum(values) / len(values) / 1e6, report.median(values) / 1e6,
        report.percentile(values, 99) / 1e6, values[-1] / 1e6)


class CpuIdle:
    """Shares of the machine's CPU time since this object was made: idle, and stolen by the host of
    a virtual machine."""

    def __init__(self):
        self.begin = self._read()

    @staticmethod
    def _read():
        with open("/proc/stat") as stat:
            ticks = [int(word) for word in stat.readline().split()[1:9]]
        return ticks[3] + ticks[4], ticks[7], sum(ticks)

    def _since(self):
        return [now - then for now, then in zip(self._read(), self.begin)]

    def percent(self):
        idle, _, total = self._since()
        return 100 * idle / total if total else 100.0

    def stolen_percent(self):
        _, stolen, total = self._since()
        return 100 * stolen / total if total else 0.0


def read(measurement_paths, log_paths):
    """(measurements, refills, mode switches) of one run."""
    measured = []
    for path in measurement_paths:
        with open(path) as file:
            measured.append(Measurements(file))
    log = []
    for path in log_paths:
        with open(path) as part:
            log += [line for line in part
                    if line.startswith(("step ", "e attempt_done", "d start", "d mode"))]
    return (measured, *read_log(log))


def lines(measurement_paths, log_paths, said, idle_percent):
    """What to print of one run; `said`: what its tasks recorded (ports.read)."""
    measured, refills, modes = read(measurement_paths, log_paths)
    slots = slot_latencies(measured, refills)
    clones = [after - before for m in measured for _, before, after in m.begins.values()]
    each, last = mode_latencies(measured, modes, suspended_ns())
    connects, handshakes, firsts = connection_latencies(measured, said, suspended_ns())
    return [summary("an attempt's end to the next one's clone3", [latency for latency, _ in slots]),
            summary("its floor, an empty round trip and clone3", [floor for _, floor in slots]),
            summary("empty round trip", [back - sent for m in measured for sent, back in m.echoes]),
            summary("clone3 alone", clones),
            summary("clone3 to an attempt's first connect", connects),
            summary("connect to open, each connection", handshakes),
            summary("first open to first byte", firsts),
            summary("mode switch to a host's map write", each),
            summary("mode switch to the last host's", last),
            "CPU idle during the replay: %.0f %%" % idle_percent]
