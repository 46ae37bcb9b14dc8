// Implicit inputs; see Inputs.h.

#include "compiler/passes/build/Inputs.h"

#include <array>
#include <cassert>

namespace recipec::passes {

namespace {

struct Input {
  std::string_view role;
  ir::DType type;
  int rank; // 1: [batch], 2: [batch, sequence]
};
constexpr std::array<Input, 11> inputs = {{
    {"tokens", ir::DType::i32, 2},
    {"labels", ir::DType::i32, 2},
    {"weights", ir::DType::f32, 2},
    {"further_labels", ir::DType::i32, 2},
    {"further_weights", ir::DType::f32, 2},
    {"positions", ir::DType::i32, 2},
    {"segments", ir::DType::i32, 2},
    {"places", ir::DType::i32, 2},
    {"adapters", ir::DType::i32, 2},
    {"samples", ir::DType::i64, 1},
    {"loss_scale", ir::DType::f32, 0},
}};

} // namespace

std::vector<std::string_view> inputRoles() {
  std::vector<std::string_view> roles;
  for (const Input& input : inputs)
    roles.push_back(input.role);
  return roles;
}

ir::ValueId obtainInput(ir::Module& module, std::string_view role) {
  auto bound = module.bindings.find(std::string(role));
  if (bound != module.bindings.end())
    return bound->second;
  for (const Input& input : inputs) {
    if (input.role != role)
      continue;
    ir::Value value;
    value.name = role;
    value.kind = ir::ValueKind::input;
    value.type = input.type;
    if (input.rank > 0)
      value.dims.push_back(ir::findDim(module, "batch"));
    if (input.rank > 1)
      value.dims.push_back(ir::findDim(module, "sequence"));
    ir::ValueId id = ir::addValue(module, std::move(value));
    module.bindings.emplace(role, id);
    return id;
  }
  assert(false && "no input has this role");
  return ir::ValueId::none;
}

} // namespace recipec::passes
