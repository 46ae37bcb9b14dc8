// See FileStore.h.

#include "runtime/storage/FileStore.h"

#include "runtime/base/InputFile.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace reciperun::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view partial = ".partial";
constexpr int64_t filePartBytes = int64_t(16) << 20;

Status fileError(std::string_view verb, const fs::path& path, int number) {
  std::string reason = std::generic_category().message(number);
  if (!reason.empty())
    reason[0] = char(std::tolower(static_cast<unsigned char>(reason[0])));
  const StatusCode code = number == EEXIST   ? StatusCode::alreadyExists
                          : number == ENOENT ? StatusCode::notFound
                                             : StatusCode::internal;
  return Status::error("cannot " + std::string(verb) + " `" + path.string() +
                           "`: " + reason,
                       code);
}

Object describeFile(std::string name, const struct stat& facts) {
  return {std::move(name), facts.st_size, {}, facts.st_mtime, {}};
}

/// A file in the making.
class FileUpload : public Upload {
public:
  static Expected<std::unique_ptr<Upload>> create(fs::path path,
                                                  std::string name) {
    std::error_code code;
    fs::create_directories(path.parent_path(), code);
    if (code)
      return fileError("make", path.parent_path(), code.value());
    const fs::path aside = path.string() + std::string(partial);
    const int descriptor =
        ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0)
      return fileError("write", aside, errno);
    return std::unique_ptr<Upload>(
        new FileUpload(std::move(path), aside, std::move(name), descriptor));
  }

  ~FileUpload() override {
    close(descriptor);
    if (!isFinished)
      unlink(aside.c_str());
  }

  Status append(std::span<const std::byte> data) override {
    RECIPERUN_TRY(write(end, data));
    end += int64_t(data.size());
    return Status::ok();
  }
  Status rewrite(int64_t at, std::span<const std::byte> data) override {
    return write(at, data);
  }
  int64_t partBytes() const override { return filePartBytes; }
  Status writePart(int64_t number, std::span<const std::byte> data) override {
    return write(number * filePartBytes, data);
  }

  Expected<Object> finish(const Precondition& precondition) override {
    if (precondition.kind == Precondition::Kind::matches)
      return Status::error("cannot write `" + path.string() +
                           "`: files have no ETag to compare");
    struct stat facts = {};
    if (fsync(descriptor) != 0 || fstat(descriptor, &facts) != 0)
      return fileError("write", aside, errno);
    // link(2) fails when the name exists, rename(2) replaces it.
    const bool isNew = precondition.kind == Precondition::Kind::absent;
    if ((isNew ? link(aside.c_str(), path.c_str())
               : rename(aside.c_str(), path.c_str())) != 0)
      return fileError("write", path, errno);
    isFinished = !isNew;
    syncFolder();
    return describeFile(name, facts);
  }

private:
  FileUpload(fs::path path, fs::path aside, std::string name, int descriptor)
      : path(std::move(path)), aside(std::move(aside)), name(std::move(name)),
        descriptor(descriptor) {}

  /// Flushes the name to the disk. Some file systems cannot; the bytes are
  /// there in any case.
  void syncFolder() const {
    const int opened =
        ::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
      return;
    (void)fsync(opened);
    close(opened);
  }

  Status write(int64_t at, std::span<const std::byte> data) const {
    while (!data.empty()) {
      const ssize_t put =
          pwrite(descriptor, data.data(),
                 std::min(data.size(), size_t(filePartBytes)), at);
      if (put < 0 && errno == EINTR)
        continue;
      if (put < 0)
        return fileError("write", aside, errno);
      at += put;
      data = data.subspan(size_t(put));
    }
    return Status::ok();
  }

  const fs::path path, aside;
  const std::string name;
  const int descriptor;
  int64_t end = 0;
  bool isFinished = false; // `aside` is gone
};

} // namespace

FileStore::FileStore(fs::path path)
    : folder(std::move(path)), rootText(folder.string()) {
  while (rootText.size() > 1 && rootText.ends_with('/'))
    rootText.pop_back();
}

Expected<std::optional<Object>> FileStore::find(std::string_view name) {
  struct stat facts = {};
  const fs::path path = folder / name;
  if (stat(path.c_str(), &facts) == 0)
    return S_ISREG(facts.st_mode)
               ? std::optional(describeFile(std::string(name), facts))
               : std::optional<Object>();
  if (errno == ENOENT || errno == ENOTDIR)
    return std::optional<Object>();
  return fileError("read", path, errno);
}

Status FileStore::read(const Object& object,
                       std::span<const ByteRange> ranges) {
  const auto file = InputFile::open(folder / object.name);
  RECIPERUN_TRY(file);
  for (const ByteRange& range : ranges)
    RECIPERUN_TRY(file->read(range.offset, range.out));
  return Status::ok();
}

Expected<std::string> FileStore::readText(std::string_view name, int64_t limit,
                                          Object* found) {
  const auto object = find(name);
  RECIPERUN_TRY(object);
  if (!*object)
    return fileError("read", folder / name, ENOENT);
  if (found)
    *found = **object;
  return readTextFile(folder / name, limit);
}

Expected<Object> FileStore::put(std::string_view name,
                                std::span<const std::byte> data,
                                const Precondition& precondition) {
  const auto file = upload(name, {});
  RECIPERUN_TRY(file);
  RECIPERUN_TRY((*file)->append(data));
  return (*file)->finish(precondition);
}

int64_t FileStore::partBytes(int64_t) const {
  return filePartBytes;
}

Expected<std::unique_ptr<Upload>> FileStore::upload(std::string_view name,
                                                    const UploadOptions&) {
  return FileUpload::create(folder / name, std::string(name));
}

/// Adds the files in a folder, or the folders below it, too.
Status FileStore::walk(const fs::path& where, bool isDeep,
                       Listing& listing) const {
  std::error_code code;
  if (fs::status(where, code).type() == fs::file_type::not_found)
    return Status::ok();
  for (fs::directory_iterator at(where, code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().lexically_relative(folder).string();
    struct stat facts = {};
    if (stat(at->path().c_str(), &facts) != 0 || name.ends_with(partial))
      continue; // a link that leads nowhere, or a file in the making
    if (S_ISREG(facts.st_mode))
      listing.objects.push_back(describeFile(name, facts));
    if (S_ISDIR(facts.st_mode) && isDeep)
      RECIPERUN_TRY(walk(at->path(), isDeep, listing));
    else if (S_ISDIR(facts.st_mode))
      listing.folders.push_back(name);
  }
  return code ? fileError("read", where, code.value()) : Status::ok();
}

Expected<Listing> FileStore::list(std::string_view name) {
  Listing listing;
  RECIPERUN_TRY(walk(folder / name, false, listing));
  std::ranges::sort(listing.objects, {}, &Object::name);
  std::ranges::sort(listing.folders);
  return listing;
}

Expected<std::vector<Object>> FileStore::listAll(std::string_view name) {
  Listing listing;
  RECIPERUN_TRY(walk(folder / name, true, listing));
  std::ranges::sort(listing.objects, {}, &Object::name);
  return std::move(listing.objects);
}

Status FileStore::remove(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (unlink((folder / name).c_str()) != 0 && errno != ENOENT)
      return fileError("remove", folder / name, errno);
  return Status::ok();
}

/// Files in the making, which may also be those of a process at work.
Expected<std::vector<OpenUpload>>
FileStore::openUploads(std::string_view name) {
  std::vector<OpenUpload> uploads;
  std::error_code code;
  const fs::path where = folder / name;
  if (fs::status(where, code).type() == fs::file_type::not_found)
    return uploads;
  for (fs::recursive_directory_iterator at(where, code), end;
       !code && at != end; at.increment(code)) {
    std::string file = at->path().lexically_relative(folder).string();
    struct stat facts = {};
    if (!file.ends_with(partial) || stat(at->path().c_str(), &facts) != 0)
      continue;
    const std::string id = file;
    file.resize(file.size() - partial.size());
    uploads.push_back({file, id, facts.st_mtime});
  }
  if (code)
    return fileError("read", where, code.value());
  return uploads;
}

Status FileStore::discard(const OpenUpload& upload) {
  return remove({upload.id});
}

} // namespace reciperun::storage
