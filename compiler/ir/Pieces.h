// The layout of a value's dimensions on a rank, for comparisons in the
// verifier.

#ifndef RECIPEC_IR_PIECES_H
#define RECIPEC_IR_PIECES_H

#include "compiler/ir/Ir.h"

#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace recipec::ir {

/// A dimension and the axes that split it.
struct Piece {
  DimId dim;
  AxisSet split;
  bool operator==(const Piece&) const = default;
};
using Pieces = llvm::SmallVector<Piece, 6>;

inline Pieces piecesOf(const Module& module, ValueId id) {
  const Value& value = module[id];
  Pieces result;
  for (size_t i = 0; i < value.dims.size(); ++i)
    result.push_back({value.dims[i], i < value.sharding.dims.size()
                                         ? value.sharding.dims[i]
                                         : AxisSet()});
  return result;
}

/// The axes that split any of the dimensions.
inline AxisSet splitOf(const Pieces& pieces) {
  AxisSet axes;
  for (const Piece& piece : pieces)
    axes = axes | piece.split;
  return axes;
}

/// `count` pieces from index `from` on; empty when there are fewer.
inline Pieces part(const Pieces& all, size_t from, size_t count) {
  if (from + count > all.size())
    return {};
  return Pieces(all.begin() + long(from), all.begin() + long(from + count));
}

/// Returns the errors in the attributes, types and layouts of an op; empty for
/// a sound op. Each op family has its own file of rules (VerifyAttention.cpp).
std::vector<std::string> findInOp(const Module& module, const Op& op);
std::vector<std::string> findInActivations(const Module& module, const Op& op);
std::vector<std::string> findInAttention(const Module& module, const Op& op);
std::vector<std::string> findInCollectives(const Module& module, const Op& op);
std::vector<std::string> findInDense(const Module& module, const Op& op);
std::vector<std::string> findInExperts(const Module& module, const Op& op);
std::vector<std::string> findInLoss(const Module& module, const Op& op);
std::vector<std::string> findInMoves(const Module& module, const Op& op);
std::vector<std::string> findInNorms(const Module& module, const Op& op);
std::vector<std::string> findInOptimizer(const Module& module, const Op& op);
std::vector<std::string> findInQuantization(const Module& module, const Op& op);
std::vector<std::string> findInSampling(const Module& module, const Op& op);
std::vector<std::string> findInStateSpace(const Module& module, const Op& op);

} // namespace recipec::ir

#endif // RECIPEC_IR_PIECES_H
