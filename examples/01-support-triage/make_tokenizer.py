#!/usr/bin/env python3
"""Trains a byte-level BPE tokenizer on the texts of train.jsonl or train.txt.

1. Cut the texts into words: an optional space and letters, single digits, or
   other characters.
2. Start from the 256 bytes; merge the most frequent neighbours, of equals the
   smallest, until the vocabulary is full (Sennrich et al. 2016).
3. Write it in the layout of Hugging Face's tokenizer.json, as Llama 3 has it.

Usage: python3 make_tokenizer.py [FOLDER]  (default: this folder)
"""

import collections
import json
import pathlib
import re
import sys

VOCABULARY = 640
SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>"]
# What pre_tokenizer says below, for the ASCII that the texts consist of.
WORDS = re.compile(r"[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+|\s+")
PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+"


def byte_characters():
    """The printable character that stands for each byte, as in GPT-2."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in own]
    table = {byte: chr(byte) for byte in own}
    table.update({byte: chr(256 + i) for i, byte in enumerate(others)})
    return table


def texts_of(folder):
    """The values of each line of train.jsonl, else the lines of train.txt."""
    lines = folder / "train.jsonl"
    if not lines.exists():
        text = (folder / "train.txt").read_text(encoding="utf-8")
        return text.splitlines(keepends=True)
    return [text for line in lines.read_text(encoding="utf-8").splitlines()
            for text in json.loads(line).values()]


def count_words(texts, characters):
    counts = collections.Counter()
    for text in texts:
        assert text.isascii(), text
        for word in WORDS.findall(text):
            counts["".join(characters[b] for b in word.encode())] += 1
    return counts


def train(counts, merges_wanted):
    words = {word: list(word) for word in counts}
    merges = []
    while len(merges) < merges_wanted:
        pairs = collections.Counter()
        for word, parts in words.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += counts[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for word, parts in words.items():
            words[word] = merged(parts, best)
    return merges


def merged(parts, pair):
    result = []
    for part in parts:
        if result and (result[-1], part) == pair:
            # `a a a` merges from the left: the new part merges no further.
            result[-1] = result[-1] + part
        else:
            result.append(part)
    return result


def tokenizer(characters, merges):
    tokens = sorted(characters.values()) + [a + b for a, b in merges]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    first = len(vocabulary)
    added = [{"id": first + i, "content": content, "single_word": False,
              "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for i, content in enumerate(SPECIAL)]
    begin = SPECIAL[0]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False,
                  "trim_offsets": True, "use_regex": False}
    template = [{"SpecialToken": {"id": begin, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}}]
    pair = template + [{"SpecialToken": {"id": begin, "type_id": 1}},
                       {"Sequence": {"id": "B", "type_id": 1}}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": PATTERN},
             "behavior": "Isolated", "invert": False},
            byte_level]},
        "post_processor": {"type": "Sequence", "processors": [
            byte_level,
            {"type": "TemplateProcessing", "single": template, "pair": pair,
             "special_tokens": {begin: {"id": begin, "ids": [first],
                                        "tokens": [begin]}}}]},
        "decoder": {**byte_level, "add_prefix_space": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": True,
                  "vocab": vocabulary,
                  "merges": [list(merge) for merge in merges]},
    }


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                          else pathlib.Path(__file__).parent)
    characters = byte_characters()
    counts = count_words(texts_of(folder), characters)
    merges = train(counts, VOCABULARY - len(characters) - len(SPECIAL))
    text = json.dumps(tokenizer(characters, merges), ensure_ascii=False,
                      indent=1)
    (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
    print(f"{len(characters) + len(merges) + len(SPECIAL)} tokens")


if __name__ == "__main__":
    main()
