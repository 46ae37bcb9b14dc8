// The JSON of requests, read as Triton reads it.
//
// The parser is the one that Triton uses, so that the texts and offsets of its
// failures are the same; it takes `NaN` and `Infinity`, and keeps members that
// are given twice. The functions for access fail with the texts of Triton's
// JSON layer. Triton counts all of these failures as internal ones (500).
//
// Arrays of a tensor's elements are kept apart from the document, which is slow
// and large: what remains of them there is `[<index>]`.

#ifndef RECIPERUN_SERVER_KSERVE_REQUESTJSON_H
#define RECIPERUN_SERVER_KSERVE_REQUESTJSON_H

#include "runtime/base/Status.h"
#include "runtime/server/kserve/JsonElements.h"

#include <rapidjson/document.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::server {

using JsonValue = rapidjson::Value;

/// Which arrays contain the elements of tensors.
enum class ElementPlace {
  nowhere,
  inputs, // `data` of the objects in the list `inputs`
  members // members of the body and of objects in it
};

struct RequestJson {
  rapidjson::Document values;
  std::vector<JsonElements> elements;

  /// The elements that replace an array of the document.
  const JsonElements& elementsOf(const JsonValue& array) const {
    return elements[array[0].GetUint()];
  }
};

/// Parses a body of at most `mostBytes`. Fails with `failed to parse the
/// request JSON buffer: <cause> at <offset>`, and where it has more than a
/// million values besides elements. Nesting takes no stack.
Expected<RequestJson>
parseRequestJson(std::string_view text, size_t mostBytes,
                 ElementPlace place = ElementPlace::nowhere);

/// The error `attempt to access JSON <is> as <asked>`.
Status wrongAccess(const std::string& is, const std::string& asked);

Expected<bool> boolOf(const JsonValue& value);
Expected<int64_t> signedOf(const JsonValue& value);
Expected<uint64_t> unsignedOf(const JsonValue& value);
Expected<double> doubleOf(const JsonValue& value);
/// Valid as long as the document.
Expected<std::string_view> stringOf(const JsonValue& value);

/// The first member of that name; null if `object` is no object or has no such
/// member.
const JsonValue* findMember(const JsonValue& object, const char* name);
/// Fails also where `object` has no such member.
Expected<std::string_view> stringMember(const JsonValue& object,
                                        const char* name);
Expected<const JsonValue*> arrayMember(const JsonValue& object,
                                       const char* name);
/// Fails where `value` is no object.
Status expectObject(const JsonValue& value);

inline std::string_view nameOf(const JsonValue::Member& member) {
  return {member.name.GetString(), member.name.GetStringLength()};
}

/// The failure `status` with its context: `Unable to parse '<name>': ...`.
Status unableToParse(const char* name, const Status& status);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_REQUESTJSON_H
