"""A demo's results in three lengths: a few lines for the terminal, all of it as text, and all of it
as a page that needs no other file.

A `Story` has: `setting` (lines: what was replayed, and how it was mapped), `runs`
(demo.run_policy()'s figures), `words` ((policy, lines about its marks and latencies, the first
one the proof that its marks were right), …), `note` (below the table; or None) and `verdict`
(lines)."""

import html
import os
import typing

from testbed.demo import report

FOLDER = "results"
TEXT, PAGE = "report.txt", "report.html"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }
table { border-collapse: collapse; }
th, td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ccc; }
th:first-child, td:first-child { text-align: left; }
pre { overflow-x: auto; background: #f6f6f6; padding: 1em; } .verdict { font-size: 1.15em; }
"""


class Story(typing.NamedTuple):
    setting: list
    runs: list
    words: list
    note: typing.Optional[str]
    verdict: list

    def proofs(self):
        return ["%s: %s" % (policy, said[0]) for policy, said in self.words]


def short(story):
    """The table, a line of proof for each policy, and the verdict."""
    below = [story.note] if story.note else []
    return "\n".join(report.table(story.runs) + below + ["", *story.proofs(), "", *story.verdict])


def whole(story):
    lines = report.table(story.runs) + [report.LEGEND] + ([story.note] if story.note else [])
    for proof, (_, said) in zip(story.proofs(), story.words):
        lines += ["", proof] + said[1:]
    return "\n".join(lines + [""] + story.verdict)


def _table(runs):
    head, *rows = report.rows(runs)
    cells = ["<tr>%s</tr>" % "".join("<%s>%s</%s>" % (kind, html.escape(word), kind)
                                     for word in row)
             for kind, row in [("th", head)] + [("td", row) for row in rows]]
    return "<table>\n%s\n</table>" % "\n".join(cells)


def as_html(story):
    def lines(these):
        return html.escape("\n".join(these))

    parts = ["<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>duopoly: policies "
             "on one workload</title><style>%s</style>" % STYLE,
             "<h1>%s</h1>" % html.escape(", ".join(run["label"] for run in story.runs))]
    parts += ["<p class=\"verdict\">%s</p>" % html.escape(line) for line in story.verdict]
    parts.append(_table(story.runs))
    parts += ["<p>%s</p>" % html.escape(line) for line in (report.LEGEND, story.note) if line]
    for proof, (policy, said) in zip(story.proofs(), story.words):
        parts.append("<h2>%s</h2><p>%s</p><pre>%s</pre>" % (html.escape(policy), html.escape(proof),
                                                            lines(said[1:])))
    return "\n".join(parts + ["<h2>What was replayed</h2><pre>%s</pre>" % lines(story.setting),
                              "</html>\n"])


def write(story, folder):
    """Both pages below the demo's folder; returns their paths."""
    own = os.path.join(folder, FOLDER)
    os.makedirs(own, exist_ok=True)
    paths = [os.path.join(own, name) for name in (PAGE, TEXT)]
    for path, text in zip(paths,
                          (as_html(story), "\n".join(story.setting + ["", whole(story), ""]))):
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    return paths
