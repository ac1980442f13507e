"""The input of a replay: the variables of `make demo` and `make up`, checked, and the workload that
they name."""

import difflib
import itertools
import json
import os
import re
import subprocess

from testbed.demo import places
from testbed.net import cluster, disks, network, networks, system, unlike

WORKLOADS = os.path.join("testbed", "workloads")
DEFAULT_INPUT = os.path.join(WORKLOADS, "demo.jsonl")
DEFAULT_POLICIES, UNLIKE_POLICIES = "fair aalo duopoly joint", "fifo drf fair duopoly joint"
# Variable: default, smallest, largest. JOBS, SPEED, CAP and COMPUTE are duopoly-workload's affair.
NUMBERS = {"HOSTS": (9, 1, network.HOSTS_MAX), "SLOTS": (4, 1, 1000), "SEED": (1, 0, 2**53),
           "SCALE": (10, 1, 10**9)}
WORDS = ["CLUSTER", "DISKS", "USERS", "LINK", "POLICIES", "TRACE", "JOBS", "SPEED", "CAP", "COMPUTE", "NET", "TOPO", "SLOW", "SWITCH", "V", *NUMBERS,
         *(word for kind in networks.NETWORKS.values() for word in kind.VARIABLES)]
SPARKS = ("ROWS", "WORKLOAD", "SPREAD", "REPEATS", "VERIFY")
SOAKS = ("MINUTES", "KILL_EVERY")
SWITCHES_MAX = 256  # duopoly-sim takes as many
MODE_DWELL_S = 0.05  # the daemon's default, policy.mode.dwell
# By chance a task starts so much later at most: from an end to the next one's clone3 it is 4 ms in
# 99 of 100 cases.
START_SPREAD_S = 0.005
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


def check_names(environment):
    """Failure if make's command line has a variable that would be ignored: misspelt, or another
    place's."""
    known = [*WORDS, *SPARKS, *SOAKS]
    given = environment.get("MAKEFLAGS", "").partition(" -- ")[2]
    for name in re.findall(r"(?<!\\) ([A-Za-z_]+)=", " " + given):  # blanks in a value have a backslash
        if name in SPARKS and environment.get("NET") != "spark":
            raise system.Failure("%s is of NET=spark alone" % name)
        near = difflib.get_close_matches(name.upper(), known, 1, 0.7)
        if name not in known and near:
            raise system.Failure("%s is no variable here: %s is" % (name, near[0]))


def number(environment, name, bounds=None):
    default, least, most = bounds or NUMBERS[name]
    text = environment.get(name) or str(default)
    if not re.fullmatch(r"[0-9]{1,18}", text) or not least <= int(text) <= most:
        raise system.Failure("%s is \"%s\", must be a whole number %d…%d" % (name, text, least, most))
    return int(text)


def rate(environment, name, default):
    """Bits per second: a number that may end in k, M or G."""
    text = environment.get(name) or default
    match = re.fullmatch(r"([0-9]{1,15})([kMG]?)", text)
    if not match or not 10**6 <= int(match[1]) * UNITS[match[2]] <= 10**11:
        raise system.Failure("%s is \"%s\", must be 1M…100G (bit/s)" % (name, text))
    return int(match[1]) * UNITS[match[2]]


class Inputs:
    def __init__(self, environment, tree, build, lasting=False):
        self.tree, self.build, self.lasting = tree, build, lasting
        self.cluster_file = environment.get("CLUSTER")
        self.described = self._read_hosts(environment)
        self.hosts = len(self.described) or number(environment, "HOSTS")
        self.limiter = self._read_limiter(environment.get("DISKS"))
        self.slots = number(environment, "SLOTS")
        self.seed = number(environment, "SEED")
        self.link_bps = rate(environment, "LINK", "100M")
        self.congestion, self.queue_lines, self.note = "cubic", [], None  # the note stands below the table
        self.start_spread_s = START_SPREAD_S
        self._read_network(environment)
        self.policies = (environment.get("POLICIES") or (UNLIKE_POLICIES if self.described else DEFAULT_POLICIES)).replace(",", " ").split()
        cluster.check_policies(build, self.policies)
        self.switches = number(environment, "SWITCH", (0, 0, SWITCHES_MAX))
        self.trace = environment.get("TRACE")
        number(environment, "SCALE")
        self.words = {name.lower(): environment[name] for name in ("JOBS", "SPEED", "CAP", "SCALE", "COMPUTE")
                      if environment.get(name)}
        if not self.trace and ("speed" in self.words or "cap" in self.words):
            raise system.Failure("SPEED and CAP are of a trace: say which by TRACE=FILE")

    def _read_hosts(self, environment):
        """Those of a cluster file; none: all hosts are alike."""
        if not self.cluster_file:
            return []
        if environment.get("HOSTS"):
            raise system.Failure("HOSTS is how many hosts there are that are alike, CLUSTER says which there are: give one of them")
        cluster.check_programs(self.build)
        return unlike.read(self.build, self.cluster_file)

    def _read_limiter(self, asked):
        """What limits the hosts' disks; None: what can."""
        if asked and not any(host.disk_bytes_s for host in self.described):
            raise system.Failure("DISKS is of hosts with a disk, and there is none: CLUSTER=FILE says which hosts there are")
        if asked and asked not in disks.LIMITERS:
            raise system.Failure("DISKS is \"%s\", must be blkio, io or meter" % asked)
        return asked or None

    def _read_network(self, environment):
        if environment.get("NET") in places.PLACES:
            raise system.Failure("NET=%s is for make demo alone" % environment["NET"])
        asked = tuple(self._choice(environment, place, word, default) for place, (word, default) in enumerate((("NET", "netns"), ("TOPO", "star"))))
        if asked not in networks.NETWORKS:
            raise system.Failure("NET=%s has no TOPO=%s, but %s" % (*asked, ", ".join(topo for net, topo in networks.NETWORKS if net == asked[0])))
        self.kind = networks.NETWORKS[asked]
        if self.lasting and not self.kind.lasting:
            raise system.Failure("this NET ends with the process that made it: it is for make demo alone")
        if self.described and not self.kind.unlike:
            raise system.Failure("NET=%s TOPO=%s has hosts that are alike: CLUSTER is for NET=netns TOPO=star" % asked)
        self.network_words = {word.lower(): number(environment, word, bounds) for word, bounds in self.kind.VARIABLES.items()}
        for other, kind in networks.NETWORKS.items():
            for word in kind.VARIABLES:
                if environment.get(word) and word not in self.kind.VARIABLES:
                    raise system.Failure("%s is not of TOPO=%s, but of TOPO=%s" % (word, asked[1], other[1]))
        self.slow = environment.get("SLOW")
        if self.slow and not (self.kind.unlike and self.slow in self.network(None).hosts):
            raise system.Failure("SLOW is \"%s\", must be a host of NET=netns TOPO=star, such as w3" % self.slow)
        self.network(None)

    @staticmethod
    def _choice(environment, place, word, default):
        name, known = environment.get(word) or default, list(dict.fromkeys(names[place] for names in networks.NETWORKS))
        if name not in known:
            known += places.PLACES if word == "NET" else []
            raise system.Failure("unknown network \"%s\": %s takes %s" % (name, word, ", ".join(known)))
        return name

    def network(self, instance):
        """The network that was asked for, in that instance; not made yet."""
        described = {"described": self.described} if self.described else {}
        net = self.kind(instance, self.hosts, self.link_bps, **described, **self.network_words)
        net.congestion = self.congestion
        if self.slow:
            net.slow = self.slow
        return net

    def options(self):
        """As duopoly-workload and duopoly-replay take them, NAME=VALUE."""
        words = {"jobs": "40", "hosts": str(self.hosts), "slots": str(self.slots), "link": str(self.link_bps),
                 "seed": str(self.seed)}
        words.update(self.words)
        return words

    def _program(self, *words):
        name = "duopoly-workload"
        done = subprocess.run([os.path.join(self.build, name), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise system.Failure(done.stderr.strip().partition(name + ": ")[2] or "%s failed" % name)
        return done.stdout

    def workload(self, folder):
        """The path of a workload file in the project's format: the tree's, one made in `folder`, or the one given."""
        flags = ["--%s=%s" % pair for pair in self.options().items()]
        path = os.path.join(folder, "workload.jsonl")
        if self.trace:
            with open_input(self.trace) as trace:
                first = trace.read(1)
            if first == "{":
                return os.path.abspath(self.trace)
            self._program("convert", self.trace, "--output=" + path, *flags)
            return path
        own = os.path.join(self.tree, WORKLOADS, os.path.splitext(os.path.basename(self.cluster_file or ""))[0] + ".jsonl")
        if self.cluster_file and not self.words and os.path.exists(own):
            return own
        changed = self.words or (self.hosts, self.slots, self.seed, self.link_bps) != (9, 4, 1, 10**8)
        if not changed:
            return os.path.join(self.tree, DEFAULT_INPUT)
        self._program("generate", "--output=" + path, *flags)
        return path

    def jobs_limit(self):
        """How many of a given file's jobs are replayed; made files have exactly those."""
        return self.words.get("jobs", "40")

    def shuffle_bytes(self, path):
        """The bytes that the replayed jobs move between their stages."""
        total = 0
        with open_input(path) as lines:
            for line in itertools.islice((line for line in lines if line.strip()), 1, 1 + int(self.jobs_limit())):
                for edge in (edge for stage in json.loads(line)["stages"] for edge in stage.get("parents", ())):
                    total += sum(edge.get("sums", ())) + sum(map(sum, edge.get("matrix", ())))
        return total

    def replayed(self, path, folder):
        """The path of a file that holds the replayed jobs only."""
        limit, cut = int(self.jobs_limit()), os.path.join(folder, "replayed.jsonl")
        with open_input(path) as lines, open(cut, "w") as out:
            out.writelines(itertools.islice((line for line in lines if line.strip()), 1 + limit))
        return cut

    def simulator_options(self):
        """Options of duopoly-sim, so that it plans as the daemon does by its defaults, on links
        like ours."""
        hosts = {"cluster": self.cluster_file} if self.described else {"servers": self.hosts}
        return {**hosts, "slots": self.slots, "link": self.link_bps, "seed": self.seed,
                "mode-dwell": MODE_DWELL_S, "headers": network.HEADERS, **self.network(None).simulated}

    def describe_hosts(self):
        """In words."""
        if self.described:
            return "%d hosts of %s" % (self.hosts, self.cluster_file)
        return "%d hosts with %d slots" % (self.hosts, self.slots)

    def describe(self, path):
        """Lines that say what the workload is and how it was mapped."""
        return self._program("describe", "--jobs=" + self.jobs_limit(), path).splitlines()


def open_input(path):
    try:
        return open(path, errors="replace")
    except OSError as failure:
        raise system.Failure("cannot open the workload %s: %s" % (path, failure.strerror)) from failure


def scale_of(path):
    """The divisor of the workload's bytes, from its header."""
    with open_input(path) as lines:
        return json.loads(lines.readline()).get("scale", 1)
