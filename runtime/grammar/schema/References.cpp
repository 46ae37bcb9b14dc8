// A JSON pointer (RFC 6901) as a URI fragment: `#/$defs/a~1b`, with `%XX` for
// other characters.

#include "runtime/grammar/schema/References.h"

#include <charconv>

namespace reciperun::grammar {
namespace {

/// The key that a segment of a pointer spells.
std::string unescapeSegment(std::string_view segment) {
  std::string bytes;
  for (size_t i = 0; i < segment.size(); ++i) {
    unsigned value = 0;
    const char* digits = segment.data() + i + 1;
    if (segment[i] == '%' && i + 2 < segment.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      bytes += static_cast<char>(value);
      i += 2;
    } else {
      bytes += segment[i];
    }
  }
  std::string key;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool isEscape = bytes[i] == '~' && i + 1 < bytes.size() &&
                          (bytes[i + 1] == '0' || bytes[i + 1] == '1');
    key += isEscape ? (bytes[++i] == '0' ? '~' : '/') : bytes[i];
  }
  return key;
}

} // namespace

Expected<SchemaNode> resolveReference(const SchemaNode& root,
                                      const SchemaNode& node) {
  const Json& reference = *node.find("$ref");
  const std::string path = node.path + "/$ref";
  if (!reference.is_string())
    return schemaError(path, "takes a text, not `" + shown(reference) + "`");
  std::string_view rest = reference.get_ref<const std::string&>();
  const bool isPointer = rest == "#" || rest.starts_with("#/");
  if (!isPointer)
    return schemaError(path, "is " + shown(reference) +
                                 "; only pointers inside the schema, such as "
                                 "`#/$defs/name`, are supported");
  rest.remove_prefix(1);
  SchemaNode at = root;
  while (!rest.empty()) {
    rest.remove_prefix(1); // the slash
    const std::string key = unescapeSegment(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(rest.find('/'), rest.size()));
    size_t index = 0;
    const auto [end, error] =
        std::from_chars(key.data(), key.data() + key.size(), index);
    const bool isIndex = at.schema->is_array() && error == std::errc() &&
                         end == key.data() + key.size() &&
                         index < at.schema->size();
    if (isIndex)
      at = at.child(index);
    else if (at.schema->is_object() && at.schema->contains(key))
      at = at.child(key);
    else
      return schemaError(path, "is " + shown(reference) + ", and `" + at.path +
                                   "` has no `" + key + "`");
  }
  return at;
}

} // namespace reciperun::grammar
