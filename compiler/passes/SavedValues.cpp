// One pass over the reads, then one over the values.

#include "compiler/passes/SavedValues.h"

#include <vector>

namespace recipec::passes {

void dropUnreadSaved(ir::Module& module) {
  std::vector<bool> isRead(module.values.size());
  for (const ir::Function& function : module.functions)
    if (function.name.starts_with("backward"))
      for (const ir::Op& op : function.ops)
        for (const auto* list : {&op.operands, &op.results})
          for (ir::ValueId value : *list)
            if (value != ir::ValueId::none)
              isRead[size_t(value)] = true;
  for (const ir::Transfer& transfer : module.transfers)
    isRead[size_t(transfer.value)] = true;
  for (size_t i = 0; i < module.values.size(); ++i)
    if (module.values[i].kind == ir::ValueKind::saved && !isRead[i])
      module.values[i].kind = ir::ValueKind::temporary;
}

} // namespace recipec::passes
