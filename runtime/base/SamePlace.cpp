// See SamePlace.h. An object store has no links.

#include "runtime/base/SamePlace.h"

#include "runtime/base/RemoteFiles.h"

#include <system_error>

namespace reciperun {
namespace {

/// The text of an address without slashes at the end.
std::string addressText(const std::filesystem::path& address) {
  std::string text = address.string();
  while (text.ends_with('/'))
    text.pop_back();
  return text;
}

} // namespace

bool isSamePlace(const std::filesystem::path& a,
                 const std::filesystem::path& b) {
  if (isAddress(a) || isAddress(b))
    return addressText(a) == addressText(b);
  std::error_code code;
  return std::filesystem::equivalent(a, b, code);
}

std::string lastNameOf(const std::filesystem::path& path) {
  if (isAddress(path))
    return std::filesystem::path(addressText(path)).filename().string();
  const std::filesystem::path whole = std::filesystem::absolute(path);
  return (whole.filename().empty() ? whole.parent_path() : whole)
      .filename()
      .string();
}

} // namespace reciperun
