"""Values at the edges of every field of schemas/duopoly.proto, messages filled with them, and bytes
that nobody made.

`Known` is what a hostile program could have learned: names, numbers and addresses of others, drawn
wherever a field is called so."""
import re

from google.protobuf.descriptor import FieldDescriptor as Field

ENVELOPE_BYTES = 65536
NOT_UTF8 = "\x7f\x11\x7f\x11"  # stands for bytes that the official library would not write
NUMBERS = (0, 1, 2, 3, 7, 8, 63, 64, 65, 255, 256, 1023, 1024, 1025, 4095, 4096, 65535, 65536, 100_000, 2**20 - 1, 2**20, 2**24,
           2**31 - 1, 2**31, 2**32 - 3, 2**32 - 1, 2**32, 2**42, 2**53, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
SIGNED = NUMBERS + (-1, -2, -2**31, -2**31 - 1, -2**62, -2**63)
TEXTS = ("", "a", "w1", "*", "w[1-100000]", "../../../../etc/passwd", "%n%s%x", "a b", "\n\n", "\x1b[2J\x1b[H", "\u202egnirts", "x" * 31, "x" * 32,
         "x" * 63, "x" * 64, "x" * 255, "x" * 256, "x" * 4000, "é" * 40, NOT_UTF8, "a" + NOT_UTF8, "'\"; drop table jobs; --", "\x01" * 20,
         "configured", "nats", "place", "all", "0", "-1")
BYTES = (b"", b"\0", bytes(4), bytes(16), b"\xff" * 16, bytes(17), bytes(15), bytes(10) + b"\xff\xff\x7f\0\0\1", b"\xff" * 255)
SMALLEST = {Field.CPPTYPE_INT32: (-2**31, 2**31 - 1), Field.CPPTYPE_INT64: (-2**63, 2**63 - 1),
            Field.CPPTYPE_UINT32: (0, 2**32 - 1), Field.CPPTYPE_UINT64: (0, 2**64 - 1)}


class Known:
    """What of others a program may name; `never` says that it must not name their jobs (who may
    cancel would end them by right)."""

    def __init__(self, **lists):
        self.jobs, self.attempts, self.hosts, self.addresses, self.names = [], [], [], [], []
        self.__dict__.update(lists)

    def of(self, field):
        """The list that a field of this name is drawn from now and then."""
        return {"job": self.jobs, "attempt": self.attempts, "host": self.hosts, "address": self.addresses, "hosts": self.hosts,
                "name": self.hosts + self.names, "local": self.addresses, "peer": self.addresses}.get(field, [])


def number(rng, cpp_type):
    low, high = SMALLEST[cpp_type]
    return rng.choice([n for n in SIGNED if low <= n <= high])


def scalar(rng, field, known):
    wanted = (bytes if field.type == Field.TYPE_BYTES else str) if field.cpp_type == Field.CPPTYPE_STRING else int
    of_others = [value for value in known.of(field.name) if isinstance(value, wanted)]
    if of_others and rng.random() < 0.5:
        return rng.choice(of_others)
    if field.cpp_type == Field.CPPTYPE_ENUM:
        return rng.choice([value.number for value in field.enum_type.values] + [99, 2**31 - 1])
    if field.cpp_type == Field.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if field.cpp_type in (Field.CPPTYPE_DOUBLE, Field.CPPTYPE_FLOAT):
        return rng.choice((0.0, -0.0, float("nan"), float("inf"), -1e308, 5e-324))
    if field.cpp_type == Field.CPPTYPE_STRING:
        return rng.choice(BYTES if field.type == Field.TYPE_BYTES else TEXTS)
    return number(rng, field.cpp_type)


def fill(rng, message, known, depth=0):
    """Each field at one of its edges, or left out; lists none, one, a few, or as long as fits."""
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.25 or depth > 4:
            continue
        many = is_list(field)
        count = rng.choice((0, 1, 2, 9, 65 if depth < 2 else 3)) if many else 1
        for _ in range(count):
            if field.message_type:
                part = getattr(message, field.name).add() if many else getattr(message, field.name)
                part.SetInParent()
                fill(rng, part, known, depth + 1)
            elif many:
                getattr(message, field.name).append(scalar(rng, field, known))
            else:
                set_scalar(message, field, scalar(rng, field, known))
    return message


def is_list(field):
    return field.label == Field.LABEL_REPEATED


def set_scalar(message, field, value):
    try:
        setattr(message, field.name, value)
    except ValueError:
        pass  # it is of another width


def body(rng, pb, kind, known):
    """A message of this kind; where its lists came out longer than an envelope may be, it is cut by
    making it anew."""
    for _ in range(20):
        made = getattr(pb, pb.Envelope.DESCRIPTOR.fields_by_name[kind].message_type.name)()
        fill(rng, made, known)
        if made.ByteSize() < ENVELOPE_BYTES - 64:
            return made
    return type(made)()


def written(envelope):
    """On the wire, with what is no UTF-8 where it was wanted."""
    return envelope.SerializeToString().replace(NOT_UTF8.encode(), b"\xff\xfe\xc0\x80")


def changed(seeds, rng):
    """A message like one of the seeds with bytes changed, cut and repeated; every fourth is
    whole."""
    message = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((0, 1, 2, 8))):
        if not message:
            break
        place = rng.randrange(len(message))
        kind = rng.randrange(4)
        if kind == 0:
            message[place] = rng.randrange(256)
        elif kind == 1:
            del message[place:]
        elif kind == 2:
            message[place:place] = message[:rng.randrange(64)]
        else:
            message[place] ^= 1 << rng.randrange(8)
    return bytes(message[:ENVELOPE_BYTES])


def kinds_by_role(agents, frameworks, clients):
    """{"AGENT": [kinds], …} by the texts of the tables that say who may send what: agent_kinds.c,
    application_fact.c and requests.c."""
    groups = {"ADMIN": "ADMIN", "OPERATE": "OPERATOR ADMIN", "WORK": "SCHEDULER OPERATOR ADMIN", "READ": "READER SCHEDULER OPERATOR ADMIN"}
    row = r"\[WIRE_KIND\((\w+)\)\]\s*=\s*"
    kinds = {"AGENT": re.findall(row, agents), "FRAMEWORK": re.findall(row, frameworks)}
    for kind, group in re.findall(row + r"\{[^}]*\.roles = (\w+)", clients):
        for role in groups[group].split():
            kinds.setdefault(role, []).append(kind)
    return kinds
