// The elements of NCCL's topology files and their attributes.

#ifndef RECIPERUN_TOPOLOGY_NCCLXMLGRAMMAR_H
#define RECIPERUN_TOPOLOGY_NCCLXMLGRAMMAR_H

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reciperun::topology {

struct AttributeRule {
  enum class Kind {
    text,
    number,
    busId,
    classCode,
    linkSpeed,
    mask,
    architecture,
    target
  };
  std::string_view name;
  Kind kind = Kind::text;
  bool isNeeded = false;
};

struct ElementRule {
  std::string_view name;
  std::span<const AttributeRule> attributes;
  std::span<const std::string_view> children;

  bool takesChild(std::string_view child) const;
  /// The rule of an attribute; null when NCCL does not read it.
  const AttributeRule* find(std::string_view attribute) const;
};

/// The rule of an element; null for a name that NCCL does not know.
const ElementRule* findElementRule(std::string_view name);

/// The element that takes elements of a name as children, `pci` of `gpu`;
/// empty for `system` and for unknown names.
std::string_view parentOf(std::string_view name);

/// Why a value is none of the kind, and what one looks like; nullopt when it is
/// one.
std::optional<std::string> objectionTo(AttributeRule::Kind kind,
                                       const std::string& value);

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_NCCLXMLGRAMMAR_H
