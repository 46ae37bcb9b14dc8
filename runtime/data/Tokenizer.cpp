// encode:
// 1. Split the text at the added tokens that match the original text.
// 2. Normalize the text in between, and split it at the other added tokens.
// 3. Split the rest into words.
// 4. Merge the bytes of each word.
// 5. Add the post-processor's tokens before and after the ids of the text.

#include "runtime/data/Tokenizer.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/StopSignal.h"
#include "runtime/data/ByteLevel.h"
#include "runtime/data/TokenizerJson.h"
#include "runtime/data/Utf8.h"

#include <algorithm>
#include <cstdio>

namespace reciperun::data {

Expected<Tokenizer> Tokenizer::read(const std::string& path) {
  Expected<std::string> text = readTextFile(path);
  RECIPERUN_TRY(text);
  return parse(*std::move(text), path);
}

/// Normalizes the spelling of tokens that are matched in normalized text.
static Status normalizeContents(TokenizerParts& parts) {
  for (AddedToken& token : parts.added) {
    if (!token.normalized)
      continue;
    Expected<std::string> content = normalize(parts.normalizer, token.content);
    RECIPERUN_TRY(content);
    token.content = std::move(*content);
  }
  return {};
}

Expected<Tokenizer> Tokenizer::parse(std::string text,
                                     const std::string& name) {
  const auto within = [&](const Status& status) {
    return status.withContext("`" + name + "`");
  };
  Expected<TokenizerParts> parts = readTokenizerJson(text);
  if (!parts)
    return within(parts.status());
  std::vector<AddedToken> added = parts->added;
  if (Status status = normalizeContents(*parts); !status.isOk())
    return within(status);
  Expected<BytePairs> pairs = BytePairs::build(parts->rules);
  if (!pairs)
    return within(pairs.status());

  std::vector<AddedToken> raw, normalized;
  for (const AddedToken& token : parts->added)
    (token.normalized ? normalized : raw).push_back(token);
  Expected<AddedTokens> rawTokens = AddedTokens::build(std::move(raw));
  RECIPERUN_TRY(rawTokens);
  Expected<AddedTokens> normalizedTokens =
      AddedTokens::build(std::move(normalized));
  RECIPERUN_TRY(normalizedTokens);
  Tokenizer made(std::move(*parts), std::move(*pairs), std::move(*rawTokens),
                 std::move(*normalizedTokens), std::move(text));
  made.added = std::move(added);
  return made;
}

Tokenizer::Tokenizer(TokenizerParts parts, BytePairs pairs, AddedTokens raw,
                     AddedTokens normalized, std::string text)
    : normalizer(std::move(parts.normalizer)),
      preTokenizer(std::move(parts.steps), parts.addPrefixSpace,
                   parts.prefixAfter, parts.scheme),
      pairs(std::move(pairs)), rawTokens(std::move(raw)),
      normalizedTokens(std::move(normalized)), before(parts.before),
      after(parts.after), leading(parts.leading), text(std::move(text)) {
  collectTokens(parts);
  ids = std::move(parts.rules.vocabulary);
  for (const AddedToken& token : parts.added)
    ids.emplace(token.content, token.id);
}

/// The bytes of a token of SentencePiece: `<0x0A>` is a byte, a metaspace is a
/// space.
static std::string sentencePieceBytes(const std::string& spelling) {
  unsigned byte = 0;
  int end = 0;
  if (spelling.size() == 6 &&
      std::sscanf(spelling.c_str(), "<0x%2X>%n", &byte, &end) == 1 && end == 6)
    return std::string(1, static_cast<char>(byte));
  std::string bytes;
  std::string_view rest = spelling;
  while (!rest.empty()) {
    const bool isSpace = rest.starts_with(metaspace);
    bytes += isSpace ? ' ' : rest.front();
    rest.remove_prefix(isSpace ? metaspace.size() : 1);
  }
  return bytes;
}

void Tokenizer::collectTokens(const TokenizerParts& parts) {
  const bool isOfCharacters = parts.rules.isOfCharacters;
  // A token outside the byte-level alphabet decodes to its own spelling.
  const auto put = [&](int32_t id, Token token) {
    if (static_cast<size_t>(id) >= tokens.size())
      tokens.resize(id + 1);
    tokens[id] = std::move(token);
  };
  const auto bytes = [&](const std::string& spelling) {
    return isOfCharacters ? sentencePieceBytes(spelling)
                          : byteLevelBytes(spelling).value_or(spelling);
  };
  for (const auto& [spelling, id] : parts.rules.vocabulary)
    put(id, {bytes(spelling), false, false});
  for (const AddedToken& token : parts.added)
    put(token.id, {bytes(token.content), true, token.special});
}

/// The state of an encoding: the caller's arguments, and the ids not yet passed
/// to the sink.
struct Tokenizer::Encoding {
  const std::vector<bool>& hidden;
  const IdSink& sink;
  std::vector<int32_t> ids = {};

  Status giveAbove(size_t count) {
    if (ids.size() <= count)
      return {};
    RECIPERUN_TRY(sink(ids));
    ids.clear();
    return {};
  }
};

Expected<std::vector<int32_t>> Tokenizer::encode(std::string_view given,
                                                 bool addSpecial) const {
  std::vector<int32_t> result;
  if (addSpecial)
    result = before;
  RECIPERUN_TRY(encode(given, {}, [&](std::span<const int32_t> some) {
    result.insert(result.end(), some.begin(), some.end());
    return Status::ok();
  }));
  if (addSpecial)
    result.insert(result.end(), after.begin(), after.end());
  return result;
}

Status Tokenizer::encode(std::string_view given,
                         const std::vector<bool>& hidden, const IdSink& sink,
                         bool continues) const {
  std::string replaced;
  if (firstIllFormed(given) != std::string_view::npos) {
    replaced = replaceIllFormed(given);
    given = replaced;
  }
  Encoding encoding{hidden, sink};
  std::vector<TextPart> parts;
  RECIPERUN_TRY(rawTokens.split(given, parts, hidden));
  for (const TextPart& part : parts) {
    if (part.id >= 0)
      encoding.ids.push_back(part.id);
    else
      RECIPERUN_TRY(encodeNormalized(
          part.text, !continues && part.text.data() == given.data(), encoding));
  }
  return encoding.giveAbove(0);
}

Status Tokenizer::encodeNormalized(std::string_view piece, bool isFirst,
                                   Encoding& encoding) const {
  std::string normal;
  if (!normalizer.empty()) {
    Expected<std::string> made = normalize(normalizer, piece);
    RECIPERUN_TRY(made);
    piece = normal = *std::move(made);
  }
  std::vector<TextPart> parts;
  RECIPERUN_TRY(normalizedTokens.split(piece, parts, encoding.hidden));
  for (const TextPart& part : parts) {
    if (part.id >= 0)
      encoding.ids.push_back(part.id);
    else
      RECIPERUN_TRY(encodePlain(
          part.text, isFirst && part.text.data() == piece.data(), encoding));
  }
  return {};
}

Status Tokenizer::encodePlain(std::string_view piece, bool isFirst,
                              Encoding& encoding) const {
  constexpr size_t kept = 1 << 14; // ids
  return preTokenizer.run(piece, isFirst, [&](std::string_view word) {
    const size_t first = encoding.ids.size();
    pairs.encode(word, encoding.ids);
    if (!encoding.hidden.empty())
      spellHidden(first, encoding.hidden, encoding.ids);
    RECIPERUN_TRY(checkStopSignal());
    return encoding.giveAbove(kept);
  });
}

/// Words may merge to a hidden token of the vocabulary; replaces it by the
/// tokens of its bytes.
void Tokenizer::spellHidden(size_t first, const std::vector<bool>& hidden,
                            std::vector<int32_t>& ids) const {
  const auto isHidden = [&](int32_t id) { return hidden[size_t(id)]; };
  if (std::none_of(ids.begin() + int64_t(first), ids.end(), isHidden))
    return;
  const std::vector<int32_t> word(ids.begin() + int64_t(first), ids.end());
  ids.resize(first);
  for (int32_t id : word) {
    if (isHidden(id))
      pairs.spell(bytesOf(id), ids);
    else
      ids.push_back(id);
  }
}

std::string Tokenizer::decode(std::span<const int32_t> list,
                              bool skipSpecial) const {
  std::string bytes;
  bool isFirst = true;
  for (int32_t id : list) {
    if (skipSpecial && isSpecial(id))
      continue;
    bytes += isFirst ? firstBytesOf(id) : bytesOf(id);
    isFirst = false;
  }
  return replaceIllFormed(bytes);
}

int32_t Tokenizer::idOf(std::string_view token) const {
  const auto found = ids.find(token);
  return found == ids.end() ? -1 : found->second;
}

const std::string& Tokenizer::bytesOf(int32_t id) const {
  static const std::string none;
  return id < 0 || id >= size() ? none : tokens[id].bytes;
}

std::string Tokenizer::firstBytesOf(int32_t id) const {
  std::string bytes = bytesOf(id);
  if (leading == LeadingSpace::firstToken)
    std::erase(bytes, ' ');
  if (leading == LeadingSpace::one && bytes.starts_with(' '))
    bytes.erase(0, 1);
  return bytes;
}

bool Tokenizer::isSpecial(int32_t id) const {
  return id >= 0 && id < size() && tokens[id].special;
}

bool Tokenizer::isAdded(int32_t id) const {
  return id >= 0 && id < size() && tokens[id].added;
}

std::string StreamDecoder::next(int32_t id) {
  if (skipSpecial && tokenizer.isSpecial(id))
    return {};
  pending += isFirst ? tokenizer.firstBytesOf(id) : tokenizer.bytesOf(id);
  isFirst = false;
  const size_t whole = pending.size() - cutOffBytes(pending);
  std::string text =
      replaceIllFormed(std::string_view(pending).substr(0, whole));
  pending.erase(0, whole);
  return text;
}

std::string StreamDecoder::finish() {
  std::string text = replaceIllFormed(pending);
  pending.clear();
  return text;
}

} // namespace reciperun::data
