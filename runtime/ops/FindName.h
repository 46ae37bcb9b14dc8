// Looks up an enumerator by its name.

#ifndef RECIPERUN_OPS_FINDNAME_H
#define RECIPERUN_OPS_FINDNAME_H

#include <cstddef>
#include <optional>
#include <string_view>

namespace reciperun::ops {

/// The enumerator with the name. `names` is in the order of the enumerators,
/// which count from 0.
template <class Enum, size_t count>
std::optional<Enum> findName(const char* const (&names)[count],
                             std::string_view name) {
  for (size_t i = 0; i < count; ++i)
    if (names[i] == name)
      return Enum(i);
  return std::nullopt;
}

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_FINDNAME_H
