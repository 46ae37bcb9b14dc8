// Finds the linear ops that a recipe's list of targets names.

#ifndef RECIPEC_PASSES_BUILD_ADAPTERTARGETS_H
#define RECIPEC_PASSES_BUILD_ADAPTERTARGETS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace recipec::passes {

/// Targets are linear ops that make their own weight, by the last parts of
/// their names. A linear whose weight is only a part of the rows of a Hugging
/// Face tensor cannot be a target, because an adapter there covers the whole
/// tensor.
class AdapterTargets {
public:
  /// `path` is the setting with the list: `adapter.targets`.
  AdapterTargets(const ir::Module& module, const recipe::Recipe& recipe,
                 std::string path, diag::Engine& engine);

  /// Reads the list. Reports targets that match no linear, with the available
  /// names, and returns false if there are any.
  bool find();
  bool contains(const ir::Op& op) const;

private:
  bool isNamedLinear(const ir::Op& op) const;
  bool isPart(const ir::Op& linear) const;
  const ir::Op* findPart(const std::string& name) const;
  bool isOfExperts(const std::string& name) const;
  std::optional<std::string> namedByCheckpoint(std::string_view name) const;

  void reportDefault(SourceRange place, const std::vector<std::string>& missing,
                     const std::vector<std::string>& candidates);
  void reportPart(const recipe::Value& target, const ir::Op& part,
                  const std::vector<std::string>& candidates);
  void reportUnknown(const recipe::Value& target, const std::string& name,
                     const std::vector<std::string>& candidates);

  const ir::Module& module;
  const recipe::Recipe& recipe;
  std::string path;
  diag::Engine& engine;
  std::unordered_map<ir::ValueId, ir::ParamId> paramOf;
  std::set<std::string, std::less<>> targets;
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_ADAPTERTARGETS_H
