// Text files as a stream of tokens. Per file: read, check UTF-8, split into
// documents, tokenize, check the ids, append.

#include "runtime/data/TokenStream.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/StopSignal.h"
#include "runtime/data/Encoding.h"
#include "runtime/data/SourceFiles.h"
#include "runtime/data/TextEncoder.h"
#include "runtime/data/TokenStore.h"
#include "runtime/data/Utf8.h"

#include <algorithm>
#include <span>
#include <utility>

namespace reciperun::data {

namespace {

class TextStream : public TokenStream {
public:
  /// `tokenizer` must be valid during calls of `add`.
  TextStream(const plan::DataSource& source, const plan::Data& data,
             const Tokenizer& tokenizer)
      : source(source), data(data), tokenizer(tokenizer),
        encoder(data, tokenizer), lostBytes(tokenizer.missingBytes()) {}

  Status add(const std::string& path);

  int64_t tokens() const override { return ids.size(); }
  Status read(int64_t first, std::span<int32_t> out) const override {
    ids.read(first, out);
    return {};
  }
  std::string name() const override { return "the text " + filesText(paths); }
  std::string origin(int64_t first, int64_t count) const override;
  std::vector<std::string> notes() const override;
  int64_t bytes() const override { return ids.bytes(); }

private:
  Status addDocument(std::string_view text);
  Status checkIds(std::span<const int32_t> some) const;

  plan::DataSource source;
  plan::Data data;
  const Tokenizer& tokenizer;
  TextEncoder encoder;
  TokenStore ids;
  std::vector<std::string> paths;
  std::vector<int64_t> starts; // of each file in `ids`
  int64_t documents = 0;
  int lostBytes; // bytes for which the tokenizer has no token
};

/// Reads the file in pieces, so that the run can be stopped in between.
Expected<std::string> readText(const std::string& path) {
  constexpr size_t pieceBytes = 16 << 20;
  const Expected<InputFile> file = InputFile::openNearby(path);
  RECIPERUN_TRY(file);
  std::string text(size_t(file->size()), '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  for (size_t at = 0; at < bytes.size(); at += pieceBytes) {
    RECIPERUN_TRY(checkStopSignal());
    RECIPERUN_TRY(
        file->read(int64_t(at),
                   bytes.subspan(at, std::min(pieceBytes, bytes.size() - at))));
  }
  return text;
}

int64_t lineOf(std::string_view text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + int64_t(at), '\n');
}

Status checkUtf8(const std::string& path, std::string_view text) {
  const size_t bad = firstIllFormed(text);
  if (bad == std::string_view::npos)
    return {};
  return Status::error("the text `" + path + "` is not UTF-8 at byte " +
                       std::to_string(bad) + " (" + hexadecimal(text[bad]) +
                       "), in line " + std::to_string(lineOf(text, bad)) +
                       "; " + conversionToUtf8(path, text));
}

Status TextStream::add(const std::string& path) {
  const Expected<std::string> content = readText(path);
  RECIPERUN_TRY(content);
  RECIPERUN_TRY(checkUtf8(path, *content));
  paths.push_back(path);
  starts.push_back(tokens());
  std::string_view rest = *content;
  if (rest.starts_with(byteOrderMark))
    rest.remove_prefix(byteOrderMark.size());
  const std::string& separator = source.separator;
  while (!rest.empty()) {
    const size_t end = separator.empty() ? rest.npos : rest.find(separator);
    if (Status status = addDocument(rest.substr(0, end)); !status.isOk())
      return status.withContext(
          "the document that begins in line " +
          std::to_string(lineOf(*content, content->size() - rest.size())) +
          " of `" + path + "`");
    rest.remove_prefix(end == rest.npos ? rest.size() : end + separator.size());
  }
  return {};
}

/// Skips documents of white space.
Status TextStream::addDocument(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return {};
  ++documents;
  const int32_t bos = int32_t(data.bosToken), eos = int32_t(data.eosToken);
  if (bos >= 0)
    ids.append({&bos, 1});
  RECIPERUN_TRY(encoder.userText(text, [&](std::span<const int32_t> some) {
    RECIPERUN_TRY(checkIds(some));
    ids.append(some);
    return Status::ok();
  }));
  if (eos >= 0)
    ids.append({&eos, 1});
  return {};
}

Status TextStream::checkIds(std::span<const int32_t> some) const {
  for (int32_t id : some)
    if (data.vocab > 0 && id >= data.vocab)
      return Status::error("it has " + tooLargeId(data, tokenizer, id));
  return {};
}

std::string TextStream::origin(int64_t first, int64_t count) const {
  const auto fileOf = [&](int64_t token) {
    return std::upper_bound(starts.begin(), starts.end(), token) -
           starts.begin() - 1;
  };
  const auto from = fileOf(first), to = fileOf(first + count - 1);
  std::string text = "`" + paths[size_t(from)] + "`";
  return from == to ? text : text + " to `" + paths[size_t(to)] + "`";
}

std::vector<std::string> TextStream::notes() const {
  std::vector<std::string> list = {name() + ": " + std::to_string(documents) +
                                   " documents of " + std::to_string(tokens()) +
                                   " tokens in all"};
  if (lostBytes > 0)
    list.push_back("the tokenizer has no token for " +
                   std::to_string(lostBytes) +
                   " of the bytes of UTF-8; texts lose them");
  return list;
}

} // namespace

Expected<std::unique_ptr<TokenStream>> openText(const plan::DataSource& source,
                                                const plan::Data& data,
                                                const Tokenizer& tokenizer) {
  const Expected<std::vector<std::string>> files = filesOf(source.paths);
  RECIPERUN_TRY(files);
  auto stream = std::make_unique<TextStream>(source, data, tokenizer);
  for (const std::string& file : *files)
    RECIPERUN_TRY(stream->add(file));
  if (stream->tokens() == 0)
    return Status::error(stream->name() +
                         " is empty; write text into it, in UTF-8");
  return std::unique_ptr<TokenStream>(std::move(stream));
}

} // namespace reciperun::data
