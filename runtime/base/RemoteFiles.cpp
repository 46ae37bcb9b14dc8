// See RemoteFiles.h. A remote folder exists if there is a file below it.

#include "runtime/base/RemoteFiles.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>

namespace reciperun {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view scheme = "s3://";

std::unique_ptr<RemoteFiles>& installed() {
  static std::unique_ptr<RemoteFiles> files;
  return files;
}

/// The kind of an address; a failure other than that nothing is there.
Expected<fs::file_type> typeOfAddress(const fs::path& address) {
  Expected<RemoteFiles*> files = remoteFilesOf(address);
  RECIPERUN_TRY(files);
  const Expected<int64_t> size = (*files)->size(address.string());
  if (size)
    return fs::file_type::regular;
  if (size.status().code() != StatusCode::notFound)
    return size.status();
  const auto entries =
      (*files)->list(address.string(), RemoteFiles::Depth::entries);
  RECIPERUN_TRY(entries);
  return entries->empty() ? fs::file_type::not_found : fs::file_type::directory;
}

} // namespace

bool isAddress(const fs::path& path) {
  const std::string& text = path.native();
  const size_t colon = text.find("://");
  return colon != text.npos && colon > 0 &&
         std::all_of(
             text.begin(), text.begin() + long(colon), [](unsigned char c) {
               return std::isalnum(c) || c == '+' || c == '-' || c == '.';
             });
}

void useRemoteFiles(std::unique_ptr<RemoteFiles> files) {
  installed() = std::move(files);
}

Expected<RemoteFiles*> remoteFilesOf(const fs::path& address) {
  const std::string& text = address.native();
  if (!text.starts_with(scheme))
    return Status::error("cannot open `" + text + "`: `" +
                         text.substr(0, text.find("://") + 3) +
                         "` is no scheme of an object store that is "
                         "supported; copy the files to a folder, or to "
                         "`s3://BUCKET/PREFIX`");
  if (!installed())
    return Status::error("cannot open `" + text +
                         "`: this program reads no object stores; copy the "
                         "files to a folder");
  return installed().get();
}

fs::file_type typeOf(const fs::path& path) {
  std::error_code code;
  if (!isAddress(path))
    return fs::status(path, code).type();
  const auto type = typeOfAddress(path);
  return type ? *type : fs::file_type::none;
}

bool isThere(const fs::path& path) {
  const fs::file_type type = typeOf(path);
  return type != fs::file_type::none && type != fs::file_type::not_found;
}

bool isAbsent(const fs::path& path) {
  std::error_code code;
  return (isAddress(path) ? typeOf(path)
                          : fs::symlink_status(path, code).type()) ==
         fs::file_type::not_found;
}

bool isFolder(const fs::path& path) {
  return typeOf(path) == fs::file_type::directory;
}

} // namespace reciperun
