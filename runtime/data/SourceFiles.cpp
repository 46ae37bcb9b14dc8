// See SourceFiles.h.

#include "runtime/data/SourceFiles.h"

#include "runtime/base/StopSignal.h"

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

Status noFile(const std::string& path) {
  if (path.find_first_of("*?[") != std::string::npos)
    return Status::error("no file matches `" + path + "`");
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
    std::error_code failure;
    const bool isFolder = fs::is_directory(path, failure);
    if (!isFolder && fs::exists(path, failure)) {
      all.push_back(path);
      continue;
    }
    Expected<std::vector<std::string>> files =
        isFolder ? filesBelow(path, ignoredSuffix)
                 : matching(path, ignoredSuffix);
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
