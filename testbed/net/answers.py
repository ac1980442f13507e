"""What `duopolyctl -j` answers (docs/operate/cli.md): the one place that knows its envelope.

A reader gets the one thing that was asked for, or {name: rows} with what stands beside them.
Numbers that name things are strings in the answer, for readers that keep 53 bits of a number;
Python keeps all, so here they are numbers, as on the wire and in recordings."""

import json

VERSION = 1
ENVELOPE = ("schema", "version", "generated_at", "partial", "items", "error", "of")
SELECTED = "selected"  # rows with chosen columns of the list that "of" names
# Schemas of lists, and what their rows are called here.
LISTS = {**{name: name for name in (
    "audit", "coflows", "combinations", "config", "counters", "debts", "events", "flows", "history",
    "hosts", "jobs", "keys", "links", "macroflows", "mode_changes", "policies", "port_queues",
    "queues", "shares", "switches", "tasks", "units", "users")},
    "config_changes": "changes", "made_keys": "keys", "submitted": "jobs"}
IDENTIFIERS = {"arc", "attempt", "boot", "borrower_user", "failed_attempt", "failed_stage",
               "failed_task", "first_job", "head", "id", "job", "lender_user", "n", "queue",
               "serial", "stage", "tail", "task", "unit", "user", "variant"}


class Refused(Exception):
    """Why there is no answer, or not all of it: a sentence. `error` has more; `answer`: what there
    is, or None."""

    def __init__(self, error, answer):
        super().__init__(error["text"])
        self.error, self.answer = error, answer


def _numbered(key, value):
    if isinstance(value, dict):
        return {name: _numbered(name, member) for name, member in value.items()}
    if isinstance(value, list):
        return [_numbered(key, member) for member in value]
    return int(value) if key in IDENTIFIERS and isinstance(value, str) else value


def _opened(document):
    items = _numbered("", document["items"])
    name = document["of"] if document["schema"] == SELECTED else LISTS.get(document["schema"])
    if not name:
        one, = items
        return one
    beside = {key: _numbered(key, value) for key, value in document.items() if key not in ENVELOPE}
    return {name: items, **beside}


def read(text):
    """The answer in a document; Refused if it has an error."""
    document = json.loads(text)
    if document["version"] != VERSION:
        raise ValueError("an answer of version %s, not %d" % (document["version"], VERSION))
    answer = _opened(document) if "items" in document else None
    if "error" in document:
        raise Refused(document["error"], answer)
    return answer
