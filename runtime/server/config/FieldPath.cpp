// See FieldPath.h.

#include "runtime/server/config/FieldPath.h"

namespace reciperun::server {

FieldPath FieldPath::operator[](int index) const {
  FieldPath made = *this;
  if (!made.all.empty())
    made.all.back().index = index;
  return made;
}

FieldPath FieldPath::operator/(std::string_view field) const {
  FieldPath made = *this;
  made.all.push_back({.field = std::string(field)});
  return made;
}

std::string FieldPath::text() const {
  std::string made;
  for (const Step& step : all) {
    made += (made.empty() ? "" : ".") + step.field;
    if (step.index >= 0)
      made += "[" + std::to_string(step.index) + "]";
  }
  return made;
}

} // namespace reciperun::server
