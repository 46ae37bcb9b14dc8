// See FileHead.h.

#include "runtime/data/FileHead.h"

#include "runtime/base/InputFile.h"
#include "runtime/data/Utf8.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

namespace reciperun::data {

namespace {

/// Shorter sequences of ids may look like letters by chance.
constexpr size_t leastText = 16;

struct Format {
  std::string_view magic;
  std::string_view name;
};

// Magic bytes from the formats' specifications.
constexpr Format formats[] = {
    {"\x1f\x8b\x08", "gzip"},
    {"\x28\xb5\x2f\xfd", "Zstandard"},
    {"\xfd"
     "7zXZ",
     "xz"},
    {"BZh", "bzip2"},
    {std::string_view("PK\x03\x04", 4), "zip"},
    {"7z\xbc\xaf\x27\x1c", "7-Zip"},
    {"PAR1", "Parquet"},
    {"ARROW1", "Arrow"},
    {"\x89HDF\r\n", "HDF5"},
    {"SQLite format 3", "SQLite"},
    {"%PDF-", "PDF"},
    {"GGUF", "GGUF"},
    {"\x93NUMPY", "NumPy"},
};

/// The part of a message about `path` that is the cause: the callers' messages
/// name the path themselves.
std::string causeIn(const std::string& message, const std::string& path) {
  const std::string before = "cannot read `" + path + "`: ";
  return message.starts_with(before) ? message.substr(before.size()) : message;
}

std::string whyNoRemoteFolder(const std::string& address) {
  Expected<RemoteFiles*> files = remoteFilesOf(address);
  if (!files)
    return files.message();
  const auto entries = (*files)->list(address, RemoteFiles::Depth::entries);
  if (!entries)
    return causeIn(entries.message(), address);
  return entries->empty() ? "no object's key begins with it" : "";
}

} // namespace

std::string whyNoFile(const std::string& path) {
  const Expected<InputFile> file = InputFile::open(path);
  if (file)
    return file->size() == 0 ? "it is empty" : "";
  return causeIn(file.message(), path);
}

std::string whyNoFolder(const std::string& path) {
  if (isAddress(path))
    return whyNoRemoteFolder(path);
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (descriptor < 0 && errno == ENOTDIR && InputFile::open(path))
    return "it is a file, not a folder";
  if (descriptor < 0)
    return std::strerror(errno);
  close(descriptor);
  return {};
}

Expected<std::string> readHead(const std::string& path, size_t bytes) {
  const Expected<InputFile> file = InputFile::open(path);
  RECIPERUN_TRY(file);
  std::string head(std::min(bytes, size_t(file->size())), '\0');
  RECIPERUN_TRY(file->read(0, std::as_writable_bytes(std::span(head))));
  return head;
}

std::string_view otherFormat(std::string_view head) {
  for (const Format& format : formats)
    if (head.starts_with(format.magic))
      return format.name;
  return {};
}

bool isText(std::string_view head) {
  head.remove_suffix(cutOffBytes(head));
  return head.size() >= leastText &&
         std::none_of(head.begin(), head.end(),
                      [](unsigned char byte) {
                        return (byte < ' ' && byte != '\t' && byte != '\n' &&
                                byte != '\r') ||
                               byte == 0x7f;
                      }) &&
         firstIllFormed(head) == head.npos;
}

} // namespace reciperun::data
