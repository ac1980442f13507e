"""What a benchmark measured beside its bars."""


class Table:
    """Rows as they come; `met` None: shown beside the others, without a bar."""

    def __init__(self):
        self.missed = 0

    def head(self, text):
        print("\n" + text, flush=True)

    def row(self, what, value, bar="", met=None):
        self.missed += met is False
        print(f"  {what:72} {value:>24}   {bar:28} {'MISSED' if met is False else ''}".rstrip(), flush=True)
