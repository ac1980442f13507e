"""One page that needs no other file: what make bench-hdas printed, and the figures drawn."""
import html

import hdas_bars
import hdas_runs
import hdas_sets

COLOURS = {"fifo": "#999999", "model": "#0072b2", "affinity": "#d55e00"}
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }
table { border-collapse: collapse; }
th, td { padding: .1em .8em; text-align: left; border-bottom: 1px solid #ccc; }
.missed { color: #b00; font-weight: bold; } svg { display: block; margin: 1em 0; }
"""
WIDE, HIGH, LEFT, TOP, BOTTOM = 1100, 260, 50, 20, 30


class Picture:
    """An SVG of a plot from 0 to `most`, drawn in parts."""

    def __init__(self, title, most, name):
        self.most, self.parts = most, []
        self.text(LEFT, TOP - 6, title)
        for part in (0, .25, .5, .75, 1):
            y = self.y(part * most)
            self.parts.append('<path d="M%d %.1fH%d" stroke="#ddd"/>' % (LEFT, y, WIDE))
            self.text(LEFT - 6, y + 4, "%.3g" % (part * most), "end")
        self.text(LEFT, HIGH - 4, name)

    def y(self, value):
        return HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * min(value / self.most, 1.02)

    def text(self, x, y, words, anchor="start", colour="#000"):
        self.parts.append('<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>'
                          % (x, y, anchor, colour, html.escape(words)))

    def box(self, x, width, low, high, colour):
        self.parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>'
                          % (x, self.y(high), width, self.y(low) - self.y(high), colour))

    def whisker(self, x, of):
        self.parts.append('<path d="M%.1f %.1fV%.1f" stroke="#000"/>'
                          % (x, self.y(of.low), self.y(of.high)))

    def level(self, value, colour):
        self.parts.append('<path d="M%d %.1fH%d" stroke="%s" stroke-dasharray="4"/>'
                          % (LEFT, self.y(value), WIDE, colour))

    def line(self, points, colour):
        self.parts.append('<polyline fill="none" stroke="%s" points="%s"/>' % (colour, " ".join(
            "%.1f,%.1f" % (x, self.y(value)) for x, value in points)))

    def svg(self):
        return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-size="12" '
                'font-family="sans-serif">%s</svg>' % (WIDE + 10, HIGH, "".join(self.parts)))


def keys(picture, names):
    for place, (name, colour) in enumerate(names.items()):
        picture.text(WIDE - 110 * (len(names) - place), TOP - 6, name, colour=colour)


def by_mix(title, bands, sources):
    """bands: by policy, by mix; sources: the source's means, by policy."""
    highest = [of.high for of_policy in bands.values() for of in of_policy.values()]
    picture = Picture(title, max(*highest, *sources.values()), "")
    step = (WIDE - LEFT) / len(hdas_sets.MIXES)
    for place, mix in enumerate(hdas_sets.MIXES):
        for shift, policy in enumerate(bands):
            x, width = LEFT + step * (place + .1) + shift * step * .8 / len(bands), step * .22
            of = bands[policy][mix]
            picture.box(x, width, 0, of.mid, COLOURS[policy])
            picture.whisker(x + width / 2, of)
        picture.text(LEFT + step * (place + .5), HIGH - BOTTOM + 16, mix, "middle")
    for policy, value in sources.items():
        picture.level(value, COLOURS[policy])
    keys(picture, {policy: COLOURS[policy] for policy in bands})
    return picture.svg()


def over_time(title, answer, host=0):
    """Busy GPUs and what is asked of the disk, of one host."""
    picture = Picture(title, 1, "time, 0 to %.0f s; one host" % answer["run_s"])
    for rows, colour in ((answer["disks"], "#e69f00"), (answer["gpus"], "#000000")):
        step = (WIDE - LEFT) / len(rows[host])
        picture.line([(LEFT + step * (place + .5), value) for place, value in
                      enumerate(rows[host])], colour)
    keys(picture, {"GPUs that compute": "#000000", "asked of the disk": "#e69f00"})
    return picture.svg()


def profiles(outcomes):
    """Figure 7: of each application the lone CPU task and the lone GPU task, the former being 1."""
    picture = Picture("Figure 7: lone CPU task and lone GPU task; dark: reading", 1, "")
    step = (WIDE - LEFT) / len(hdas_sets.NAMES)
    for place, name in enumerate(hdas_sets.NAMES):
        all_of = [hdas_sets.application(o.values, name) for o in outcomes]
        x = LEFT + step * (place + .2)
        reads = hdas_bars.band([one.read_s / one.cpu_s for one in all_of])
        whole = hdas_bars.band([hdas_sets.lone_gpu_s(one) / one.cpu_s for one in all_of])
        for shift, of in ((0, hdas_bars.Band(1, 1, 1)), (.3, whole)):
            picture.box(x + shift * step, step * .25, reads.mid, of.mid, "#56b4e9")
            picture.box(x + shift * step, step * .25, 0, reads.mid, "#0072b2")
        picture.whisker(x + .425 * step, whole)
        picture.text(x + .3 * step, HIGH - BOTTOM + 16, name, "middle")
    return picture.svg()


def table(head, rows):
    def line(kind, cells):
        return "<tr>%s</tr>" % "".join("<%s>%s</%s>" % (kind, cell, kind) for cell in cells)

    return "<table>%s</table>" % "\n".join([line("th", head)] + [line("td", row) for row in rows])


def of_rows(rows):
    return table(("", "source", "median [5 %, 95 %]", "bar", ""), [
        (*map(html.escape, (row.what, row.source, row.value, row.bar)),
         '<span class="missed">missed</span>' if row.met is False else "") for row in rows])


def of_unknowns(outcomes):
    rows = []
    for name, known in hdas_sets.UNKNOWN.items():
        of = hdas_bars.band([o.values[name] for o in outcomes])
        drawn = "%g to %g %s%s" % (known.least, known.most, known.unit,
                                   ", by logarithm" if known.log else "")
        rows.append(tuple(map(html.escape, (name, known.what, drawn,
                                            hdas_bars.words(of, "%.3g")))))
    return table(("unknown", "", "drawn from", "kept"), rows)


def pictures(bars, typical):
    """typical: the outcome whose mix P is drawn."""
    times = {policy: bars.bands(lambda o, mix, policy=policy: o.run_s[mix, policy] /
                                o.run_s[mix, "fifo"]) for policy in ("model", "affinity")}
    speed_ups = {policy: bars.bands(
        lambda o, mix, policy=policy: o.run_s[mix, hdas_runs.CPUS_ALONE] / o.run_s[mix, policy])
        for policy in hdas_runs.COMPARED}
    delays = {policy: bars.bands(lambda o, mix, policy=policy: o.delay[mix, policy])
              for policy in hdas_runs.COMPARED}
    yield by_mix("Figure 6: speed-up over CPUs alone (dashed: the source's means)", speed_ups,
                 {"fifo": 14.3, "model": 17.9, "affinity": 21.9})
    yield by_mix("Figure 8: run time ÷ FIFO's", times, {"model": 1 - .187, "affinity": 1 - .336})
    yield by_mix("Figure 9: mean task delay", delays, {"model": 1.6, "affinity": 1.2})
    for number, policy in zip((3, 4, 10), hdas_runs.COMPARED):
        yield over_time("Figure %d: mix P under %s, a typical set" % (number, policy),
                        typical.p[policy])
    yield profiles(bars.outcomes)


def page(story, bars, typical, ours):
    """story: lines on how the sets were kept; bars: None without the source's figures; ours:
    (title, rows)…"""
    parts = ['<!doctype html><html lang="en"><meta charset="utf-8"><title>HDAS: affinity beside '
             "the source</title><style>%s</style><h1>HDAS: affinity beside the source</h1>" % STYLE]
    parts += ["<p>%s</p>" % html.escape(line) for line in story]
    if bars:
        parts += ["<h2>The source's figures</h2>", of_rows(bars.rows), *pictures(bars, typical)]
    for title, rows in ours:
        parts += ["<h2>%s</h2>" % html.escape(title), of_rows(rows)]
    if bars:
        parts += ["<h2>What was not known</h2>", of_unknowns(bars.outcomes)]
    return "\n".join([*parts, "</html>\n"])
