// See SourceFiles.h.

#include "runtime/data/SourceFiles.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace reciperun::data {

namespace {

namespace fs = std::filesystem;

bool isWanted(const fs::path& file, const std::string& ignoredSuffix) {
  const std::string name = file.filename().string();
  return !name.starts_with(".") &&
         (ignoredSuffix.empty() || !name.ends_with(ignoredSuffix));
}

/// All files below a folder, in no order.
Expected<std::vector<std::string>> filesBelow(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failure;
  for (fs::recursive_directory_iterator at(folder, failure), end;
       !failure && at != end; at.increment(failure))
    if (at->is_regular_file(failure))
      files.push_back(at->path().string());
  if (failure)
    return Status::error("cannot read the folder `" + folder +
                         "`: " + failure.message());
  return files;
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i)
      if (fs::is_regular_file(found.gl_pathv[i]))
        files.push_back(found.gl_pathv[i]);
  globfree(&found);
  return files;
}

Status noFile(const std::string& path) {
  if (path.find_first_of("*?[") != std::string::npos)
    return Status::error("no file matches `" + path + "`");
  std::error_code failure;
  return Status::error(fs::is_directory(path, failure)
                           ? "the folder `" + path + "` has no files"
                           : "the file `" + path + "` does not exist");
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
        isFolder ? filesBelow(path) : matching(path);
    RECIPERUN_TRY(files);
    std::erase_if(*files, [&](const std::string& file) {
      return !isWanted(file, ignoredSuffix);
    });
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
