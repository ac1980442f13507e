"""What somebody may have put on a port: random trees of qdiscs, classes and filters, of the kinds
that this kernel has, and what tc says of them."""

import random
import re
import subprocess

LEAVES = {
    "pfifo": lambda r: ["limit", str(r.randrange(1, 900))],
    "bfifo": lambda r: ["limit", str(r.randrange(1500, 90000))],
    "tbf": lambda r: ["rate", f"{r.randrange(1, 900)}mbit", "burst", f"{r.randrange(16, 99)}kb", "limit", f"{r.randrange(10, 500)}kb",
                      *(["peakrate", "950mbit", "mtu", "1600"] if r.random() < 0.3 else []),
                      *(["overhead", str(r.randrange(30))] if r.random() < 0.3 else [])],
    "netem": lambda r: ["delay", f"{r.randrange(1, 99)}ms", f"{r.randrange(1, 9)}ms", *(["loss", f"{r.randrange(1, 9)}%"] if r.random() < 0.5 else []),
                        *(["rate", f"{r.randrange(1, 99)}mbit"] if r.random() < 0.5 else []), *(["duplicate", "1%"] if r.random() < 0.3 else [])],
    "fq_codel": lambda r: ["limit", str(r.randrange(100, 9000)), "target", f"{r.randrange(100, 20000)}us", "interval", f"{r.randrange(20, 300)}ms",
                           *(["ce_threshold", f"{r.randrange(50, 5000)}us"] if r.random() < 0.5 else []), r.choice(["ecn", "noecn"])],
    "codel": lambda r: ["limit", str(r.randrange(100, 9000)), "target", f"{r.randrange(100, 20000)}us", "interval", f"{r.randrange(20, 300)}ms"],
    "sfq": lambda r: ["limit", str(r.randrange(30, 120)), "perturb", str(r.randrange(1, 60))],
    "fq": lambda r: ["limit", str(r.randrange(100, 9000)), "flow_limit", str(r.randrange(10, 99)), "quantum", str(r.randrange(1500, 9000))],
}
CLASSFUL = ["htb", "hfsc", "drr", "qfq", "prio", "ets"]
SAMPLE = {"prio": [], "htb": [], "hfsc": [], "drr": [], "qfq": [], "ets": ["bands", "3"], "tbf": ["rate", "1mbit", "burst", "10kb", "limit", "10kb"],
          "pfifo": ["limit", "3"], "bfifo": ["limit", "3000"], "netem": ["delay", "1ms"]}
FILTERS = {
    "u32": lambda r, to: ["u32", "match", "ip", r.choice(["dport", "sport"]), str(r.randrange(65536)), "0xffff", "match", "ip", "dst",
                          f"10.{r.randrange(256)}.0.0/16", *to],
    "basic": lambda r, to: ["basic", "match", f"u32(u32 0x{r.randrange(1 << 32):08x} 0xffffffff at {4 * r.randrange(5)}) and not "
                                              f"cmp(u8 at {r.randrange(20)} layer network mask 0xff eq {r.randrange(256)})", *to],
    "flower": lambda r, to: ["flower", "ip_proto", r.choice(["tcp", "udp"]), "dst_port", str(r.randrange(1, 65536)), "dst_ip", f"10.{r.randrange(256)}.0.0/16",
                             *to],
    "matchall": lambda r, to: ["matchall", *to],
    "fw": lambda r, to: ["fw", *to],
}


def kinds_of(ns, dev):
    """The kinds that this kernel has, tried on an interface that nobody needs."""
    def works(*words):
        return subprocess.run(["nsenter", "--net=/run/netns/" + ns.name, "tc", *words], capture_output=True).returncode == 0
    qdiscs = [kind for kind in [*CLASSFUL, *LEAVES] if works("qdisc", "add", "dev", dev, "root", "handle", "1:", kind, *SAMPLE.get(kind, []))
              and works("qdisc", "delete", "dev", dev, "root")]
    ns.tc("qdisc", "add", "dev", dev, "root", "handle", "1:", "htb")
    ns.tc("class", "add", "dev", dev, "parent", "1:", "classid", "1:1", "htb", "rate", "1mbit")
    r = random.Random(1)
    filters = [kind for kind in FILTERS
               if works("filter", "add", "dev", dev, "parent", "1:", "protocol", "ip", "prio", "9", *(["handle", "7"] if kind == "fw" else []),
                        *FILTERS[kind](r, ["flowid" if kind in ("u32", "basic") else "classid", "1:1"]))]
    ns.tc("qdisc", "delete", "dev", dev, "root")
    return qdiscs, filters


class Tree:
    """A random tree on a port, by the commands that make it."""

    def __init__(self, ns, dev, rng, qdiscs, filters):
        self.ns, self.dev, self.r = ns, dev, rng
        self.qdiscs, self.filters = qdiscs, filters
        self.handles = rng.sample([h for h in range(1, 0xff0) if h != 0xd00], 40)
        self.made = []
        self._qdisc(["root"], 0)

    def _tc(self, *words):
        self.made.append("tc " + " ".join(words))
        self.ns.tc(*words)

    def _qdisc(self, where, depth):
        kind = self.r.choice([k for k in self.qdiscs if depth < 2 or k in LEAVES])
        handle = self.handles.pop()
        words = ["qdisc", "replace" if where == ["root"] else "add", "dev", self.dev, *where, "handle", f"{handle:x}:", kind]
        if kind in LEAVES:
            try:
                self._tc(*words, *LEAVES[kind](self.r))
            except subprocess.CalledProcessError:
                assert kind == "netem", self.made  # newer kernels have none that duplicates beside another: it is left out
                return
            if kind in ("tbf", "netem") and depth < 3 and self.r.random() < 0.4:
                self._qdisc(["parent", f"{handle:x}:1"], 3)
            return
        getattr(self, "_" + kind)(words, handle, depth)

    def _leaves(self, classes, depth):
        for classid in classes:
            if self.handles and self.r.random() < 0.5:
                self._qdisc(["parent", classid], depth + 1)

    def _class(self, handle, parent, minor, kind, words):
        classid = f"{handle:x}:{minor:x}"
        self._tc("class", "add", "dev", self.dev, "parent", parent, "classid", classid, kind, *words)
        return classid

    def _classes(self, handle, kind, words, inner=True):
        """Random classes, some below others; returns all, and those without any below."""
        minors = self.r.sample(range(1, 0xffff), self.r.randrange(1, 9))
        made, above = [], set()
        for minor in minors:
            parent = self.r.choice(made) if inner and made and self.r.random() < 0.5 else f"{handle:x}:"
            above.add(parent)
            made.append(self._class(handle, parent, minor, kind, words()))
        return made, [c for c in made if c not in above]

    def _htb(self, words, handle, depth):
        self._tc(*words, *(["default", f"{self.r.randrange(1, 0xffff):x}"] if self.r.random() < 0.7 else []),
                 *(["r2q", str(self.r.randrange(2, 40))] if self.r.random() < 0.3 else []))

        def words_of():
            rate = self.r.randrange(1, 900)
            return ["rate", f"{rate}mbit", "ceil", f"{rate + self.r.randrange(99)}mbit", "prio", str(self.r.randrange(8)),
                    *(["burst", f"{self.r.randrange(2, 99)}kb"] if self.r.random() < 0.5 else []),
                    *(["quantum", str(self.r.randrange(1500, 60000))] if self.r.random() < 0.5 else []),
                    *(["overhead", str(self.r.randrange(1, 40)), "mpu", "64"] if self.r.random() < 0.3 else [])]
        made, leaves = self._classes(handle, "htb", words_of)
        self._leaves(leaves, depth)
        self._filters(handle, made, True)

    def _hfsc(self, words, handle, depth):
        self._tc(*words, "default", f"{self.r.randrange(1, 0xffff):x}")

        def curve(name):
            rate = self.r.randrange(1, 99)
            return [name, *(["m1", f"{rate * 2}mbit", "d", f"{self.r.randrange(1, 99)}ms", "m2", f"{rate}mbit"] if self.r.random() < 0.5
                            else ["rate", f"{rate}mbit"])]
        made, leaves = self._classes(handle, "hfsc", lambda: [*curve("ls"), *(curve("rt") if self.r.random() < 0.5 else []),
                                                              *(curve("ul") if self.r.random() < 0.5 else [])])
        self._leaves(leaves, depth)
        self._filters(handle, made, True)

    def _drr(self, words, handle, depth):
        self._tc(*words)
        made, _ = self._classes(handle, "drr", lambda: ["quantum", str(self.r.randrange(1500, 9000))], inner=False)
        self._leaves(made, depth)
        self._filters(handle, made, False)

    def _qfq(self, words, handle, depth):
        self._tc(*words)
        made, _ = self._classes(handle, "qfq", lambda: ["weight", str(self.r.randrange(1, 99)), "maxpkt", str(self.r.randrange(1500, 2048))], inner=False)
        self._leaves(made, depth)
        self._filters(handle, made, False)

    def _prio(self, words, handle, depth):
        bands = self.r.randrange(2, 9)
        self._tc(*words, "bands", str(bands), "priomap", *(str(self.r.randrange(bands)) for _ in range(16)))
        made = [f"{handle:x}:{band:x}" for band in range(1, bands + 1)]
        self._leaves(made, depth)
        self._filters(handle, made, False)

    def _ets(self, words, handle, depth):
        strict = self.r.randrange(0, 4)
        quanta = [str(self.r.randrange(1500, 9000)) for _ in range(self.r.randrange(1, 4))]
        self._tc(*words, *(["strict", str(strict)] if strict else []), "quanta", *quanta)
        made = [f"{handle:x}:{band:x}" for band in range(1, strict + len(quanta) + 1)]
        self._leaves(made, depth)
        self._filters(handle, made, False)

    def _filters(self, handle, classes, by_class):
        prios = self.r.sample(range(1, 400), 6)
        for prio in prios[:self.r.randrange(0, 6)]:
            kind = self.r.choice(self.filters)
            parent = self.r.choice([c for c in classes]) if by_class and self.r.random() < 0.2 else f"{handle:x}:"
            add = ["filter", "add", "dev", self.dev, "parent", parent, "protocol", "ip", "prio", str(prio)]
            if kind == "u32" and self.r.random() < 0.4:
                self._hashed(add, classes)
            for n in range(1 if kind in ("matchall",) else self.r.randrange(1, 4)):
                to = ["flowid" if kind in ("u32", "basic") else "classid", self.r.choice(classes)]
                self._tc(*add, *(["handle", str(0x100 + n)] if kind == "fw" else []), *FILTERS[kind](self.r, to))
            if self.r.random() < 0.2:
                self._tc("filter", "delete", "dev", self.dev, "parent", parent, "protocol", "ip", "prio", str(prio), kind)

    def _hashed(self, add, classes):
        """A table of 256 rows, as large shapers have it, with a way into it."""
        table = self.r.randrange(1, 0x7ff)
        self._tc(*add, "handle", f"{table:x}:", "u32", "divisor", "256")
        for _ in range(self.r.randrange(1, 5)):
            row = self.r.randrange(256)
            self._tc(*add, "u32", "ht", f"{table:x}:{row:x}:", "match", "ip", "src", f"10.9.{self.r.randrange(256)}.{row}", "flowid", self.r.choice(classes))
        self._tc(*add, "u32", "ht", f"{self._root(add)}:", "match", "ip", "src", "10.9.0.0/16", "hashkey", "mask", "0x000000ff", "at", "12",
                 "link", f"{table:x}:")

    def _root(self, add):
        """The table that the kernel made for this priority."""
        prio = add[add.index("prio") + 1]
        return re.findall(r"pref %s u32 chain 0 fh ([0-9a-f]+): ht divisor 1 *$" % prio, self.ns.tc("filter", "show", *add[2:6]), re.M)[-1]


def snapshot(ns, dev):
    """All that tc says, in an order that does not depend on the kernel's tables, without what only
    counts."""
    qdiscs = re.sub(r" direct_packets_stat \d+", "", ns.tc("-d", "qdisc", "show", "dev", dev))
    classes = ns.tc("-d", "class", "show", "dev", dev)
    shown = {"qdiscs": sorted(qdiscs.splitlines()), "classes": sorted(classes.splitlines())}
    parents = re.findall(r"^qdisc \S+ ([0-9a-f]+:) ", qdiscs, re.M) + re.findall(r"^class (?:htb|hfsc) (\S+) ", classes, re.M)
    for parent in parents:
        if parent != "0:" and "ingress" not in parent:
            shown["filters of " + parent] = ns.tc("-d", "filter", "show", "dev", dev, "parent", parent)
    return shown
