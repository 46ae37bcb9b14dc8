// The concatenation of token files.

#include "runtime/data/TokenStream.h"

#include "runtime/data/SourceFiles.h"
#include "runtime/data/TokenFile.h"

#include <algorithm>
#include <utility>

namespace reciperun::data {

namespace {

/// The number of ids checked when a stream is opened, over all its files. A
/// wrong vocabulary shows before the first step; the other ids are checked when
/// they are read.
constexpr int64_t sampledIds = 1 << 20;

class TokenFileStream : public TokenStream {
public:
  explicit TokenFileStream(std::vector<TokenFile> opened)
      : files(std::move(opened)) {
    for (const TokenFile& file : files)
      starts.push_back(starts.back() + file.tokens());
  }

  int64_t tokens() const override { return starts.back(); }
  Status read(int64_t first, std::span<int32_t> ids) const override;
  std::string name() const override;
  std::string origin(int64_t first, int64_t count) const override;

private:
  size_t fileOf(int64_t token) const {
    return size_t(std::upper_bound(starts.begin(), starts.end(), token) -
                  starts.begin() - 1);
  }

  std::vector<TokenFile> files;
  std::vector<int64_t> starts{0}; // start of each file, and the end
};

Status TokenFileStream::read(int64_t first, std::span<int32_t> ids) const {
  for (size_t i = fileOf(first); !ids.empty(); ++i) {
    const int64_t begin = first - starts[i];
    const auto count =
        std::min<int64_t>(int64_t(ids.size()), files[i].tokens() - begin);
    RECIPERUN_TRY(files[i].read(begin, ids.first(size_t(count))));
    ids = ids.subspan(size_t(count));
    first += count;
  }
  return {};
}

std::string TokenFileStream::name() const {
  std::vector<std::string> paths;
  for (const TokenFile& file : files)
    paths.push_back(file.path());
  return "the token file " + filesText(paths);
}

std::string TokenFileStream::origin(int64_t first, int64_t count) const {
  const auto place = [&](int64_t token) {
    const size_t file = fileOf(token);
    return std::to_string(token - starts[file]) + " of `" + files[file].path() +
           "`";
  };
  return "tokens " + place(first) + " to " + place(first + count - 1);
}

} // namespace

Expected<std::unique_ptr<TokenStream>>
openTokenFiles(const plan::DataSource& source, const plan::Data& data) {
  // Megatron's index files are next to the data.
  const Expected<std::vector<std::string>> paths =
      filesOf(source.paths, ".idx");
  RECIPERUN_TRY(paths);
  std::vector<TokenFile> files;
  const int64_t each = sampledIds / int64_t(paths->size());
  for (const std::string& path : *paths) {
    Expected<TokenFile> file = TokenFile::open(path, source.type, data.vocab);
    RECIPERUN_TRY(file);
    RECIPERUN_TRY(file->checkHead(each));
    files.push_back(std::move(*file));
  }
  return std::unique_ptr<TokenStream>(
      std::make_unique<TokenFileStream>(std::move(files)));
}

} // namespace reciperun::data
