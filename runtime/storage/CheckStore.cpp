// See CheckStore.h.

#include "runtime/storage/CheckStore.h"

#include "runtime/base/Hash.h"

#include <algorithm>
#include <chrono>
#include <random>

namespace reciperun::storage {
namespace {

using SteadyClock = std::chrono::steady_clock;

double secondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

/// Random bytes, which nothing on the way can compress.
std::vector<std::byte> randomBytes(int64_t count) {
  std::vector<std::byte> bytes(size_t(count), std::byte(0));
  std::mt19937_64 random{std::random_device()()};
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const uint64_t word = random();
    for (size_t i = at; i < std::min(at + 8, bytes.size()); ++i)
      bytes[i] = std::byte(word >> 8 * (i - at));
  }
  return bytes;
}

class StoreTrial {
public:
  explicit StoreTrial(ObjectStore& store) : store(store) {
    std::random_device seed;
    folder = "recipec-check-" + hexText(uint64_t(seed()) << 32 | seed());
  }
  ~StoreTrial() { (void)clear(); }

  Expected<StoreReport> run(int64_t bytes) {
    RECIPERUN_TRY(tryBasics());
    RECIPERUN_TRY(tryRanges());
    RECIPERUN_TRY(tryConditions());
    RECIPERUN_TRY(tryParts(bytes));
    RECIPERUN_TRY(tryRemoval());
    return report;
  }

private:
  std::string nameOf(const std::string& object) const {
    return folder + "/" + object;
  }
  Status wrong(const std::string& what) const {
    return Status::error("the store of `" + store.root() + "` " + what);
  }
  void note(StoreFeature feature) {
    report.features.push_back(std::move(feature));
  }
  Status clear();
  Status tryBasics();
  Status tryRanges();
  Status tryConditions();
  Status tryParts(int64_t bytes);
  Status tryRemoval();

  ObjectStore& store;
  std::string folder;
  StoreReport report;
  /// With characters that clients and servers encode differently.
  const std::string object = "an object+with 100% of &these=characters";
  const std::string text = "0123456789";
};

/// Removes all that the trial has written.
Status StoreTrial::clear() {
  const auto objects = store.listAll(folder);
  RECIPERUN_TRY(objects);
  std::vector<std::string> names;
  for (const Object& each : *objects)
    names.push_back(each.name);
  return names.empty() ? Status::ok() : store.remove(names);
}

Status StoreTrial::tryBasics() {
  const std::string name = nameOf(object);
  RECIPERUN_TRY(store.put(name, text));
  const auto read = store.readText(name);
  RECIPERUN_TRY(read);
  if (*read != text)
    return wrong("gives other bytes than were written");
  const auto found = store.find(name);
  RECIPERUN_TRY(found);
  if (!*found || (*found)->bytes != int64_t(text.size()))
    return wrong("does not find what was written");
  const auto listed = store.listAll(folder);
  RECIPERUN_TRY(listed);
  if (listed->size() != 1 || listed->front().name != name)
    return wrong("does not list what was written");
  note({"basics", "writes, reads and lists objects", true, {}});
  note({"checksums", "keeps CRC32C checksums", (*found)->crc32c.has_value(),
        "damage is found by the checksums in checkpoints alone"});
  return Status::ok();
}

Status StoreTrial::tryRanges() {
  const auto found = store.find(nameOf(object));
  RECIPERUN_TRY(found);
  if (!*found)
    return wrong("has lost what was written");
  std::string part(4, ' ');
  const Status read =
      store.read(**found, 3, std::as_writable_bytes(std::span(part)));
  RECIPERUN_TRY(read);
  if (part != text.substr(3, 4))
    return wrong("gives other bytes than those of a range");
  note({"ranges", "reads ranges of objects", true, {}});
  return Status::ok();
}

Status StoreTrial::tryConditions() {
  const std::string name = nameOf("condition");
  const auto first = store.put(name, "1", Precondition::absent());
  RECIPERUN_TRY(first);
  const auto isRefused = [](const Expected<Object>& put) {
    return !put && put.status().code() == StatusCode::alreadyExists;
  };
  const bool keeps = isRefused(store.put(name, "2", Precondition::absent()));
  note({"conditional_create", "writes an object only if there is none", keeps,
        "of two jobs that save the same step, the later one wins unnoticed"});
  const auto now = store.find(name);
  RECIPERUN_TRY(now);
  const std::string etag = *now ? (*now)->etag : "";
  const bool replaces =
      bool(store.put(name, "3", Precondition::matches(etag))) &&
      isRefused(store.put(name, "4", Precondition::matches(etag)));
  note({"conditional_replace", "replaces an object only if it is unchanged",
        replaces, "two writers of one object do not notice each other"});
  return Status::ok();
}

/// Writes and reads a large object, and leaves an upload unfinished.
Status StoreTrial::tryParts(int64_t bytes) {
  const std::vector<std::byte> data = randomBytes(bytes);
  auto begin = SteadyClock::now();
  const auto written = store.put(nameOf("large"), data);
  RECIPERUN_TRY(written);
  report.writeSeconds = secondsSince(begin);
  std::vector<std::byte> read(data.size());
  begin = SteadyClock::now();
  RECIPERUN_TRY(store.read(*written, 0, read));
  report.readSeconds = secondsSince(begin);
  report.bytes = bytes;
  if (read != data)
    return wrong("gives other bytes than were written in parts");
  note({"parts", "writes objects in parts", true, {}});
  {
    const auto upload = store.upload(nameOf("unfinished"));
    RECIPERUN_TRY(upload);
    const size_t part = size_t((*upload)->partBytes());
    RECIPERUN_TRY((*upload)->writePart(
        0, std::span(data).first(std::min(part, data.size()))));
  }
  const auto open = store.openUploads(folder);
  note({"discard", "discards uploads that are not finished",
        open && open->empty(),
        "set a rule of the bucket that removes incomplete uploads"});
  return Status::ok();
}

Status StoreTrial::tryRemoval() {
  RECIPERUN_TRY(clear());
  const auto left = store.listAll(folder);
  RECIPERUN_TRY(left);
  if (!left->empty())
    return wrong("lists objects that have been removed");
  note({"removal", "removes objects", true, {}});
  return Status::ok();
}

} // namespace

Expected<StoreReport> checkStore(ObjectStore& store, int64_t bytes) {
  return StoreTrial(store).run(bytes);
}

} // namespace reciperun::storage
