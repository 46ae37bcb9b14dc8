// See ObjectFiles.h. Names are keys of a bucket; a bucket's store is opened
// when it is first used.

#include "runtime/storage/ObjectFiles.h"

#include "runtime/storage/Address.h"
#include "runtime/storage/LocalCopies.h"
#include "runtime/storage/ObjectStore.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace reciperun::storage {
namespace {

namespace fs = std::filesystem;

/// The store of an address's bucket, and the key in it.
struct Located {
  ObjectStore* store = nullptr;
  std::string key;
};

class ObjectInput : public RemoteInput {
public:
  ObjectInput(ObjectStore& store, Object object)
      : store(store), object(std::move(object)) {}

  int64_t size() const override { return object.bytes; }
  Status read(std::span<const FileRange> ranges) const override {
    std::vector<ByteRange> wanted;
    for (const FileRange& range : ranges)
      wanted.push_back({range.offset, range.out});
    return store.read(object, wanted);
  }

private:
  ObjectStore& store;
  Object object;
};

class ObjectOutput : public RemoteOutput {
public:
  ObjectOutput(Located place, std::unique_ptr<Upload> upload)
      : place(std::move(place)), upload(std::move(upload)) {}

  Status append(std::span<const std::byte> data) override {
    return upload->append(data);
  }
  Status rewrite(int64_t at, std::span<const std::byte> data) override {
    return upload->rewrite(at, data);
  }
  Status commit(Earlier earlier) override {
    const bool refuses = earlier == Earlier::refuse;
    return upload
        ->finish(refuses ? Precondition::absent() : Precondition::none())
        .status();
  }

private:
  Located place;
  std::unique_ptr<Upload> upload;
};

class ObjectFiles : public RemoteFiles {
public:
  explicit ObjectFiles(fs::path cache) : copies(std::move(cache)) {}

  Expected<int64_t> size(const std::string& address) override {
    Expected<Located> place = locate(address);
    RECIPERUN_TRY(place);
    Expected<Object> object = find(*place, address);
    RECIPERUN_TRY(object);
    return object->bytes;
  }

  Expected<std::unique_ptr<RemoteInput>>
  open(const std::string& address) override {
    Expected<Located> place = locate(address);
    RECIPERUN_TRY(place);
    Expected<Object> object = find(*place, address);
    RECIPERUN_TRY(object);
    return std::unique_ptr<RemoteInput>(
        std::make_unique<ObjectInput>(*place->store, *std::move(object)));
  }

  Expected<std::unique_ptr<RemoteOutput>>
  create(const std::string& address, const OutputHints& hints) override {
    Expected<Located> place = locate(address);
    RECIPERUN_TRY(place);
    auto upload =
        place->store->upload(place->key, {.expectedBytes = hints.bytes,
                                          .rewritableBytes = hints.rewritten});
    RECIPERUN_TRY(upload);
    return std::unique_ptr<RemoteOutput>(
        std::make_unique<ObjectOutput>(*std::move(place), *std::move(upload)));
  }

  Expected<std::vector<RemoteEntry>> list(const std::string& folder,
                                          Depth depth) override;
  Status remove(std::span<const std::string> addresses) override;
  Status abandonUploads(const std::string& folder) override;

  Expected<fs::path> localCopy(const std::string& address) override {
    Expected<Located> place = locate(address);
    RECIPERUN_TRY(place);
    Expected<Object> object = find(*place, address);
    RECIPERUN_TRY(object);
    return copies.of(address, *place->store, *object);
  }

private:
  Expected<Located> locate(const std::string& text) {
    Expected<Address> address = parseAddress(text);
    RECIPERUN_TRY(address);
    const std::lock_guard lock(mutex);
    std::unique_ptr<ObjectStore>& store = stores[address->bucket];
    if (!store) {
      auto opened = openStore(Address{address->bucket, {}}.text());
      RECIPERUN_TRY(opened);
      store = *std::move(opened);
    }
    return Located{store.get(), address->key};
  }

  static Expected<Object> find(const Located& place,
                               const std::string& address) {
    auto found = place.store->find(place.key);
    RECIPERUN_TRY(found);
    if (!*found)
      return Status::error("cannot read `" + address +
                               "`: there is no such object",
                           StatusCode::notFound);
    return **std::move(found);
  }

  std::mutex mutex;
  std::map<std::string, std::unique_ptr<ObjectStore>> stores; // by bucket
  LocalCopies copies;
};

/// A name relative to the folder with a key.
std::string below(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : name.substr(folder.size() + 1);
}

/// The entry of an object in the folder with a key, or below it.
RemoteEntry entryOf(const std::string& folder, const Object& object) {
  return {.name = below(folder, object.name),
          .bytes = object.bytes,
          .modified = object.modified};
}

Expected<std::vector<RemoteEntry>> ObjectFiles::list(const std::string& folder,
                                                     Depth depth) {
  Expected<Located> place = locate(folder);
  RECIPERUN_TRY(place);
  std::vector<RemoteEntry> entries;
  if (depth == Depth::allFiles) {
    auto objects = place->store->listAll(place->key);
    RECIPERUN_TRY(objects);
    for (const Object& object : *objects)
      entries.push_back(entryOf(place->key, object));
    return entries;
  }
  auto listing = place->store->list(place->key);
  RECIPERUN_TRY(listing);
  for (const Object& object : listing->objects)
    entries.push_back(entryOf(place->key, object));
  for (const std::string& name : listing->folders)
    entries.push_back({.name = below(place->key, name), .isFolder = true});
  std::ranges::sort(entries, {}, &RemoteEntry::name);
  return entries;
}

Status ObjectFiles::remove(std::span<const std::string> addresses) {
  std::map<ObjectStore*, std::vector<std::string>> keys;
  for (const std::string& address : addresses) {
    Expected<Located> place = locate(address);
    RECIPERUN_TRY(place);
    keys[place->store].push_back(place->key);
  }
  for (const auto& [store, names] : keys)
    RECIPERUN_TRY(store->remove(names));
  return Status::ok();
}

Status ObjectFiles::abandonUploads(const std::string& folder) {
  Expected<Located> place = locate(folder);
  RECIPERUN_TRY(place);
  return place->store->discardUploads(place->key,
                                      [](const std::string&) { return true; });
}

} // namespace

std::unique_ptr<RemoteFiles> objectFiles(fs::path cache) {
  return std::make_unique<ObjectFiles>(std::move(cache));
}

fs::path objectCache() {
  const fs::path name = "reciperun/objects";
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return cache / name;
  if (const char* home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / name;
  std::error_code code;
  return fs::temp_directory_path(code) / name;
}

} // namespace reciperun::storage
