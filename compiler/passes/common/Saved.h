// What `forward` keeps for `backward`.

#ifndef RECIPEC_PASSES_COMMON_SAVED_H
#define RECIPEC_PASSES_COMMON_SAVED_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Makes temporaries of the saved values that no backward function names and no
/// other stage gets.
void dropUnreadSaved(ir::Module& module);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_COMMON_SAVED_H
