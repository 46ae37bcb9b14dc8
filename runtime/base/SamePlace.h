// Compares paths that users give, which may be addresses.

#ifndef RECIPERUN_BASE_SAMEPLACE_H
#define RECIPERUN_BASE_SAMEPLACE_H

#include <filesystem>
#include <string>

namespace reciperun {

/// Whether two paths name one existing file or folder, with links followed.
/// Addresses are compared as they are written, but for slashes at the end.
bool isSamePlace(const std::filesystem::path& a,
                 const std::filesystem::path& b);

/// The last name of a path without slashes at the end: `model` of `a/model/`.
/// Empty for the root of a disk.
std::string lastNameOf(const std::filesystem::path& path);

} // namespace reciperun

#endif // RECIPERUN_BASE_SAMEPLACE_H
