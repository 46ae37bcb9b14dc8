// Optional fields of a JSON object.

#ifndef RECIPERUN_TRAIN_METRICS_JSONFIELDS_H
#define RECIPERUN_TRAIN_METRICS_JSONFIELDS_H

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace reciperun::train {

/// A number; nullopt when the field is absent or something else, such as the
/// null that stands for NaN.
inline std::optional<double> numberAt(const nlohmann::json& object,
                                      const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number())
    return std::nullopt;
  return found->get<double>();
}

/// A string; empty when the field is absent or something else.
inline std::string stringAt(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_JSONFIELDS_H
