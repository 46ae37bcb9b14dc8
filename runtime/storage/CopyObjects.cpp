// 1. Compare: both stores are asked for each object; what is alike is left.
// 2. Copy: all parts of all objects are one list, which threads work off in
//    order. The first part of an object opens its upload, the last one finishes
//    it. An object of one part is put by one request.

#include "runtime/storage/CopyObjects.h"

#include "runtime/base/Crc32c.h"
#include "runtime/storage/Address.h"
#include "runtime/storage/TaskPool.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

namespace reciperun::storage {
namespace {

constexpr int64_t readBytes = int64_t(4) << 20; // of files, for their checksum

/// The CRC32C of an object: the store's, or that of a file's bytes.
Expected<std::optional<uint32_t>> checksumOf(ObjectStore& store,
                                             const Object& object) {
  if (object.crc32c || isAddress(store.root()))
    return object.crc32c;
  std::vector<std::byte> buffer(
      size_t(std::min(readBytes, std::max<int64_t>(object.bytes, 1))));
  uint32_t crc = 0;
  for (int64_t at = 0; at < object.bytes; at += readBytes) {
    const auto piece =
        std::span(buffer).first(size_t(std::min(readBytes, object.bytes - at)));
    RECIPERUN_TRY(store.read(object, at, piece));
    crc = crc32c(piece, crc);
  }
  return std::optional(crc);
}

/// An object on its way.
struct Journey {
  Object source;
  int64_t partBytes = 0;
  size_t parts = 0;
  std::mutex mutex; // of all below
  std::unique_ptr<Upload> upload;
  std::map<size_t, std::pair<uint32_t, int64_t>> checksums; // and sizes
};

class CopyWork {
public:
  CopyWork(ObjectStore& from, ObjectStore& to, const CopyOptions& options)
      : from(from), to(to), options(options), pool(options.parallel) {}

  Expected<CopyResult> run(const std::vector<Object>& objects) {
    for (const Object& object : objects)
      allBytes += object.bytes;
    RECIPERUN_TRY(discardLeftovers(objects));
    RECIPERUN_TRY(inParallel(pool, objects.size(),
                             [&](size_t i) { return compare(objects[i]); }));
    std::ranges::sort(journeys, {},
                      [](const auto& each) { return each->source.name; });
    for (const auto& journey : journeys)
      for (size_t part = 0; part < journey->parts; ++part)
        parts.emplace_back(journey.get(), part);
    RECIPERUN_TRY(inParallel(pool, parts.size(), [&](size_t i) {
      return copyPart(*parts[i].first, parts[i].second);
    }));
    return result;
  }

private:
  Status discardLeftovers(const std::vector<Object>& objects);
  Status compare(const Object& object);
  Status copyPart(Journey& journey, size_t number);
  Status sendPart(Journey& journey, size_t number,
                  std::span<const std::byte> data);
  Status finish(Journey& journey);
  void add(int64_t bytes, bool isCopied);

  ObjectStore& from;
  ObjectStore& to;
  const CopyOptions& options;
  std::vector<std::unique_ptr<Journey>> journeys;
  std::vector<std::pair<Journey*, size_t>> parts;
  std::mutex mutex; // of `journeys` and `result`
  CopyResult result;
  int64_t allBytes = 0;
  TaskPool pool; // last: its tasks use the others
};

Status CopyWork::discardLeftovers(const std::vector<Object>& objects) {
  return to.discardUploads("", [&](const std::string& name) {
    return std::ranges::find(objects, name, &Object::name) != objects.end();
  });
}

void CopyWork::add(int64_t bytes, bool isCopied) {
  const std::lock_guard lock(mutex);
  result.copiedBytes += isCopied ? bytes : 0;
  result.bytes += bytes;
  if (options.progress)
    options.progress(result.bytes, allBytes);
}

/// Plans the journey of an object that the target lacks.
Status CopyWork::compare(const Object& listed) {
  if (options.goesOn)
    RECIPERUN_TRY(options.goesOn());
  const auto source = from.find(listed.name);
  RECIPERUN_TRY(source);
  if (!*source)
    return Status::error("`" + from.textOf(listed.name) +
                         "` has been removed meanwhile");
  const auto target = to.find(listed.name);
  RECIPERUN_TRY(target);
  bool isThere = *target && (*target)->bytes == (*source)->bytes;
  if (isThere) {
    const auto theirs = checksumOf(to, **target);
    RECIPERUN_TRY(theirs);
    const auto own = *theirs ? checksumOf(from, **source) : theirs;
    RECIPERUN_TRY(own);
    isThere = *theirs && *own && **theirs == **own;
  }
  if (isThere)
    add((*source)->bytes, false);
  const std::lock_guard lock(mutex);
  ++result.objects;
  if (isThere) {
    ++result.keptObjects;
    return Status::ok();
  }
  auto journey = std::make_unique<Journey>();
  journey->source = **source;
  journey->partBytes = to.partBytes(journey->source.bytes);
  journey->parts = size_t(
      std::max<int64_t>(1, (journey->source.bytes + journey->partBytes - 1) /
                               journey->partBytes));
  journeys.push_back(std::move(journey));
  return Status::ok();
}

Status CopyWork::copyPart(Journey& journey, size_t number) {
  if (options.goesOn)
    RECIPERUN_TRY(options.goesOn());
  const Object& source = journey.source;
  const int64_t begin = int64_t(number) * journey.partBytes;
  const size_t bytes =
      size_t(std::min(journey.partBytes, source.bytes - begin));
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const std::span data(buffer.get(), bytes);
  RECIPERUN_TRY(from.read(source, begin, data));
  bool isLast = false;
  {
    const std::lock_guard lock(journey.mutex);
    if (!journey.upload && journey.parts > 1) {
      auto upload = to.upload(source.name, {.expectedBytes = source.bytes});
      RECIPERUN_TRY(upload);
      journey.upload = *std::move(upload);
    }
  }
  RECIPERUN_TRY(sendPart(journey, number, data));
  {
    const std::lock_guard lock(journey.mutex);
    journey.checksums[number] = {crc32c(data), int64_t(bytes)};
    isLast = journey.checksums.size() == journey.parts;
  }
  if (isLast)
    RECIPERUN_TRY(finish(journey));
  add(int64_t(bytes), true);
  return Status::ok();
}

Status CopyWork::sendPart(Journey& journey, size_t number,
                          std::span<const std::byte> data) {
  if (journey.upload)
    return journey.upload->writePart(int64_t(number), data);
  const auto& crc = journey.source.crc32c;
  if (crc && *crc != crc32c(data))
    return Status::error("`" + from.textOf(journey.source.name) +
                         "` does not match its checksum");
  return to.put(journey.source.name, data).status();
}

Status CopyWork::finish(Journey& journey) {
  if (!journey.upload)
    return Status::ok();
  uint32_t crc = 0;
  for (const auto& [number, part] : journey.checksums)
    crc = joinCrc32c(crc, part.first, uint64_t(part.second));
  if (crc != journey.source.crc32c.value_or(crc))
    return Status::error("`" + from.textOf(journey.source.name) +
                         "` does not match its checksum");
  const auto object = journey.upload->finish();
  RECIPERUN_TRY(object);
  journey.upload.reset();
  if (object->crc32c.value_or(crc) == crc)
    return Status::ok();
  return Status::error("`" + to.textOf(journey.source.name) +
                       "` has other bytes than were sent");
}

} // namespace

Expected<CopyResult> copyObjects(ObjectStore& from, ObjectStore& to,
                                 const std::vector<Object>& objects,
                                 const CopyOptions& options) {
  return CopyWork(from, to, options).run(objects);
}

} // namespace reciperun::storage
