#!/usr/bin/env python3
"""Writes the stories of train.txt and valid.txt from a rule, always the same.

A story names two people, what each of them has, and what happens. Its last
sentence says who has what then. Stories are separated by lines `---`. No pair of
people and things of valid.txt occurs in train.txt.

Usage: python3 make_text.py [FOLDER]  (default: this folder)
"""

import pathlib
import random
import sys

PEOPLE = ["Ana", "Ben", "Eva", "Ira", "Leo", "Mia", "Sam", "Tom"]
THINGS = ["ball", "book", "coat", "drum", "kite", "lamp", "map", "ring"]
PLACES = ["at the beach", "at the lake", "in the garden", "in the park",
          "on the bridge", "on the hill"]
TRAINING, VALIDATION = 800, 30


def story(draw, people, things):
    """`first` and `second` have a thing each; the last sentence is decided."""
    first, second = people
    mine, yours = things
    text = (f"{first} and {second} are {draw.choice(PLACES)}. "
            f"{first} has a {mine}. {second} has a {yours}. ")
    event = draw.randrange(3)
    if event == 0:
        return text + (f"They swap. Now {first} has a {yours} and {second} has "
                       f"a {mine}.")
    if event == 1:
        return text + (f"{first} loses the {mine}. Now only {second} has a "
                       f"{yours}.")
    return text + (f"They go home. Now {first} has a {mine} and {second} has a "
                   f"{yours}.")


def stories(draw, pairs, count):
    return "---\n".join(story(draw, *draw.choice(pairs)) + "\n"
                        for _ in range(count))


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                          else pathlib.Path(__file__).parent)
    draw = random.Random(3)
    pairs = [((a, b), (x, y)) for a in PEOPLE for b in PEOPLE if a != b
             for x in THINGS for y in THINGS if x != y]
    draw.shuffle(pairs)
    held_out = len(pairs) // 10
    (folder / "valid.txt").write_text(
        stories(draw, pairs[:held_out], VALIDATION))
    (folder / "train.txt").write_text(
        stories(draw, pairs[held_out:], TRAINING))


if __name__ == "__main__":
    main()
