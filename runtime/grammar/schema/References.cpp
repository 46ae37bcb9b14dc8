// A JSON pointer (RFC 6901) as a URI fragment: `#/$defs/a~1b`, with `%XX` for
// other characters.

#include "runtime/grammar/schema/References.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

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

/// Where a pointer leads below `root`: to a node, or to the last node on its
/// way and the key that this node lacks.
struct Way {
  SchemaNode end;
  std::optional<std::string> missing = {};
};

Way follow(const SchemaNode& root, std::string_view pointer) {
  Way way{root};
  while (!pointer.empty()) {
    pointer.remove_prefix(1); // the slash
    const std::string key =
        unescapeSegment(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(std::min(pointer.find('/'), pointer.size()));
    const Json& at = *way.end.schema;
    size_t index = 0;
    const auto [end, error] =
        std::from_chars(key.data(), key.data() + key.size(), index);
    const bool isIndex = at.is_array() && error == std::errc() &&
                         end == key.data() + key.size() && index < at.size();
    if (isIndex)
      way.end = way.end.child(index);
    else if (at.is_object() && at.contains(key))
      way.end = way.end.child(key);
    else
      return {way.end, key};
  }
  return way;
}

/// The pointer with `$defs` for `definitions`, or the other way round, where
/// that leads to a schema; empty elsewhere.
std::string withOtherName(const SchemaNode& root, const std::string& pointer) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"/definitions/", "/$defs/"}, {"/$defs/", "/definitions/"}};
  for (const auto& [written, other] : names)
    if (pointer.starts_with(written)) {
      const std::string meant =
          std::string(other) + pointer.substr(written.size());
      if (!follow(root, meant).missing)
        return meant;
    }
  return {};
}

/// The help for a pointer with a missing key.
std::string helpWithPointer(const SchemaNode& root, const std::string& pointer,
                            const Way& way) {
  if (const std::string meant = withOtherName(root, pointer); !meant.empty())
    return "; write `#" + meant + "`";
  constexpr size_t most = 6;
  std::string names;
  size_t count = 0;
  if (way.end.path != "#" && way.end.schema->is_object())
    for (const auto& [name, value] : way.end.schema->items())
      if (count++ < most)
        names += (names.empty() ? "`" : ", `") + name + "`";
  if (!names.empty())
    return "; it has " + names + (count > most ? " and others" : "");
  return "; write the schema there, or a pointer to one, such as "
         "`#/$defs/NAME`";
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
  const std::string pointer(rest.substr(1));
  const Way way = follow(root, pointer);
  if (way.missing)
    return schemaError(path, "is " + shown(reference) + ", and `" +
                                 way.end.path + "` has no `" + *way.missing +
                                 "`" + helpWithPointer(root, pointer, way));
  return way.end;
}

} // namespace reciperun::grammar
