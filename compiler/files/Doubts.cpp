// What the beginnings of files make doubtful: see Heads.h.

#include "compiler/files/Heads.h"

#include "compiler/recipe/Format.h"
#include "runtime/data/FileHead.h"
#include "runtime/data/Jsonl.h"
#include "runtime/data/TextEncoder.h"

#include <algorithm>
#include <optional>

namespace recipec::files {
namespace {

namespace data = reciperun::data;
namespace plan = reciperun::plan;

/// Samples without which nothing is said of their lengths.
constexpr int64_t leastSamples = 4;

/// A separator is one of the files only where one of the heads has it.
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

/// The tokens of a sample; none where it cannot be tokenized.
std::optional<int64_t> tokensOf(const data::Sample& sample,
                                const data::TextEncoder& encoder) {
  int64_t tokens = 0;
  for (const data::Piece& piece : sample.pieces) {
    auto ids = piece.isRecipes ? encoder.recipeText(piece.text)
                               : encoder.userText(piece.text);
    if (!ids)
      return std::nullopt;
    tokens += int64_t(ids->size());
  }
  return tokens;
}

Doubt lengthDoubt(plan::DataSource source, const plan::Data& settings,
                  const std::string& path, const data::Tokenizer& tokenizer) {
  source.path = path;
  auto reader = data::JsonlReader::open(source, settings.chat);
  if (!reader)
    return {};
  const data::TextEncoder encoder(settings, tokenizer);
  int64_t samples = 0, shortest = INT64_MAX, longest = 0;
  data::Sample sample;
  for (size_t bytes = 0; bytes < mostTokenized && reader->next(sample);) {
    for (const data::Piece& piece : sample.pieces)
      bytes += piece.text.size();
    auto tokens = tokensOf(sample, encoder);
    if (!tokens || *tokens <= settings.sequence)
      return {};
    ++samples;
    shortest = std::min(shortest, *tokens);
    longest = std::max(longest, *tokens);
  }
  if (samples < leastSamples)
    return {};
  int64_t enough = 1;
  while (enough < longest)
    enough *= 2;
  return {Doubt::Kind::length,
          "the first " + std::to_string(samples) + " samples of `" + path +
              "` have " + std::to_string(shortest) + " to " +
              std::to_string(longest) +
              " tokens, all more than `data.sequence` = " +
              std::to_string(settings.sequence) + ": their ends are cut off",
          "`data.sequence` = " + std::to_string(enough) + " takes them whole"};
}

} // namespace

Doubt doubtAbout(const plan::DataSource& source, const plan::Data& settings,
                 const std::vector<std::string>& files,
                 const data::Tokenizer* tokenizer) {
  if (source.kind == "text")
    return separatorDoubt(source, files);
  if (source.kind == "jsonl" && tokenizer)
    return lengthDoubt(source, settings, files[0], *tokenizer);
  return {};
}

} // namespace recipec::files
