// The ops between a model's last op that mixes tokens and its logits.

#ifndef RECIPEC_PASSES_INFERENCE_TOKENWISETAIL_H
#define RECIPEC_PASSES_INFERENCE_TOKENWISETAIL_H

#include "compiler/ir/Ir.h"

#include <set>

namespace recipec::passes {

/// A chain of ops that compute each token of `last` only from the same token of
/// `input`.
struct TokenWiseTail {
  /// The value that the first op of the chain reads; `last` itself when the
  /// chain is empty.
  ir::ValueId input = ir::ValueId::none;
  std::set<ir::ValueId> results; // of the ops in the chain
};

/// Finds the longest such chain. `last` and `input` are [1, tokens, ...]. Each
/// value in between has one reader.
TokenWiseTail findTokenWiseTail(const ir::Module& program,
                                const ir::Function& forward, ir::ValueId last);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_TOKENWISETAIL_H
