// Keywords that are not looked at only make a schema accept less, so that
// disjoint schemas stay disjoint.

#include "runtime/grammar/schema/Disjoint.h"

#include "runtime/grammar/schema/References.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace reciperun::grammar {
namespace {

constexpr int maxDepth = 4;

SchemaNode withoutReferences(const SchemaNode& root, SchemaNode node) {
  for (int i = 0; i < maxDepth && node.find("$ref"); ++i) {
    Expected<SchemaNode> target = resolveReference(root, node);
    if (!target)
      break;
    node = *target;
  }
  return node;
}

std::optional<std::vector<Json>> valuesOf(const SchemaNode& node) {
  if (const Json* value = node.find("const"))
    return std::vector<Json>{*value};
  const Json* values = node.find("enum");
  if (!values || !values->is_array())
    return std::nullopt;
  return std::vector<Json>(values->begin(), values->end());
}

Types possibleTypes(const SchemaNode& node) {
  Expected<Types> types = typesOf(node);
  Types possible = types ? *types : allTypes;
  if (const auto values = valuesOf(node)) {
    Types ofValues = 0;
    for (const Json& value : *values)
      ofValues |= typeOfValue(value);
    possible &= ofValues;
  }
  return possible;
}

bool isRequired(const SchemaNode& node, const std::string& name) {
  const Json* names = node.find("required");
  return names && names->is_array() &&
         std::find(names->begin(), names->end(), name) != names->end();
}

const Json* propertyOf(const SchemaNode& node, const std::string& name) {
  const Json* properties = node.find("properties");
  if (!properties || !properties->is_object())
    return nullptr;
  const auto found = properties->find(name);
  return found == properties->end() ? nullptr : &*found;
}

bool excludes(const SchemaNode& node, const std::string& name) {
  const Json* additional = node.find("additionalProperties");
  return additional && *additional == false && !propertyOf(node, name);
}

class Comparison {
public:
  explicit Comparison(const SchemaNode& root) : root(root) {}

  bool areDisjoint(SchemaNode a, SchemaNode b, int depth) const {
    a = withoutReferences(root, a);
    b = withoutReferences(root, b);
    if (*a.schema == false || *b.schema == false)
      return true;
    const Types common = possibleTypes(a) & possibleTypes(b);
    if (common == 0)
      return true;
    const auto some = valuesOf(a), others = valuesOf(b);
    if (some && others)
      return std::none_of(some->begin(), some->end(), [&](const Json& value) {
        return std::find(others->begin(), others->end(), value) !=
               others->end();
      });
    return common == objectType && depth < maxDepth &&
           (differInMember(a, b, depth) || differInMember(b, a, depth));
  }

private:
  /// Whether a member that `a` requires cannot be one of `b`.
  bool differInMember(const SchemaNode& a, const SchemaNode& b,
                      int depth) const {
    const Json* names = a.find("required");
    if (!names || !names->is_array())
      return false;
    for (const Json& each : *names) {
      if (!each.is_string())
        continue;
      const std::string& name = each.get_ref<const std::string&>();
      if (excludes(b, name))
        return true;
      const Json *one = propertyOf(a, name), *two = propertyOf(b, name);
      if (one && two && isRequired(b, name) &&
          areDisjoint({one, ""}, {two, ""}, depth + 1))
        return true;
    }
    return false;
  }

  const SchemaNode& root;
};

} // namespace

bool areDisjoint(const SchemaNode& root, const SchemaNode& first,
                 const SchemaNode& second) {
  return Comparison(root).areDisjoint(first, second, 0);
}

} // namespace reciperun::grammar
