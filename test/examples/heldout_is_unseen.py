"""Counts the held-out tickets of a data folder that training gives away.

Works on the texts alone, without the generator: a ticket's combination is the
set of the words that name a product, a problem and a city in any ticket, that
is all words but the order number and those of every ticket's frame.
"""

import collections
import json
import pathlib
import re
import sys


def tickets(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["ticket"] for line in lines]


def order_of(ticket):
    return re.search(r"\d{4}", ticket).group()


def main():
    folder = pathlib.Path(sys.argv[1])
    train, heldout = (tickets(folder / f"{n}.jsonl")
                      for n in ("train", "heldout"))
    sentences = collections.Counter(
        s for t in train for s in re.findall(r"[^.:]+[.:]", t))
    # A closing stands alone in hundreds of tickets; nothing else does.
    closings = {s.strip() for s, n in sentences.items() if n > 100}
    frame = {"Order", "order", "my", "My", "for", "I", "live", "in", "Hello",
             "from", "The", "the", "of"}

    def combination(ticket):
        for closing in closings:
            ticket = ticket.replace(closing, "")
        words = re.findall(r"[A-Za-z]+", ticket)
        return frozenset(w for w in words if w not in frame)

    seen = {combination(t) for t in train}
    shared = sum(combination(t) in seen for t in heldout)
    print(f"{shared} of {len(heldout)} held-out tickets share their "
          "combination with training")
    orders = {order_of(t) for t in train}
    shared = sum(order_of(t) in orders for t in heldout)
    print(f"{shared} of {len(heldout)} held-out tickets share their order "
          "number with training")


if __name__ == "__main__":
    main()
