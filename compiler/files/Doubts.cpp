// Suspicious file contents, judged by the beginnings of the files; see Heads.h.

#include "compiler/files/Heads.h"

#include "compiler/recipe/Format.h"
#include "runtime/base/ParseJson.h"
#include "runtime/base/Shell.h"
#include "runtime/data/Conversion.h"
#include "runtime/data/FileHead.h"
#include "runtime/data/Jsonl.h"
#include "runtime/data/TextEncoder.h"
#include "runtime/data/TokenFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace recipec::files {
namespace {

namespace data = reciperun::data;
namespace plan = reciperun::plan;

/// The lengths of fewer samples than this are not judged.
constexpr int64_t leastSamples = 4;

/// Warns of a text file with one JSON object per line: the model would learn
/// the JSON syntax.
Doubt linesDoubt(const std::string& path) {
  auto head = data::readHead(path, mostBytes);
  const std::string line = head ? head->substr(0, head->find('\n')) : "";
  const auto object = reciperun::parseJson(line);
  if (!object || !object->is_object())
    return {};
  const std::string made =
      std::filesystem::path(path).replace_extension(".txt").string();
  const bool isText = object->contains("text") && (*object)["text"].is_string();
  return {Doubt::Kind::contents,
          "`" + path +
              "` has lines of JSON, and `text` learns them as they are, with "
              "names and quotation marks",
          isText ? "write the texts alone by `jq -j '.text + "
                   "\"<|endoftext|>\"' " +
                       reciperun::shellWord(path) + " > " +
                       reciperun::shellWord(made) +
                       "`, and name the new file with `separator = "
                       "\"<|endoftext|>\"`"
                 : "samples with an answer are `jsonl(\"" + path +
                       "\", prompt = \"FIELD\", completion = \"FIELD\")`"};
}

/// Warns if no file has the separator in its head.
Doubt separatorDoubt(const plan::DataSource& source,
                     const std::vector<std::string>& files) {
  if (source.separator.empty())
    return {};
  const size_t count = std::min(files.size(), mostFiles);
  for (size_t i = 0; i < count; ++i) {
    auto head = data::readHead(files[i], mostBytes / count);
    if (!head || head->empty() ||
        head->find(source.separator) != std::string::npos)
      return {};
  }
  const std::string written = recipe::formatValue({source.separator, {}}, {});
  const std::string where =
      count == 1 ? "the first MiB of `" + files[0] + "`"
                 : "the beginnings of " + std::to_string(count) + " files";
  return {Doubt::Kind::separator,
          "the separator " + written + " does not occur in " + where +
              ": a file is one document",
          "write the text that stands between the documents, or leave "
          "`separator` out where a file is one"};
}

/// The lengths of a sample, as the run counts them.
struct Length {
  int64_t tokens = 0;   // tokens that a sequence has to hold
  int64_t cuttable = 0; // prompt tokens that the run may cut off
};

/// Returns nullopt if the sample cannot be tokenized.
std::optional<Length> lengthOf(const data::Sample& sample,
                               const plan::Data& settings,
                               const data::TextEncoder& encoder) {
  int64_t tokens = settings.bosToken >= 0 ? 1 : 0;
  std::optional<int64_t> prompt;
  for (const data::Piece& piece : sample.pieces) {
    auto ids = piece.isRecipes ? encoder.recipeText(piece.text)
                               : encoder.userText(piece.text);
    if (!ids)
      return std::nullopt;
    if (piece.counts && !prompt)
      prompt = tokens;
    tokens += int64_t(ids->size());
  }
  tokens += settings.eosToken >= 0 ? 1 : 0;
  // Keep one token before the first one with loss. The last token of a sample
  // is not an input.
  return Length{tokens - 1, std::max<int64_t>(0, prompt.value_or(tokens) - 1)};
}

std::string spanOf(int64_t least, int64_t most) {
  return std::to_string(least) +
         (least == most ? "" : " to " + std::to_string(most));
}

Doubt lengthDoubt(plan::DataSource source, const plan::Data& settings,
                  const std::string& path, const data::Tokenizer& tokenizer) {
  source.path = path;
  auto reader = data::JsonlReader::open(source, settings.chat);
  if (!reader)
    return {};
  const data::TextEncoder encoder(settings, tokenizer);
  int64_t samples = 0, dropped = 0, shortest = INT64_MAX;
  Doubt doubt{Doubt::Kind::length, "", ""};
  data::Sample sample;
  for (size_t bytes = 0; bytes < mostTokenized && reader->next(sample);) {
    for (const data::Piece& piece : sample.pieces)
      bytes += piece.text.size();
    const auto length = lengthOf(sample, settings, encoder);
    if (!length || length->tokens <= settings.sequence)
      return {};
    ++samples;
    dropped += length->tokens - length->cuttable > settings.sequence ? 1 : 0;
    shortest = std::min(shortest, length->tokens);
    doubt.longest = std::max(doubt.longest, length->tokens);
  }
  if (samples < leastSamples)
    return {};
  doubt.isFatal = dropped == samples;
  const std::string fate =
      doubt.isFatal ? "no completion fits, and the run has nothing to learn "
                      "from"
      : dropped > 0 ? std::to_string(dropped) +
                          " are dropped, as their completions are longer, too, "
                          "and of the others the prompts are cut on their left"
                    : "their prompts are cut on the left";
  doubt.what = "the first " + std::to_string(samples) + " samples of `" + path +
               "` have " + spanOf(shortest, doubt.longest) +
               " tokens, all more than `data.sequence` = " +
               std::to_string(settings.sequence) + ": " + fate;
  return doubt;
}

/// Warns of token ids whose zero bytes show that they have another integer
/// type.
Doubt idsDoubt(const plan::DataSource& source, const plan::Data& settings,
               const std::vector<std::string>& files) {
  auto file = data::TokenFile::open(files[0], source.type, settings.vocab);
  if (!file)
    return {};
  const int64_t bytes = file->bytesByZeros(), read = file->bytesOfId();
  if (bytes == read)
    return {};
  const std::string which =
      bytes == 2 * read ? "every second id of `" + files[0] + "` is 0"
                        : "of `" + files[0] + "` three ids of four are 0";
  return {Doubt::Kind::contents,
          which + ", as where ids of " + std::to_string(bytes) +
              " bytes are read as ids of " + std::to_string(read),
          file->helpWithBytes(bytes)};
}

} // namespace

Doubt doubtAbout(const plan::DataSource& source, const plan::Data& settings,
                 const std::vector<std::string>& files,
                 const data::Tokenizer* tokenizer) {
  if (source.kind == "text") {
    const Doubt lines = linesDoubt(files[0]);
    return lines.kind == Doubt::Kind::none ? separatorDoubt(source, files)
                                           : lines;
  }
  if (source.kind == "jsonl" && tokenizer)
    return lengthDoubt(source, settings, files[0], *tokenizer);
  if (source.kind == "token_file")
    return idsDoubt(source, settings, files);
  return {};
}

} // namespace recipec::files
