// Where in a configuration a field is: `input[0].dims`.

#ifndef RECIPERUN_SERVER_CONFIG_FIELDPATH_H
#define RECIPERUN_SERVER_CONFIG_FIELDPATH_H

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::server {

class FieldPath {
public:
  struct Step {
    std::string field; // its name in the message
    int index = -1;    // of a repeated field; -1: all of it
  };

  FieldPath() = default;
  FieldPath(std::string_view field) : all{{.field = std::string(field)}} {}
  FieldPath(const char* field) : FieldPath(std::string_view(field)) {}

  /// An element of the repeated field that the path ends with.
  FieldPath operator[](int index) const;
  /// A field of the message that the path ends with.
  FieldPath operator/(std::string_view field) const;

  const std::vector<Step>& steps() const { return all; }
  /// Empty for the whole configuration.
  std::string text() const;

private:
  std::vector<Step> all;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_FIELDPATH_H
