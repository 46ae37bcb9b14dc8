// One function per kind of source. The readers are those of the runtime, so the
// check finds what the run would find.

#include "compiler/files/Heads.h"

#include "runtime/data/Conversion.h"
#include "runtime/data/Encoding.h"
#include "runtime/data/FileHead.h"
#include "runtime/data/Jsonl.h"
#include "runtime/data/TextEncoder.h"
#include "runtime/data/TokenFile.h"
#include "runtime/data/Utf8.h"

#include <algorithm>
#include <optional>

namespace recipec::files {
namespace {

namespace data = reciperun::data;
namespace plan = reciperun::plan;

/// Tokenizes text up to a limit and looks for ids above the model's vocabulary.
/// Does nothing if the tokenizer has no such ids.
class IdCheck {
public:
  IdCheck(const data::Tokenizer* tokenizer, const plan::Data& settings)
      : tokenizer(tokenizer), vocab(settings.vocab) {
    if (tokenizer && tokenizer->size() > vocab)
      encoder.emplace(settings, *tokenizer);
  }

  /// Checks the text of `place`. `isRecipes` says that the text is from the
  /// recipe and not from the data.
  Fault check(std::string_view text, const std::string& place,
              bool isRecipes = false) {
    if (!encoder || tokenized >= mostTokenized)
      return {};
    text = text.substr(0, mostTokenized - tokenized);
    text.remove_suffix(data::cutOffBytes(text));
    tokenized += text.size();
    auto ids = isRecipes ? encoder->recipeText(text) : encoder->userText(text);
    if (!ids)
      return {ids.message(), ""};
    for (int32_t id : *ids)
      if (id >= vocab)
        return {place + " has the token " + std::to_string(id) + " (`" +
                    tokenizer->bytesOf(id) + "`)",
                "", /*isAboveVocab=*/true};
    return {};
  }

private:
  const data::Tokenizer* tokenizer;
  std::optional<data::TextEncoder> encoder;
  int64_t vocab;
  size_t tokenized = 0;
};

Fault lookIntoTokens(const plan::DataSource& source, const plan::Data& settings,
                     const std::vector<std::string>& files) {
  size_t count = std::min(files.size(), mostFiles);
  for (size_t i = 0; i < count; ++i) {
    auto file = data::TokenFile::open(files[i], source.type, settings.vocab);
    if (!file)
      return {file.message(), ""};
    reciperun::Status status =
        file->checkHead(int64_t(mostBytes / sizeof(int32_t) / count));
    if (!status.isOk())
      return {status.message(), ""};
  }
  return {};
}

/// Why the head of a file is not text; empty if it is. The head ends at a
/// character boundary.
std::string whyNoText(const std::string& path, std::string_view head) {
  std::string_view other = data::otherFormat(head);
  if (!other.empty())
    return "`" + path + "` is a file of " + std::string(other) + ", not text";
  size_t bad = data::firstIllFormed(head);
  if (bad == head.npos)
    return {};
  return "the text `" + path + "` is not UTF-8 at byte " + std::to_string(bad) +
         " (" + data::hexadecimal(head[bad]) + "), in line " +
         std::to_string(
             1 + std::count(head.begin(), head.begin() + long(bad), '\n'));
}

/// How to convert a file to UTF-8 if its head has another encoding.
std::string textHelp(const std::string& path, std::string_view head) {
  if (!data::otherFormat(head).empty() ||
      data::firstIllFormed(head) == head.npos)
    return {};
  return data::conversionToUtf8(path, head);
}

Fault lookIntoText(const std::vector<std::string>& files, IdCheck ids) {
  size_t count = std::min(files.size(), mostFiles);
  for (size_t i = 0; i < count; ++i) {
    auto head = data::readHead(files[i], mostBytes / count);
    if (!head)
      return {head.message(), ""};
    std::string_view text = *head;
    text.remove_suffix(data::cutOffBytes(text));
    Fault fault = {whyNoText(files[i], text), textHelp(files[i], text)};
    if (fault.what.empty())
      fault = ids.check(text, "the text `" + files[i] + "`");
    if (!fault.what.empty())
      return fault;
  }
  return {};
}

Fault lookIntoLines(plan::DataSource source, const plan::Data& settings,
                    const std::string& path, IdCheck ids) {
  auto head = data::readHead(path, 16);
  if (!head)
    return {head.message(), ""};
  std::string_view other = data::otherFormat(*head);
  if (!other.empty())
    return {"`" + path + "` is a file of " + std::string(other) +
                ", not lines of JSON",
            data::linesOfFormat(path, other)};
  source.path = path;
  auto reader = data::JsonlReader::open(source, settings.chat);
  if (!reader)
    return {reader.message(), ""};
  data::Sample sample;
  for (size_t bytes = 0; bytes < mostBytes && reader->next(sample);)
    for (const data::Piece& piece : sample.pieces) {
      bytes += piece.text.size();
      Fault fault = ids.check(piece.text,
                              "line " + std::to_string(sample.line) + " of `" +
                                  path + "`",
                              piece.isRecipes);
      if (!fault.what.empty())
        return fault;
    }
  auto failure = reader->failure();
  return failure
             ? Fault{failure->what, failure->help, false, failure->missingField}
             : Fault();
}

} // namespace

Fault lookInto(const plan::DataSource& source, const plan::Data& settings,
               const std::vector<std::string>& files,
               const data::Tokenizer* tokenizer) {
  IdCheck ids(tokenizer, settings);
  if (source.kind == "token_file")
    return lookIntoTokens(source, settings, files);
  if (source.kind == "text")
    return lookIntoText(files, ids);
  if (source.kind == "jsonl")
    return lookIntoLines(source, settings, files[0], ids);
  return {};
}

} // namespace recipec::files
