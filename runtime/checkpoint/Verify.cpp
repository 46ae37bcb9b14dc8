// A file is first read, then judged: after a read error its contents are
// unknown; after a successful read every mismatch is damage.

#include "runtime/checkpoint/Verify.h"

#include "runtime/base/Hash.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <map>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

/// The bytes read at a time: whole chunks.
constexpr int64_t windowBytes = 8 * chunkBytes;
/// From an object store: many requests at once.
constexpr int64_t remoteWindowBytes = 512 * chunkBytes;

Examined faulty(Condition condition, const Status& why) {
  return {condition, why.message(), std::nullopt};
}

/// Checks the sizes of the files.
Examined examineFiles(Manifest manifest, const fs::path& checkpoint) {
  FileSizes sizes(checkpoint);
  for (const SavedFile& file : manifest.files) {
    const fs::path path = checkpoint / file.name;
    const auto bytes = sizes.of(file.name);
    if (!bytes)
      return {Condition::unreadable, bytes.message(), std::move(manifest)};
    if (!*bytes)
      return {Condition::damaged, "its file `" + path.string() + "` is missing",
              std::move(manifest)};
    if (**bytes != file.bytes)
      return {Condition::damaged,
              "`" + path.string() + "` has " + std::to_string(**bytes) +
                  " bytes, the manifest says " + std::to_string(file.bytes),
              std::move(manifest)};
  }
  return {Condition::whole, "", std::move(manifest)};
}

/// Reads the header's bytes without parsing them.
Status readHeader(const InputFile& file) {
  uint64_t length = 0;
  if (file.size() < int64_t(sizeof length))
    return Status::ok(); // the parser reports it
  RECIPERUN_TRY(file.read(0, std::as_writable_bytes(std::span(&length, 1))));
  std::vector<std::byte> header(size_t(
      std::min<uint64_t>(length, uint64_t(file.size()) - sizeof length)));
  return file.read(sizeof length, header);
}

class FileVerifier {
public:
  FileVerifier(const fs::path& checkpoint, const Manifest& manifest,
               size_t number, const VerifyProgress& progress)
      : manifest(manifest), saved(manifest.files[number]), number(int(number)),
        path(checkpoint / saved.name), progress(progress) {}

  Verified run() {
    if (isAbsent(path)) {
      found.add(Condition::damaged, "`" + path.string() + "` is missing");
      return found;
    }
    Expected<InputFile> raw = InputFile::open(path);
    Status read = raw ? readHeader(*raw) : raw.status();
    if (!read.isOk()) {
      found.add(Condition::unreadable, read.message());
      return found;
    }
    Expected<SafetensorsFile> file = SafetensorsFile::open(path);
    Status status = file ? checkFile(manifest, saved, *file) : file.status();
    if (!status.isOk()) {
      found.add(Condition::damaged, status.message());
      return found;
    }
    checkPieces(*file);
    for (const StoredTensor& tensor : file->tensors())
      checkData(*file, tensor);
    if (unread > 0)
      found.add(Condition::unreadable,
                whyUnread + (unread == 1
                                 ? ""
                                 : "; likewise " + std::to_string(unread - 1) +
                                       " more tensors of the file"));
    return found;
  }

private:
  /// Checks that the tensors are those in the manifest.
  void checkPieces(const SafetensorsFile& file) {
    for (const SavedParameter& parameter : manifest.parameters)
      for (const Piece& piece : parameter.pieces) {
        if (piece.file != number)
          continue;
        const std::string name = stateTensor(piece.kind, parameter.name);
        const StoredTensor* tensor = file.find(name);
        const bool isAlike =
            tensor && findElementType(tensor->dtype) == piece.type &&
            tensor->end - tensor->begin == piece.count * byteSize(piece.type);
        if (!isAlike)
          found.add(Condition::damaged,
                    "`" + path.string() + "`: tensor `" + name + "` is " +
                        (tensor ? "not as the manifest says" : "missing"));
      }
  }

  /// Checks a tensor's data. Continues after damage, so that all of it is
  /// reported, but stops at a read error, which many tensors would repeat.
  void checkData(const SafetensorsFile& file, const StoredTensor& tensor) {
    const int64_t bytes = tensor.end - tensor.begin;
    const int64_t most = file.isRemote() ? remoteWindowBytes : windowBytes;
    for (int64_t at = 0; at < bytes; at += most) {
      window.resize(size_t(std::min(most, bytes - at)));
      if (Status read = file.read(tensor, at, window); !read.isOk()) {
        if (unread++ == 0)
          whyUnread = read.message();
        return;
      }
      checkChunks(file, tensor, at);
      done += int64_t(window.size());
      if (progress)
        progress(done, saved.bytes);
    }
    (tensor.checksums.empty() ? found.uncheckedBytes : found.checkedBytes) +=
        bytes;
  }

  void checkChunks(const SafetensorsFile& file, const StoredTensor& tensor,
                   int64_t at) {
    for (size_t chunk = 0; chunk < window.size(); chunk += size_t(chunkBytes)) {
      const auto bytes = std::span(window).subspan(
          chunk, std::min(size_t(chunkBytes), window.size() - chunk));
      if (Status same = file.check(tensor, at + int64_t(chunk), bytes);
          !same.isOk())
        found.add(Condition::damaged, same.message());
    }
  }

  const Manifest& manifest;
  const SavedFile& saved;
  int number;
  fs::path path;
  const VerifyProgress& progress;
  Verified found;
  std::vector<std::byte> window;
  int64_t done = 0;
  int64_t unread = 0; // tensors
  std::string whyUnread;
};

/// Checks that the pieces of each parameter add up to its elements.
void checkCoverage(const Manifest& manifest, Verified& found) {
  for (const SavedParameter& parameter : manifest.parameters) {
    std::map<StateKind, int64_t> counts;
    for (const Piece& piece : parameter.pieces)
      counts[piece.kind] += piece.count;
    const int64_t wanted = plan::elementCount(parameter.shape);
    counts.try_emplace(StateKind::weight, 0);
    for (const auto& [kind, count] : counts)
      if (count != wanted)
        found.add(Condition::damaged,
                  "the " + std::string(describe(kind)) + " of `" +
                      parameter.name + "` are " + std::to_string(count) +
                      " elements of " + std::to_string(wanted));
  }
}

/// Checks that the copy of the tokenizer is the file that the run read.
void checkTokenizer(const fs::path& checkpoint, const Manifest& manifest,
                    Verified& found) {
  const auto hash =
      std::ranges::find(manifest.settings, tokenizerSetting, &Setting::name);
  if (hash == manifest.settings.end())
    return;
  const fs::path path = checkpoint / "tokenizer.json";
  if (isAbsent(path))
    return found.add(Condition::damaged, "`" + path.string() + "` is missing");
  Expected<std::string> text = readTextFile(path);
  if (!text)
    return found.add(Condition::unreadable, text.message());
  if (hashOf(*text).text() != hash->value)
    found.add(Condition::damaged, "`" + path.string() +
                                      "` is not the tokenizer that the run had "
                                      "(checksum)");
}

} // namespace

void Verified::add(Condition worse, const std::string& message) {
  condition = std::max(condition, worse);
  findings.push_back(message);
}

Examined examine(const fs::path& checkpoint) {
  const fs::path path = checkpoint / manifestName;
  if (isAbsent(path))
    return faulty(
        Condition::damaged,
        Status::error("it has no `" + std::string(manifestName) + "`"));
  Expected<std::string> text = readTextFile(path, manifestLimit);
  if (!text)
    return faulty(Condition::unreadable, text.status());
  Expected<Manifest> manifest = parseManifest(*text);
  if (!manifest)
    return faulty(isOfAnotherVersion(*text) ? Condition::unreadable
                                            : Condition::damaged,
                  manifest.status().withContext("`" + path.string() + "`"));
  return examineFiles(*std::move(manifest), checkpoint);
}

Verified verifyFile(const fs::path& checkpoint, const Manifest& manifest,
                    size_t number, const VerifyProgress& progress) {
  return FileVerifier(checkpoint, manifest, number, progress).run();
}

Verified verify(const fs::path& checkpoint, const VerifyProgress& progress) {
  Verified all;
  const Examined examined = examine(checkpoint);
  if (!examined.manifest) {
    all.add(examined.condition, examined.reason);
    return all;
  }
  const Manifest& manifest = *examined.manifest;
  int64_t total = 0, before = 0;
  for (const SavedFile& file : manifest.files)
    total += file.bytes;
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const Verified one =
        verifyFile(checkpoint, manifest, i, [&](int64_t done, int64_t) {
          if (progress)
            progress(before + done, total);
        });
    for (const std::string& finding : one.findings)
      all.add(one.condition, finding);
    all.checkedBytes += one.checkedBytes;
    all.uncheckedBytes += one.uncheckedBytes;
    before += manifest.files[i].bytes;
  }
  // A difference in size is already reported with the files, unless a header
  // hides it.
  if (all.findings.empty() && examined.condition != Condition::whole)
    all.add(examined.condition, examined.reason);
  checkCoverage(manifest, all);
  checkTokenizer(checkpoint, manifest, all);
  return all;
}

} // namespace reciperun::checkpoint
