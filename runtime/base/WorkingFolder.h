// Where relative paths start, for messages about missing files.

#ifndef RECIPERUN_BASE_WORKINGFOLDER_H
#define RECIPERUN_BASE_WORKINGFOLDER_H

#include <filesystem>
#include <string>

namespace reciperun {

/// `, where relative paths start in ...` for a relative path; empty for others.
inline std::string startOf(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::current_path(error);
  if (error || path.is_absolute())
    return {};
  return "; relative paths start in `" + folder.string() + "`";
}

} // namespace reciperun

#endif // RECIPERUN_BASE_WORKINGFOLDER_H
