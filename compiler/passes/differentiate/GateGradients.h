// The gradient of the gates of a weighted combine, without the outputs of the
// experts.
//
// An expert's last linear has no bias, so for its input h, its output y = W h
// and the gradient dy of combine's result:
//   dgate = <dy, y> = <W^T dy, h> = <dh, h> / gate,
// where dh = W^T (gate dy) is a gradient that the backward pass computes
// anyway. The dot products <dh, h>, one number for each row, are moved to the
// tokens as y was, and divided by the gates there. A gate of 0 has lost its
// gradient, but the scores of a router have the derivative 0 there.
//
// Megatron instead multiplies h by the gate in the forward pass, which also
// makes y unnecessary. It sends the gates to the experts for that. Here the
// forward pass, which inference shares, does not change.
//
// This needs a path from h to the combine that has one expert linear and
// otherwise only moves and adds rows, and no other reader of a value on it.
// Without such a path the gradient reads y, which is then saved.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_GATEGRADIENTS_H
#define RECIPEC_PASSES_DIFFERENTIATE_GATEGRADIENTS_H

#include "compiler/passes/differentiate/Cotangents.h"

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace recipec::passes {

/// Moves the ops that redistribute gates up to their router: the gates get
/// their gradient later in the backward pass than combine.
void moveGatesToRouters(ir::Function& forward);

/// The ops that move rows from the output of an expert's last linear to a
/// combine.
struct GatePath {
  const ir::Op* combine;
  std::vector<const ir::Op*> moves; // in the order of `forward`
};

/// The paths of a `forward`, whose ops must outlive them.
class GatePaths {
public:
  GatePaths(const ir::Function& forward,
            const std::function<bool(ir::ValueId)>& isActive);

  /// The path that starts at `input`, the input of an expert's last linear;
  /// null if there is none.
  const GatePath* from(ir::ValueId input) const;
  /// Whether paths lead to a combine, from all of its rows.
  bool leadTo(const ir::Op& combine) const {
    return combines.contains(&combine);
  }

private:
  std::unordered_map<ir::ValueId, GatePath> paths;
  std::unordered_set<const ir::Op*> combines;
};

/// Emits the dot products of the rows of h, the result of `maker`, and of their
/// gradients `dh`, and from them the gradient of the gates.
void differentiateGates(Cotangents& rules, const GatePath& path,
                        const ir::Op& maker, ir::ValueId dh);
/// Moves the dot products of rows along the path, and computes from them the
/// gradient of the gates.
void differentiateGatesByDots(Cotangents& rules, const GatePath& path,
                              ir::ValueId dots);
/// The axes that split a row of experts.
ir::AxisSet splitOfRows(const Cotangents& rules, ir::ValueId rows);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_GATEGRADIENTS_H
