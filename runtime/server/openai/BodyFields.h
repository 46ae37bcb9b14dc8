// Access to the fields of a request's body.

#ifndef RECIPERUN_SERVER_OPENAI_BODYFIELDS_H
#define RECIPERUN_SERVER_OPENAI_BODYFIELDS_H

#include <nlohmann/json.hpp>

namespace reciperun::server {

/// A field of an object that is neither absent nor null; otherwise null.
inline const nlohmann::ordered_json*
findField(const nlohmann::ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_BODYFIELDS_H
