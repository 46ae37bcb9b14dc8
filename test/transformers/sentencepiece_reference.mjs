// Writes what npm's `@huggingface/tokenizers` makes of hard texts with
// tokenizers of SentencePiece's kind.
//
// For each of a few kinds: trains merges on the texts of TEXTS and writes
// OUT/NAME/tokenizer.json and OUT/NAME/lines.jsonl, a {"text", "ids", "decoded"}
// a line. test/runtime/data/ReferenceTest.cpp compares.
//
// Usage: node sentencepiece_reference.mjs TEXTS OUT
//   TEXTS is the lines.jsonl of another kind: test/runtime/data/Inputs/llama3/.
// Needs: npm install @huggingface/tokenizers (0.2.0).

import fs from "node:fs";
import path from "node:path";

import { Tokenizer } from "@huggingface/tokenizers";

const SPACE = "\u2581";
const BETWEEN = "\uE000"; // in no text
const MERGES = 1200;

/** Merges of the most frequent pairs, within words that begin with spaces. */
function train(texts) {
  const words = new Map();
  for (const text of texts)
    for (const [word] of text.replaceAll(" ", SPACE).matchAll(/▁*[^▁]+|▁+/gu))
      if (word.length <= 40) words.set(word, (words.get(word) ?? 0) + 1);
  const lists = [...words].map(([word, count]) => [[...word], count]);
  const merges = [];
  while (merges.length < MERGES) {
    const counts = new Map();
    for (const [symbols, count] of lists)
      for (let i = 0; i + 1 < symbols.length; ++i) {
        const pair = symbols[i] + BETWEEN + symbols[i + 1];
        counts.set(pair, (counts.get(pair) ?? 0) + count);
      }
    let best = null;
    for (const [pair, count] of counts)
      if (!best || count > best[1] || (count === best[1] && pair < best[0]))
        best = [pair, count];
    const [left, right] = best[0].split(BETWEEN);
    merges.push([left, right]);
    for (const [symbols] of lists)
      for (let i = 0; i + 1 < symbols.length; ++i)
        if (symbols[i] === left && symbols[i + 1] === right)
          symbols.splice(i, 2, left + right);
  }
  return merges;
}

/** `<unk>`, `<s>`, `</s>`, the bytes, ASCII and frequent letters, merges. */
function vocabulary(texts, merges) {
  const tokens = ["<unk>", "<s>", "</s>"];
  for (let byte = 0; byte < 256; ++byte)
    tokens.push(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const counts = new Map();
  for (const text of texts)
    for (const letter of text.replaceAll(" ", SPACE))
      counts.set(letter, (counts.get(letter) ?? 0) + 1);
  const merged = new Set(merges.flat().flatMap((part) => [...part]));
  // Control characters and rare letters have no token but their bytes'.
  for (const [letter, count] of [...counts].sort())
    if (merged.has(letter) || (count > 40 && letter > " ")) tokens.push(letter);
  tokens.push(...merges.map(([left, right]) => left + right));
  return Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id]));
}

const replace = { type: "Replace", pattern: { String: " " }, content: SPACE };
const fused = [
  { type: "Replace", pattern: { String: SPACE }, content: " " },
  { type: "ByteFallback" },
  { type: "Fuse" },
];
const strip = { type: "Strip", content: " ", start: 1, stop: 0 };

const KINDS = {
  llama2: {
    normalizer: {
      type: "Sequence",
      normalizers: [{ type: "Prepend", prepend: SPACE }, replace],
    },
    pre_tokenizer: null,
    decoder: { type: "Sequence", decoders: [...fused, strip] },
  },
  mistral: {
    normalizer: null,
    pre_tokenizer: {
      type: "Metaspace",
      replacement: SPACE,
      prepend_scheme: "first",
      split: false,
    },
    decoder: { type: "Sequence", decoders: [...fused, strip] },
  },
  gemma: {
    normalizer: replace,
    pre_tokenizer: {
      type: "Split",
      pattern: { String: " " },
      behavior: "MergedWithPrevious",
      invert: false,
    },
    decoder: { type: "Sequence", decoders: fused },
  },
};

const [source, out] = process.argv.slice(2);
const texts = fs
  .readFileSync(source, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line).text.replaceAll("<|eot_id|>", "</s>"));
const merges = train(texts);
const vocab = vocabulary(texts, merges);

for (const [name, parts] of Object.entries(KINDS)) {
  const special = (content) => ({
    id: vocab[content],
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  });
  const file = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: ["<unk>", "<s>", "</s>"].map(special),
    ...parts,
    post_processor: {
      type: "TemplateProcessing",
      single: [
        { SpecialToken: { id: "<s>", type_id: 0 } },
        { Sequence: { id: "A", type_id: 0 } },
      ],
      pair: [
        { SpecialToken: { id: "<s>", type_id: 0 } },
        { Sequence: { id: "A", type_id: 0 } },
        { Sequence: { id: "B", type_id: 1 } },
      ],
      special_tokens: { "<s>": { id: "<s>", ids: [1], tokens: ["<s>"] } },
    },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: "<unk>",
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab,
      merges,
    },
  };
  const tokenizer = new Tokenizer(file, {
    clean_up_tokenization_spaces: false,
  });
  const folder = path.join(out, name);
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "tokenizer.json"), JSON.stringify(file));
  const lines = texts.map((text) => {
    const ids = tokenizer.encode(text).ids;
    const decoded = tokenizer.decode(ids, { skip_special_tokens: true });
    return JSON.stringify({ text, ids, decoded });
  });
  fs.writeFileSync(path.join(folder, "lines.jsonl"), lines.join("\n") + "\n");
  console.log(name, Object.keys(vocab).length, lines.length);
}
