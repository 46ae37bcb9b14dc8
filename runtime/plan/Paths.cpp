// Folders are compared by their canonical paths, because `..` goes up from a
// link's target.

#include "runtime/plan/Paths.h"

#include "runtime/base/RemoteFiles.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace reciperun::plan {
namespace {

namespace fs = std::filesystem;

/// An absolute path, with links followed as far as the path exists.
/// weakly_canonical alone leaves a path relative of which nothing exists.
fs::path canonical(const fs::path& path) {
  std::error_code code;
  fs::path found =
      fs::weakly_canonical(fs::absolute(path.empty() ? "." : path, code), code);
  if (code)
    found = fs::absolute(path, code).lexically_normal();
  // `a/b/` and `a/b` are one folder.
  return found.has_filename() ? found : found.parent_path();
}

/// A folder below the working folder as a relative path, other folders as
/// absolute paths.
std::string seenFromHere(const fs::path& folder) {
  fs::path way = folder.lexically_relative(canonical("."));
  return way.empty() || *way.begin() == ".." ? folder.string() : way.string();
}

/// An address without `.` and `..`, which are no folders of a store.
std::string normalAddress(const std::string& address) {
  const size_t start = address.find("://") + 3;
  return address.substr(0, start) +
         fs::path(address.substr(start)).lexically_normal().string();
}

} // namespace

std::string resolvePath(const std::string& folder, const std::string& path) {
  if (path.empty() || path.front() == '/' || isAddress(path) ||
      folder.empty() || folder == ".")
    return path;
  return folder.back() == '/' ? folder + path : folder + "/" + path;
}

std::string folderOfFile(const std::string& file) {
  std::error_code code;
  if (file.empty())
    return ".";
  if (isAddress(file))
    return fs::path(file).parent_path().string();
  fs::file_status found = fs::status(file, code);
  if (fs::exists(found) && !fs::is_regular_file(found))
    return ".";
  return seenFromHere(canonical(file).parent_path());
}

std::string wayTo(const std::string& to, const std::string& from) {
  fs::path target = canonical(to);
  if (isAddress(from)) // no relative path leads to a disk
    return target.string();
  fs::path way = target.lexically_relative(canonical(from));
  return way.empty() ? target.string() : way.string();
}

std::string startOfPaths(const std::string& file, const std::string& folder) {
  const std::string start = resolvePath(folderOfFile(file), folder);
  return isAddress(start) ? normalAddress(start)
                          : seenFromHere(canonical(start));
}

void resolvePaths(Plan& plan, const std::string& folder) {
  plan.writtenPaths.clear();
  eachPath(plan, [&](std::string& path, const char*) {
    plan.writtenPaths.push_back(path);
    path = resolvePath(folder, path);
  });
  plan.folder = folder;
}

Plan writtenTo(const std::string& file, Plan plan) {
  size_t next = 0;
  eachPath(plan, [&](std::string& path, const char*) {
    if (next < plan.writtenPaths.size())
      path = plan.writtenPaths[next++];
  });
  plan.writtenPaths.clear();
  plan.folder = wayTo(plan.folder, folderOfFile(file));
  return plan;
}

} // namespace reciperun::plan
