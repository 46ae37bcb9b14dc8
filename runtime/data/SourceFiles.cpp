// See SourceFiles.h.

#include "runtime/data/SourceFiles.h"

#include "runtime/base/RemoteFiles.h"
#include "runtime/base/StopSignal.h"

#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace reciperun::data {

namespace {

namespace fs = std::filesystem;

bool isWanted(const fs::path& file, const std::string& ignoredSuffix) {
  const std::string name = file.filename().string();
  return !name.starts_with(".") &&
         (ignoredSuffix.empty() || !name.ends_with(ignoredSuffix));
}

Status unreadable(const std::string& path, const std::string& cause) {
  return Status::error("cannot read `" + path + "`: " + cause);
}

/// Whether a path is a regular file. Fails for a dangling link, since its data
/// would silently be missing.
Expected<bool> isRegular(const std::string& path) {
  std::error_code failure;
  const bool isFile = fs::is_regular_file(path, failure);
  if (failure)
    return unreadable(path, failure.message());
  return isFile;
}

Status addFile(const fs::path& path, const std::string& ignoredSuffix,
               std::vector<std::string>& files) {
  if (!isWanted(path, ignoredSuffix))
    return {};
  const Expected<bool> isFile = isRegular(path.string());
  RECIPERUN_TRY(isFile);
  if (*isFile)
    files.push_back(path.string());
  return {};
}

/// All files below a folder, in unspecified order.
Expected<std::vector<std::string>>
filesBelow(const std::string& folder, const std::string& ignoredSuffix) {
  std::vector<std::string> files;
  std::error_code failure;
  for (fs::recursive_directory_iterator at(folder, failure), end;
       !failure && at != end; at.increment(failure)) {
    RECIPERUN_TRY(checkStopSignal());
    RECIPERUN_TRY(addFile(at->path(), ignoredSuffix, files));
  }
  if (failure)
    return unreadable(folder, failure.message());
  return files;
}

/// The folder that glob(3) could not read, and the cause.
thread_local std::string globFailure;

int noteGlobFailure(const char* path, int cause) {
  if (cause == ENOENT || cause == ENOTDIR)
    return 0; // nothing there matches
  globFailure = "cannot read `" + std::string(path) +
                "`: " + std::generic_category().message(cause);
  return 1;
}

Expected<std::vector<std::string>> matching(const std::string& pattern,
                                            const std::string& ignoredSuffix) {
  glob_t found = {};
  globFailure.clear();
  const int code = glob(pattern.c_str(), 0, noteGlobFailure, &found);
  const std::vector<std::string> paths(found.gl_pathv,
                                       found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (!globFailure.empty())
    return Status::error(globFailure);
  if (code == GLOB_NOSPACE)
    return unreadable(pattern, std::strerror(ENOMEM));
  std::vector<std::string> files;
  for (const std::string& path : paths)
    RECIPERUN_TRY(addFile(path, ignoredSuffix, files));
  return files;
}

/// The files of an address: of a folder and all below it, or those that match a
/// pattern.
Expected<std::vector<std::string>>
remoteFiles(const std::string& address, const std::string& ignoredSuffix) {
  const size_t wild = address.find_first_of("*?[");
  const std::string folder = wild == address.npos
                                 ? address
                                 : address.substr(0, address.rfind('/', wild));
  Expected<RemoteFiles*> access = remoteFilesOf(address);
  RECIPERUN_TRY(access);
  const auto entries = (*access)->list(folder, RemoteFiles::Depth::allFiles);
  RECIPERUN_TRY(entries);
  std::vector<std::string> files;
  for (const RemoteEntry& entry : *entries) {
    const std::string file = folder + "/" + entry.name;
    const bool isMatch =
        wild == address.npos ||
        fnmatch(address.c_str(), file.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
    if (isMatch && isWanted(file, ignoredSuffix))
      files.push_back(file);
  }
  return files;
}

/// All files of a folder or a pattern.
Expected<std::vector<std::string>> filesIn(const std::string& path,
                                           const std::string& ignoredSuffix) {
  if (isAddress(path))
    return remoteFiles(path, ignoredSuffix);
  return isFolder(path) ? filesBelow(path, ignoredSuffix)
                        : matching(path, ignoredSuffix);
}

Status noFile(const std::string& path) {
  if (path.find_first_of("*?[") != std::string::npos)
    return Status::error("no file matches `" + path + "`");
  if (isAddress(path))
    return unreadable(path, "there is no object of this name or below it");
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0)
    return unreadable(path, std::strerror(errno));
  return Status::error("the folder `" + path +
                       "` has no files; write text or token ids into it, or "
                       "name another");
}

} // namespace

Expected<std::vector<std::string>>
filesOf(const std::vector<std::string>& paths,
        const std::string& ignoredSuffix) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    if (isThere(path) && !isFolder(path)) {
      all.push_back(path);
      continue;
    }
    Expected<std::vector<std::string>> files = filesIn(path, ignoredSuffix);
    RECIPERUN_TRY(files);
    if (files->empty())
      return noFile(path);
    std::sort(files->begin(), files->end());
    all.insert(all.end(), files->begin(), files->end());
  }
  return all;
}

std::string filesText(const std::vector<std::string>& files) {
  const size_t more = files.size() - 1;
  std::string text = "`" + files.front() + "`";
  if (more > 0)
    text += " and " + std::to_string(more) + " more files";
  return text;
}

} // namespace reciperun::data
