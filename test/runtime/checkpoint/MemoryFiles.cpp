#include "MemoryFiles.h"

#include <algorithm>
#include <cstring>

namespace reciperun::checkpoint {
namespace {

using SharedContents = std::shared_ptr<StoreContents>;

/// Counts an operation; fails once the process is killed.
Status step(StoreContents& contents) {
  if (contents.operationsLeft == 0)
    return Status::error("killed", StatusCode::unavailable);
  --contents.operationsLeft;
  return Status::ok();
}

class MemoryInput : public RemoteInput {
public:
  MemoryInput(SharedContents contents, std::string text)
      : contents(std::move(contents)), text(std::move(text)) {}
  int64_t size() const override { return int64_t(text.size()); }
  Status read(std::span<const FileRange> ranges) const override {
    RECIPERUN_TRY(step(*contents));
    ++contents->reads;
    for (const FileRange& range : ranges) {
      std::memcpy(range.out.data(), text.data() + range.offset,
                  range.out.size());
      contents->readBytes += int64_t(range.out.size());
    }
    return Status::ok();
  }

private:
  SharedContents contents;
  std::string text;
};

class MemoryOutput : public RemoteOutput {
public:
  MemoryOutput(SharedContents contents, std::string address, int64_t rewritten)
      : contents(std::move(contents)), address(std::move(address)),
        rewritten(rewritten) {}
  ~MemoryOutput() override {
    if (!isCommitted && contents->operationsLeft > 0)
      std::erase(contents->uploads, address);
  }
  Status append(std::span<const std::byte> data) override {
    RECIPERUN_TRY(step(*contents));
    text.append(reinterpret_cast<const char*>(data.data()), data.size());
    return Status::ok();
  }
  Status rewrite(int64_t at, std::span<const std::byte> data) override {
    if (at + int64_t(data.size()) > rewritten)
      return Status::error("`" + address + "`: these bytes have been sent");
    text.replace(size_t(at), data.size(),
                 reinterpret_cast<const char*>(data.data()), data.size());
    return Status::ok();
  }
  Status commit(Earlier earlier) override {
    RECIPERUN_TRY(step(*contents));
    const Status exists =
        Status::error("`" + address + "` exists", StatusCode::alreadyExists);
    if (earlier == Earlier::refuse && contents->files.contains(address))
      return exists;
    isCommitted = true;
    contents->files[address] = text;
    std::erase(contents->uploads, address);
    return earlier == Earlier::refuse && contents->losesAnswers ? exists
                                                                : Status::ok();
  }

private:
  SharedContents contents;
  std::string address, text;
  int64_t rewritten;
  bool isCommitted = false;
};

class MemoryFiles : public RemoteFiles {
public:
  explicit MemoryFiles(SharedContents contents)
      : contents(std::move(contents)) {}

  Expected<int64_t> size(const std::string& address) override {
    RECIPERUN_TRY(step(*contents));
    auto found = contents->files.find(address);
    if (found == contents->files.end())
      return Status::error("no such object", StatusCode::notFound);
    return int64_t(found->second.size());
  }
  Expected<std::unique_ptr<RemoteInput>>
  open(const std::string& address) override {
    RECIPERUN_TRY(size(address));
    return std::unique_ptr<RemoteInput>(
        std::make_unique<MemoryInput>(contents, contents->files.at(address)));
  }
  Expected<std::unique_ptr<RemoteOutput>>
  create(const std::string& address, const OutputHints& hints) override {
    RECIPERUN_TRY(step(*contents));
    contents->uploads.push_back(address);
    return std::unique_ptr<RemoteOutput>(
        std::make_unique<MemoryOutput>(contents, address, hints.rewritten));
  }
  Expected<std::vector<RemoteEntry>> list(const std::string& folder,
                                          Depth depth) override {
    RECIPERUN_TRY(step(*contents));
    std::map<std::string, RemoteEntry> entries;
    for (const auto& [address, text] : contents->files) {
      if (!address.starts_with(folder + "/"))
        continue;
      std::string name = address.substr(folder.size() + 1);
      const size_t slash = name.find('/');
      const bool isFolder = depth == Depth::entries && slash != name.npos;
      if (isFolder)
        name.resize(slash);
      entries[name] = {.name = name,
                       .bytes = isFolder ? 0 : int64_t(text.size()),
                       .isFolder = isFolder};
    }
    std::vector<RemoteEntry> sorted;
    for (const auto& [name, entry] : entries)
      sorted.push_back(entry);
    return sorted;
  }
  Status remove(std::span<const std::string> addresses) override {
    for (const std::string& address : addresses) {
      RECIPERUN_TRY(step(*contents));
      contents->files.erase(address);
    }
    return Status::ok();
  }
  Status abandonUploads(const std::string& folder) override {
    RECIPERUN_TRY(step(*contents));
    std::erase_if(contents->uploads, [&](const std::string& address) {
      return address.starts_with(folder + "/");
    });
    return Status::ok();
  }
  Expected<std::filesystem::path>
  localCopy(const std::string& address) override {
    return Status::error("`" + address + "`: this store makes no copies");
  }

private:
  SharedContents contents;
};

} // namespace

void useStoreInMemory(const std::shared_ptr<StoreContents>& contents) {
  useRemoteFiles(std::make_unique<MemoryFiles>(contents));
}

} // namespace reciperun::checkpoint
