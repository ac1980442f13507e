"""A cluster that an operator asks about, on real namespaces: its yesterday, which another
controller saw, its jobs of today, what duopolyctl says of them as text and as JSON, and what was
recorded."""

import datetime
import os
import re
import shutil
import subprocess
import sys
import time
import uuid

import exposition
import kills
from testbed.net import answers, network, system

DAY_S = 86400
MAP_MS = 100
WIDE_MAPS = 48  # eight to a slot
SECONDS_OF_TRANSFER = 25
UNHEALTHY = 8
LATE_S = 3
METRICS = "127.0.0.1:7601"
SCRAPE = ("import sys, urllib.request as http; "
          "sys.stdout.write(http.urlopen(sys.argv[1], timeout=20).read().decode())")


def seconds_of(text):
    """Since 1970, of a time as JSON has it."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Said:
    """An answer in both forms, and when it was given on the controller's clock."""

    def __init__(self, text, document):
        self.text, self.document = text, document
        self.answer = answers.read(document)
        self.at_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def facts(self):
        """Of an explanation."""
        return {fact["name"]: fact["value"] for fact in self.answer["facts"]}

    def shows(self, *words):
        """Whether the text has them, however its lines are broken."""
        flat = " ".join(self.text.split())
        return all(" ".join(str(word).split()) in flat for word in words)


class Site(kills.Site):
    """`first` and `second`: today's jobs, the second behind the first; `past`: yesterday's."""

    first = second = past = None

    def __init__(self, *arguments):
        self.said = []  # (command, answer)
        super().__init__(*arguments)

    # ---- yesterday ----

    def prepare(self):
        """The first controller's clock is a day behind."""
        self.running.controller_lines = ["metrics: {listen: \"tcp://%s\"}" % METRICS]
        library = self.own.path("day_before.so")
        source = os.path.join(kills.TREE, "tests", "net", "day_before.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source, "-ldl"],
                       check=True)
        program = self.running.program("duopolyd")
        os.makedirs(os.path.dirname(program), exist_ok=True)
        with open(program, "x", encoding="ascii") as out:
            out.write("#!/bin/sh\nexport ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS\n"
                      'exec env LD_PRELOAD=%s %s "$@"\n'
                      % (library, os.path.join(kills.BUILD, "duopolyd")))
        os.chmod(program, 0o755)

    def wide(self, name):
        """A job whose maps wait for slots, which a small shuffle follows."""
        maps = {"tasks": WIDE_MAPS, "input_bytes": 1000, "compute_ms": MAP_MS,
                "replicas": [[n % self.hosts] for n in range(WIDE_MAPS)]}
        reduces = {"tasks": self.hosts, "compute_ms": 20,
                   "parents": [{"stage": 0, "sums": [500_000] * self.hosts}]}
        return {"name": name, "stages": [maps, reduces]}

    def give(self, job):
        """Its number."""
        return self.running.ask("submit", self.workload([job]))["jobs"][0]["job"]

    def run_to_end(self, job):
        number = self.give(job)
        self.wait("its end", lambda: self.running.ask("job", str(number))["state"] == "done")
        return number

    def a_day_passes(self):
        """Another controller goes on with what is stored; to it the machine was booted since."""
        running, controller = self.running, network.CONTROLLER
        child = running.processes.pop(("duopolyd", controller))
        child.terminate()
        assert child.wait(timeout=20) == 0
        program = running.program("duopolyd")
        os.unlink(program)
        shutil.copy2(os.path.join(kills.BUILD, "duopolyd"), program)
        running.boots[controller] = os.path.join(running.directory, "boot")
        with open(running.boots[controller], "w", encoding="ascii") as out:
            out.write("%s\n" % uuid.uuid4())
        running.start("duopolyd", controller)
        running.wait_for_controller()
        self.wait("the hosts", lambda: running.ask("status")["hosts_up"] == self.hosts)

    # ---- today ----

    def holds(self):
        """Whether the second job's reduces are kept waiting for the first one's transfers."""
        row, = self.running.ask("jobs", "--filter", "job=%d" % self.second)["jobs"]
        return row["held_stages"] == 1 and row["done"] == self.hosts

    def receives(self):
        """Whether each reduce of the first job gets most of its link, also over the seconds of
        which queues tell."""
        rows = self.running.ask("macroflows", "--filter", "job=%d" % self.first)["macroflows"]
        ports = self.running.ask("queues", "s", "--filter", "traffic=level")["port_queues"]
        full = [row for row in [*rows, *ports] if (row["rate_bps"] or 0) > 0.75 * kills.LINK_BPS]
        return len(full) == 2 * self.hosts

    def today(self):
        ask = self.running.ask
        ask("user", "set", "ann", "share=2")
        self.run_to_end(self.wide("wide"))
        ask("drain", "w3")
        ask("drain", "w3", "--undo")
        bytes_each = int(SECONDS_OF_TRANSFER * kills.LINK_BPS / 8 * self.hosts / (self.hosts - 1))
        self.first = self.give(kills.job("first", 5, bytes_each))
        self.wait_running(self.hosts, stage=1, job=self.first)
        self.second = self.give(kills.job("second", 5, 2 * bytes_each))
        self.wait("what is held", self.holds)
        self.wait("full links", self.receives)

    def end(self):
        """The controller ends; what it recorded is whole."""
        for job in (self.second, self.first):
            self.running.ask("cancel", str(job))
        child = self.running.processes.pop(("duopolyd", network.CONTROLLER))
        child.terminate()
        assert child.wait(timeout=20) == 0

    def recordings(self):
        """Yesterday's, and today's."""
        first, *_, last = self.running.log_files()
        return Recording(first), Recording(last)

    # ---- what is asked ----

    def counters(self):
        return self.running.ask("counters")["counters"]

    def ask(self, *words, code=0):
        command = [self.running.program("duopolyctl"), "-s", self.running.socket]
        texts = []
        for form in ([], ["-j"]):
            done = subprocess.run([*command, *form, *map(str, words)], capture_output=True,
                                  text=True, timeout=30, check=False)
            assert done.returncode == code and not done.stderr, done
            texts.append(done.stdout)
        self.said.append((words, Said(*texts)))
        return self.said[-1][1]

    def scrape(self):
        """What the controller's HTTP port has, in its network namespace."""
        return exposition.parse(system.run(*self.net.enter(
            network.CONTROLLER, sys.executable, "-c", SCRAPE, "http://%s/metrics" % METRICS)))

    def write(self, path):
        """All of it, as it was printed."""
        with open(path, "w", encoding="utf-8") as out:
            for words, said in self.said:
                line = " ".join(map(str, words))
                out.write("$ duopolyctl %s\n%s\n$ duopolyctl -j %s\n%s\n"
                          % (line, said.text, line, said.document))


class Record:
    """An event, or a decision, in a step at this time."""

    def __init__(self, at_ns, kind, fields):
        self.at_ns, self.kind, self.fields = at_ns, kind, fields

    def has(self, wanted):
        return all(self.fields.get(name) == str(value) for name, value in wanted.items())

    def __getitem__(self, name):
        return self.fields[name]


class Recording:
    """schemas/recording.md"""

    def __init__(self, path):
        self.path, self.records = path, []
        self.hosts = {}  # the number of each, by name
        self.wall_ns = self.first_ns = None
        now_ns = None
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                word, _, rest = line.rstrip("\n").partition(" ")
                if word == "begin":
                    self.wall_ns = int(rest)
                elif word == "step":
                    now_ns = int(rest)
                    self.first_ns = self.first_ns or now_ns
                elif word in ("e", "d", "dump"):
                    kind, *fields = rest.split(" ")
                    named = dict(field.split("=", 1) for field in fields if "=" in field)
                    if kind == "host_join":
                        self.hosts[named["name"]] = int(named["host"])
                    if word != "dump":
                        self.records.append(Record(now_ns, kind, named))

    def wall_s(self, at_ns):
        """Early by what passed from the recording's beginning to its first step: by LATE_S at most,
        on a busy machine."""
        return (self.wall_ns + at_ns - self.first_ns) / 1e9

    def all(self, kind, until_ns=None, **wanted):
        return [record for record in self.records
                if record.kind == kind and record.has(wanted)
                and (until_ns is None or record.at_ns <= until_ns)]

    def last(self, kind, until_ns=None, **wanted):
        return self.all(kind, until_ns, **wanted)[-1]

    def loads(self, host, resource, until_ns):
        """What its link's use was in the last second; what does not change is not recorded."""
        told = self.all("host_load", until_ns, host=host, resource=resource)
        late = [record for record in told if record.at_ns >= until_ns - 1e9]
        return [int(record["permille"]) for record in [*late, told[-len(late) - 1]]]

    def explained(self, subject):
        """What duopoly-sim says of it: its explanations in order, each a text and its facts."""
        said = system.run(os.path.join(kills.BUILD, "duopoly-sim"), "explain", self.path,
                          str(subject))
        found = []
        for line in said.splitlines():
            told = re.fullmatch(r"at [\d.]+ s: (.*)", line)
            if told:
                found.append((told[1], {}))
            else:
                name, _, value = line.strip().partition(" ")
                found[-1][1][name] = value.strip()
        return found

    def received_bps(self, attempt, until_ns, seconds):
        """By what its agent reported over the last seconds."""
        counts = [(record.at_ns, int(record["received_bytes"]))
                  for record in self.all("attempt_progress", until_ns, attempt=attempt)
                  if record.at_ns >= until_ns - seconds * 1e9]
        (begin_ns, begin), (end_ns, end) = counts[0], counts[-1]
        return (end - begin) * 8e9 / (end_ns - begin_ns)
