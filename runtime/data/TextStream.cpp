// Text files as a stream of tokens: per file read, check UTF-8, cut into
// documents, tokenize, check the ids, append.

#include "runtime/data/TokenStream.h"

#include "runtime/data/SourceFiles.h"
#include "runtime/data/Utf8.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace reciperun::data {

namespace {

constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

class TextStream : public TokenStream {
public:
  TextStream(const plan::DataSource& source, const plan::Data& data)
      : source(source), data(data) {}

  Status add(const std::string& path, const Tokenizer& tokenizer);

  int64_t tokens() const override { return static_cast<int64_t>(ids.size()); }
  Status read(int64_t first, std::span<int32_t> out) const override {
    std::copy_n(ids.begin() + first, out.size(), out.begin());
    return {};
  }
  std::string name() const override { return "the text " + filesText(paths); }
  std::string origin(int64_t first, int64_t count) const override;
  std::vector<std::string> notes() const override;

private:
  Status addDocument(std::string_view text, const Tokenizer& tokenizer);

  plan::DataSource source;
  plan::Data data;
  std::vector<int32_t> ids;
  std::vector<std::string> paths;
  std::vector<int64_t> starts; // of each file in `ids`
  int64_t documents = 0;
  int lostBytes = 0; // for which the tokenizer has no token
};

Expected<std::string> readText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // A folder opens, but nothing can be read from it.
  if (!file.is_open() || (file.peek(), file.bad()))
    return Status::error("cannot read the text `" + path + "`");
  if (file.eof())
    return std::string();
  text << file.rdbuf();
  if (file.bad())
    return Status::error("cannot read the text `" + path + "` to its end");
  return std::move(text).str();
}

Status checkUtf8(const std::string& path, std::string_view text) {
  const size_t bad = firstIllFormed(text);
  if (bad == std::string_view::npos)
    return {};
  const auto line = 1 + std::count(text.begin(), text.begin() + bad, '\n');
  return Status::error("the text `" + path + "` is not UTF-8 at byte " +
                       std::to_string(bad) + ", in line " +
                       std::to_string(line));
}

Status TextStream::add(const std::string& path, const Tokenizer& tokenizer) {
  const Expected<std::string> content = readText(path);
  RECIPERUN_TRY(content);
  RECIPERUN_TRY(checkUtf8(path, *content));
  paths.push_back(path);
  starts.push_back(tokens());
  lostBytes = tokenizer.missingBytes();
  std::string_view rest = *content;
  if (rest.starts_with(byteOrderMark))
    rest.remove_prefix(byteOrderMark.size());
  const std::string& separator = source.separator;
  while (!rest.empty()) {
    const size_t end = separator.empty() ? rest.npos : rest.find(separator);
    RECIPERUN_TRY(addDocument(rest.substr(0, end), tokenizer));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + separator.size());
  }
  return {};
}

/// Nothing but white space is no document.
Status TextStream::addDocument(std::string_view text,
                               const Tokenizer& tokenizer) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return {};
  ++documents;
  const Expected<std::vector<int32_t>> some = tokenizer.encode(text);
  RECIPERUN_TRY(some);
  for (int32_t id : *some)
    if (data.vocab > 0 && id >= data.vocab)
      return Status::error("the text `" + paths.back() + "` has the token " +
                           std::to_string(id) + " (`" + tokenizer.bytesOf(id) +
                           "`), but the model's `vocab` is " +
                           std::to_string(data.vocab) +
                           "; use the model's own tokenizer or a larger "
                           "`vocab`");
  if (data.bosToken >= 0)
    ids.push_back(static_cast<int32_t>(data.bosToken));
  ids.insert(ids.end(), some->begin(), some->end());
  if (data.eosToken >= 0)
    ids.push_back(static_cast<int32_t>(data.eosToken));
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
  auto stream = std::make_unique<TextStream>(source, data);
  for (const std::string& file : *files)
    RECIPERUN_TRY(stream->add(file, tokenizer));
  if (stream->tokens() == 0)
    return Status::error(stream->name() + " is empty");
  return std::unique_ptr<TokenStream>(std::move(stream));
}

} // namespace reciperun::data
