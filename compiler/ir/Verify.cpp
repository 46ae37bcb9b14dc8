// Checks a module; see Verify.h.
//
// 1. References and names: every id is in range, names are unique, an op has
//    the operands and results that its description states.
// 2. Lifetimes: a temporary is defined in its function before it is read, a
//    saved value in the same or an earlier function.
// 3. Types and layouts of each op: VerifyOps.cpp.

#include "compiler/ir/Verify.h"

#include "compiler/ir/Pieces.h"
#include "compiler/ir/Print.h"
#include "runtime/ops/OpTable.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"

#include <string_view>

namespace recipec::ir {

namespace {

class Verifier {
public:
  explicit Verifier(const Module& module) : module(module) {}

  std::vector<std::string> run() {
    names();
    values();
    references();
    if (!findings.empty())
      return findings; // the following checks rely on sound references
    defined.resize(module.values.size());
    for (const Function& each : module.functions)
      function(each);
    return std::move(findings);
  }

private:
  // ---- references and names

  void find(std::string text) { findings.push_back(std::move(text)); }

  void find(const Op& op, const std::string& text) {
    find("in `" + functionName + "`: " + text + ": " + print(module, op));
  }

  bool inRange(ValueId id) const {
    return id == ValueId::none || size_t(id) < module.values.size();
  }

  void names() {
    llvm::DenseSet<llvm::StringRef> seen;
    for (const Value& value : module.values)
      if (!seen.insert(value.name).second)
        find("two values are named `" + value.name + "`");
    seen.clear();
    for (const Dim& dim : module.dims)
      if (!seen.insert(dim.name).second)
        find("two dimensions are named `" + dim.name + "`");
  }

  void values() {
    for (const Value& value : module.values) {
      for (DimId dim : value.dims)
        if (size_t(dim) >= module.dims.size())
          find("`" + value.name + "` has a dimension that is none");
      if (module.isProgram && value.sharding.dims.size() != value.dims.size())
        find("the sharding of `" + value.name + "` is of another rank");
      if (findings.empty())
        sharding(value);
    }
  }

  void sharding(const Value& value) {
    AxisSet seen = value.sharding.partial;
    for (size_t i = 0; i < value.sharding.dims.size(); ++i) {
      AxisSet split = value.sharding.dims[i];
      if (!(split & seen).empty())
        find("`" + value.name + "` uses an axis twice");
      seen = seen | split;
      if (module[value.dims[i]].size % sizeOf(module, split) != 0)
        find("`" + value.name + "` is not split evenly");
    }
  }

  void references() {
    for (const Param& param : module.params) {
      if (param.value == ValueId::none || !inRange(param.value) ||
          !inRange(param.gradient))
        find("parameter `" + param.name + "` has no value");
      if (!param.trainable && param.gradient != ValueId::none)
        find("frozen parameter `" + param.name + "` has a gradient");
      if (param.hfRows > 0 && (param.hfShape.empty() || param.hfFirst < 0 ||
                               param.hfFirst > param.hfRows - param.hfShape[0]))
        find("parameter `" + param.name + "` begins at row " +
             std::to_string(param.hfFirst) + " of the " +
             std::to_string(param.hfRows) + " of its tensor elsewhere");
    }
    for (const auto& [role, value] : module.bindings)
      if (value == ValueId::none || !inRange(value))
        find("the binding `" + role + "` has no value");
    for (const Function& function : module.functions)
      for (const Op& op : function.ops)
        counts(function, op);
  }

  void counts(const Function& function, const Op& op) {
    // Builds the text only for a finding: there are many ops.
    auto findHere = [&](const std::string& text) {
      find("in `" + function.name + "`: `" + std::string(ops::opName(op.kind)) +
           "` " + op.name + text);
    };
    const ops::OpInfo& expected = ops::infoOf(op.kind);
    if (op.operands.size() != expected.operands.size())
      findHere(" has " + std::to_string(op.operands.size()) +
               " operands instead of " +
               std::to_string(expected.operands.size()));
    if (op.results.size() != expected.results.size())
      findHere(" has " + std::to_string(op.results.size()) +
               " results instead of " +
               std::to_string(expected.results.size()));
    for (const std::vector<ValueId>* list : {&op.operands, &op.results})
      for (ValueId id : *list)
        if (!inRange(id))
          findHere(" refers to a value that is none");
  }

  // ---- lifetimes

  void function(const Function& function) {
    functionName = function.name;
    std::vector<ValueId> locals;
    for (const Op& op : function.ops) {
      for (ValueId id : op.operands)
        if (id != ValueId::none && !isDefined(id))
          find(op, "`" + module[id].name + "` is read before it is defined");
      for (ValueId id : op.results) {
        if (id == ValueId::none)
          continue;
        defined[size_t(id)] = true;
        if (module[id].kind == ValueKind::temporary)
          locals.push_back(id);
        if (module[id].kind == ValueKind::input)
          find(op, "an input is written");
      }
      for (const std::string& finding : findInOp(module, op))
        find(op, finding);
    }
    for (ValueId id : locals)
      defined[size_t(id)] = isBound(id);
  }

  bool isBound(ValueId id) const {
    for (const auto& [role, value] : module.bindings)
      if (value == id)
        return true;
    return false;
  }

  bool isDefined(ValueId id) const {
    ValueKind kind = module[id].kind;
    return (kind != ValueKind::temporary && kind != ValueKind::saved) ||
           defined[size_t(id)];
  }

  const Module& module;
  std::vector<std::string> findings;
  std::string functionName;
  std::vector<bool> defined;
};

} // namespace

std::vector<std::string> verify(const Module& module) {
  return Verifier(module).run();
}

} // namespace recipec::ir
