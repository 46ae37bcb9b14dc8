#!/usr/bin/env python3
"""Writes what Hugging Face's `tokenizers` makes of hard texts.

For each of a few kinds of byte-level BPE tokenizer: trains it on the files of a
corpus folder and writes OUT/NAME/tokenizer.json and OUT/NAME/lines.jsonl, a
{"text", "ids", "decoded"} a line. test/runtime/data/ReferenceTest.cpp compares.

Usage: python3 tokenizer_reference.py CORPUS OUT
Needs: pip install tokenizers. Everything else is the standard library's.
"""

import json
import pathlib
import random
import sys

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, processors, trainers)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
          r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
SUFFIXES = {".md", ".h", ".cpp", ".py", ".txt", ".recipe", ".def", ".g4"}

# Texts of many scripts, so that merges run inside multi-byte characters too.
SCRIPTS = [
    "Überraschung: naïve façade, cœur, señor, Łódź, Žižek, Ærø, İstanbul.",
    "e\u0301te\u0301 a\u030angstro\u0308m n\u0303 \u1e69 s\u0323\u0307",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ΌΧΙ ἀρχή",
    "敏捷的棕色狐狸跳过了懒狗。我们今天去北京，明天回来！",
    "いろはにほへと ちりぬるを カタカナ ﾊﾝｶｸ 漢字かな交じり文。",
    "다람쥐 헌 쳇바퀴에 타고파. 한국어 \u1112\u1161\u11ab",
    "נקודה عربي مُشَكَّل ١٢٣٤ ۴۵۶ कर्म हिन्दी १२३ ไทยไม่มีวรรค தமிழ்",
    "👍👍🏽 👩‍👩‍👧‍👦 🇫🇷🇯🇵 ❤️ ☃ 🧑🏿‍🚀 1️⃣ ©®™ ∑∫≠ ½ Ⅷ ² ₃ ①",
]
HARD = [
    "", " ", "  ", "   a", "a   ", "a  b   c    d", "\t\tx\t", "\n\n\n",
    " \n \n  x", "x \r\n\r\n y\r", "   \n", "a\n\n  b\n", "\u00a0\u00a0x\u00a0",
    "\u3000全角\u3000 ", "a\u0085b", "a\u2028b\u2029c", "\u180ea \u180e",
    "\u200b\u200da\ufeff", "\ufeffstart", "\x00\x01\x02a\x7f\x1f", "a\x0bb\x0cc",
    "I'm you're he'll we've they'd it's can't", "I'M YOU'RE HE'LL WE'VE IT'S",
    "'s 't's ''s 'sx 'S'T", "don’t it’s", "'\u017f \u212a \ufb01 ß ẞ",
    "0 1 12 123 1234 12345 123456 1234567", "3.14159 1,000,000 1e-5 0xFF",
    "x1y22z333", "-1--2---3", "...!!!???", "a.b,c;d:e", "((a)[b]{c})",
    "if (x <= 10 && y != 'a') { return foo->bar[3]; } // done",
    "def f(x):\n    return {k: v for k, v in x.items() if k}\n",
    "\tfor (int i = 0; i < n; ++i)\n\t\tsum += a[i] * b[i];\n",
    "https://example.com/a/b?c=d&e=%20#f", "C:\\Users\\x\\y.txt", "a@b.cd",
    "__init__ __ _a_ camelCase snake_case SCREAMING_CASE", "$100 €50 £3 ¥9",
    "<|begin_of_text|>", "a<|eot_id|>b", " <|eot_id|> ", "<|eot_id|><|eot_id|>",
    "<|eot_id|", "<|eot_id|>>", "<<|end_of_text|>|>", "\n<|end_of_text|>\n",
    "<|endoftext|>x", "x <mask> y", "x<mask>y", "  <mask>  <mask>  ", "<mask>",
    "a  <pad>  b", "<pad>\n\nb", "word wordy sword word.", "(word)", "wordé",
    "word", "wordword", "caf\u00e9tag cafe\u0301tag", "aaaaaaaaaaaaaaaaaaaaaaa",
    "abababababababababab", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    "the" * 40, " " * 100 + "x", "\n" * 50, "x" * 300, "é" * 50, "中" * 70,
]


def corpus_lines(folder):
    lines = []
    for path in sorted(pathlib.Path(folder).rglob("*")):
        hidden = any(part.startswith((".", "build")) for part in path.parts)
        if path.is_file() and path.suffix in SUFFIXES and not hidden:
            text = path.read_text(encoding="utf-8", errors="ignore")
            lines += text.splitlines(keepends=True)
    return lines


def test_lines(corpus, count):
    """The hard texts, lines of the corpus, and random mixtures of both."""
    dice = random.Random(2024)
    lines = list(HARD) + list(SCRIPTS)
    lines += dice.sample(corpus, min(len(corpus), count // 3))
    fragments = [part for line in HARD + SCRIPTS for part in line.split(" ")]
    fragments += [" ", "  ", "\n", "\t", " \n", "'s", "'LL", "<|eot_id|>",
                  "<mask>", "word", "7", "2024", "\u00a0", "\u0301", "👍🏽"]
    while len(lines) < count:
        parts = dice.choices(fragments, k=dice.randint(2, 9))
        lines.append(dice.choice(["", " "]).join(parts))
    return lines


def byte_level_split(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def trained(tokenizer, corpus, special, alphabet):
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2500, special_tokens=special, show_progress=False,
        initial_alphabet=alphabet)
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def llama3(corpus):
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = byte_level_split(LLAMA3)
    special = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
    trained(tokenizer, corpus, special, pre_tokenizers.ByteLevel.alphabet())
    begin = special[0]
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single=f"{begin} $A", pair=f"{begin} $A {begin}:1 $B:1",
            special_tokens=[(begin, tokenizer.token_to_id(begin))])])
    return tokenizer


def gpt2(corpus):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained(tokenizer, corpus, ["<|endoftext|>"],
            pre_tokenizers.ByteLevel.alphabet())
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.add_tokens([
        AddedToken("<pad>", rstrip=True, normalized=False),
        AddedToken("word", single_word=True),
        AddedToken("<|eot", normalized=False),
        AddedToken("<|eot_id|>", normalized=True)])
    return tokenizer


def qwen(corpus):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = byte_level_split(QWEN)
    trained(tokenizer, corpus, ["<|endoftext|>", "<|eot_id|>"],
            pre_tokenizers.ByteLevel.alphabet())
    tokenizer.add_tokens([AddedToken("cafe\u0301tag", normalized=True)])
    return tokenizer


def bare(corpus):
    """Without the whole alphabet: bytes that it has not seen are dropped."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    ascii_only = [line for line in corpus if line.isascii()]
    return trained(tokenizer, ascii_only, ["<|endoftext|>"], [])


def main():
    corpus_folder, out = sys.argv[1:3]
    corpus = corpus_lines(corpus_folder) + [s + "\n" for s in SCRIPTS * 20]
    lines = test_lines(corpus, 1200)
    for kind in (llama3, gpt2, qwen, bare):
        folder = pathlib.Path(out) / kind.__name__
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer = kind(corpus)
        tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
        with open(folder / "lines.jsonl", "w", encoding="utf-8") as file:
            for text in lines:
                ids = tokenizer.encode(text).ids
                decoded = tokenizer.decode(ids, skip_special_tokens=True)
                entry = {"text": text, "ids": ids, "decoded": decoded}
                file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        print(kind.__name__, tokenizer.get_vocab_size(), len(lines))


if __name__ == "__main__":
    main()
