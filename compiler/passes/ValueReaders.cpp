// See ValueReaders.h.

#include "compiler/passes/ValueReaders.h"

namespace recipec::passes {

std::vector<int> countReaders(const ir::Module& module) {
  std::vector<int> readers(module.values.size());
  for (const ir::Function& function : module.functions)
    for (const ir::Op& op : function.ops)
      for (ir::ValueId operand : op.operands)
        if (operand != ir::ValueId::none)
          ++readers[size_t(operand)];
  for (const auto& [role, value] : module.bindings)
    ++readers[size_t(value)];
  return readers;
}

} // namespace recipec::passes
