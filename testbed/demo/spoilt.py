"""What spoils a run, so that its times describe the machine and not the policy; and whether a
comparison of runs counts."""

import time

from testbed.demo import latency

# Percent of the processors' time: below it tasks wait for a processor as long as for the network.
IDLE_LEAST = 20
STOLEN_MOST = 5  # percent of the processors' time that the machine's own host gave to others
LATE_MOST = 1  # seconds that who sleeps is woken too late, or that the machine is suspended
# Seconds without an answer to an agent that asks five times a second: the controller's silence.
SILENT_MOST = 3


class Watch:
    """Watches the machine during a run; the caller waits in steps of sleep()."""

    def __init__(self):
        self.cpu, self.suspended_ns = latency.CpuIdle(), latency.suspended_ns()
        self.begin_ns = time.monotonic_ns()
        self.late = 0.0

    def sleep(self, seconds):
        begin = time.monotonic()
        time.sleep(seconds)
        self.late = max(self.late, time.monotonic() - begin - seconds)

    def figures(self):
        """At its end."""
        self.end_ns = time.monotonic_ns()
        return {"cpu_idle": self.cpu.percent(), "cpu_stolen": self.cpu.stolen_percent(),
                "late": self.late, "slept": (latency.suspended_ns() - self.suspended_ns) / 1e9}


def longest_silence(measured, begin_ns, end_ns):
    """(host, seconds) between two answers to one agent, the longest of all, as far as it lies
    between two instants of CLOCK_MONOTONIC; `measured`: {host: latency.Measurements}."""
    gaps = [(min(later[1], end_ns) - max(earlier[1], begin_ns), host)
            for host, of in measured.items() for earlier, later in zip(of.echoes, of.echoes[1:])]
    gap, host = max(gaps, default=(0, ""))
    return host, gap / 1e9


def reasons(run):
    """Why a run does not count, in words; `run`: demo.run_policy()'s figures."""
    host, silence = run.get("silence") or ("", 0)
    silent = run.get("silent_hosts") or []
    found = (
        (run["cpu_idle"] < IDLE_LEAST,
         "the processors were %d %% idle, below %d %%" % (run["cpu_idle"], IDLE_LEAST)),
        (run.get("cpu_stolen", 0) > STOLEN_MOST,
         "the machine's host gave %.0f %% of the processors to others" % run.get("cpu_stolen", 0)),
        (run.get("late", 0) > LATE_MOST,
         "the demo itself was woken %.1f s too late" % run.get("late", 0)),
        (run.get("slept", 0) > LATE_MOST,
         "the machine was suspended for %.1f s" % run.get("slept", 0)),
        (silence > SILENT_MOST,
         "%s heard nothing from the controller for %.1f s" % (host, silence)),
        (silent, "the controller heard nothing from %s for a time" % ", ".join(silent)),
        (run.get("attempts_lost"),
         "%d attempts failed or were lost" % (run.get("attempts_lost") or 0)),
        (run["unfinished"], "%d jobs did not finish" % run["unfinished"]),
        (run.get("frames_lost"),
         "%d frames were lost by the capture, so not all marks were checked" %
         (run.get("frames_lost") or 0)),
    )
    return [words for is_so, words in found if is_so]


def verdict(runs):
    """That the runs do not count because some do not, and why; None if all do."""
    spoilt = [(run["label"], reasons(run)) for run in runs if reasons(run)]
    if not spoilt:
        return None
    why = ". ".join("Under %s %s" % (label, "; ".join(words)) for label, words in spoilt)
    return ("This %s does not count. %s. Repeat it while the machine does nothing else, or with "
            "fewer hosts or slower links." % ("comparison" if len(runs) > 1 else "run", why))
