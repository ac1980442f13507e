"""What a live run's transfers would have taken on exact links, under that very run's decisions.

A scheduler reacts to its network: if one transfer ends a moment later, another task gets the
slot. So two runs of one input diverge even when all links are equal. Here only the network
differs: starts, hosts, levels and modes are those of the run's log (schemas/recording.md), and
rates of flows replace packets, by strict priority between levels and max-min fairness within, as
in the simulator (testbed/sim/network/fluid.h). The rest of the difference is TCP's (windows that
have to grow, shares that are not even) and the machine's, where processors are busy.

For hosts on one switch and jobs with barriers only. O(events × flows)."""

import collections
import functools

from testbed.demo import reads, report


class Transfer:
    """One attempt's: `left` bytes from each other host, from start_ns on; live_ns, fluid_ns: when
    the last byte was there."""

    def __init__(self, stage, host, start_ns, levels, left):
        self.stage, self.host, self.start_ns, self.levels = stage, host, start_ns, levels
        self.left = {source: size for source, size in left.items() if size and source != host}
        self.live_ns = self.fluid_ns = None


class Run:
    """transfers: {attempt: Transfer}; changes: [(ns, function of the network)] in order; hosts:
    {name: number}; bps: {number: (up, down)}, of its link."""

    def __init__(self, lines, sources):
        self.transfers, self.changes, self.hosts, self.bps = {}, [], {}, {}
        self._sources, self._reads, self._now_ns = sources, reads.Reads(), 0
        for line in lines:
            words = line.split()
            if words and words[0] == "step":
                self._now_ns = int(words[1])
            elif len(words) > 1 and words[0] in "ed":
                handler = getattr(self, "_%s_%s" % (words[0], words[1]), None)
                if handler:
                    handler(report.fields(words))

    def _e_host_join(self, f):
        self.hosts[f["name"]] = int(f["host"])
        self.bps[int(f["host"])] = int(f["uplink_bps"]), int(f["downlink_bps"])

    def _e_job_stage(self, f):
        self._reads.stage(f)

    def _e_job_bytes(self, f):
        self._reads.bytes(f)

    def _d_start(self, f):
        if self._reads.unknown:
            raise ValueError(self._reads.unknown)
        left, host = self._reads.start(f), int(f["host"])
        if not self._reads.has_parents(f) and int(f["input_bytes"]):
            left[self.hosts.get(self._sources(f["attempt"]), host)] += int(f["input_bytes"])
        moved = Transfer((f["job"], int(f["stage"])), host, self._now_ns, levels(f), left)
        if moved.left:
            self.transfers[f["attempt"]] = moved
            self.changes.append((self._now_ns, functools.partial(Network.start, moved=moved)))

    def _d_level(self, f):
        if f["attempt"] in self.transfers:
            self.changes.append((self._now_ns,
                                 functools.partial(Network.level,
                                                   moved=self.transfers[f["attempt"]],
                                                   to=levels(f))))

    def _d_mode(self, f):
        self.changes.append((self._now_ns,
                             functools.partial(Network.set_mode, mode=int(f["mode"]))))

    def _e_attempt_received(self, f):
        if f["attempt"] in self.transfers:
            self.transfers[f["attempt"]].live_ns = self._now_ns


def levels(f):
    """By mode."""
    return int(f["coflow_level"]), int(f["macroflow_level"])


class Network:
    """Hosts on one switch; payload: the part of their links' rates that tasks' bytes have."""

    def __init__(self, bps, payload):
        self.bytes_s = {(way, host): bps[host][way] / 8 * payload
                        for way in range(2) for host in bps}
        self.mode, self.moving = 0, []

    def start(self, moved):
        self.moving.append(moved)

    def level(self, moved, to):
        moved.levels = to

    def set_mode(self, mode):
        self.mode = mode

    def rates(self):
        """{(transfer, source): bytes a second}: the most urgent level first, in it the fullest link
        first."""
        rest, found = dict(self.bytes_s), {}
        for level in sorted({moved.levels[self.mode] for moved in self.moving}):
            flows = [(moved, source) for moved in self.moving if moved.levels[self.mode] == level
                     for source in moved.left]
            self._fill(flows, rest, found)
        return found

    def _fill(self, flows, rest, found):
        crossing = collections.Counter(link for flow in flows for link in self._links(flow))
        while flows:
            share, fullest = min((max(rest[link], 0) / count, link)
                                 for link, count in crossing.items() if count)
            for flow in [flow for flow in flows if fullest in self._links(flow)]:
                found[flow] = share
                for link in self._links(flow):
                    rest[link] -= share
                    crossing[link] -= 1
            flows = [flow for flow in flows if flow not in found]

    def _links(self, flow):
        moved, source = flow
        return (0, source), (1, moved.host)

    def next_end_ns(self, now_ns, rates):
        return min((now_ns + moved.left[source] / rate * 1e9
                    for (moved, source), rate in rates.items() if rate > 0), default=None)

    def pass_time(self, seconds, rates, now_ns):
        for (moved, source), rate in rates.items():
            moved.left[source] -= rate * seconds
            if moved.left[source] < 1e-3:
                del moved.left[source]
        for moved in [moved for moved in self.moving if not moved.left]:
            moved.fluid_ns = now_ns
            self.moving.remove(moved)


def flow(run, payload):
    """Sets fluid_ns of the run's transfers."""
    network, changes = Network(run.bps, payload), collections.deque(run.changes)
    now_ns = changes[0][0] if changes else 0
    while changes or network.moving:
        rates = network.rates()
        until = min(ns for ns in (network.next_end_ns(now_ns, rates),
                                  changes[0][0] if changes else None) if ns is not None)
        network.pass_time((until - now_ns) / 1e9, rates, until)
        now_ns = until
        while changes and changes[0][0] <= now_ns:
            changes.popleft()[1](network)


def stages(run):
    """[(live, fluid) seconds of each stage that received anything]: from its first start to its
    last byte."""
    of_stage = collections.defaultdict(list)
    for moved in run.transfers.values():
        if moved.live_ns is not None:
            of_stage[moved.stage].append(moved)
    return [tuple((max(getattr(m, end) for m in moved) - min(m.start_ns for m in moved)) / 1e9
                  for end in ("live_ns", "fluid_ns"))
            for moved in of_stage.values()]


def compare(logs, said, names, payload):
    """stages() of a run: its logs oldest first; ports.read()'s; names: {address: host's name};
    payload: Network's."""
    def source(attempt):
        """For a map's block: the last host that its task asked."""
        asked = [names.get(line.ends[2]) for line in said.get(attempt, ()) if line.what == "open"]
        return asked[-1] if asked else None

    def lines():
        for path in logs:
            with open(path) as part:
                yield from part

    run = Run(lines(), source)
    flow(run, payload)
    return stages(run)


def sentence(*of_run):
    """How much longer transfers took than on exact links; as compare."""
    try:
        pairs = compare(*of_run)
    except ValueError as why:
        return "transfers on exact links: not compared, since %s" % why
    live, fluid = (sum(side) for side in zip(*pairs)) if pairs else (0, 0)
    return ("under the same decisions the transfers of %d stages took %.1f s here, %.1f s on exact "
            "links: %+.1f %%" % (len(pairs), live, fluid, 100 * (live / fluid - 1) if fluid else 0))
