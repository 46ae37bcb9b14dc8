// Values that `forward` saves for `backward`.

#ifndef RECIPEC_PASSES_SAVEDVALUES_H
#define RECIPEC_PASSES_SAVEDVALUES_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Turns saved values into temporaries when no backward function uses them and
/// no stage receives them.
void dropUnreadSaved(ir::Module& module);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SAVEDVALUES_H
