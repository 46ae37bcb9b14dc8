// 1. The kind of an op determines its matmuls, or the FLOPs of its attention or
//    scan.
// 2. Their efficiency determines the time of arithmetic.
// 3. The operands and results determine the memory traffic.
//
// The constants are calibrated on one H200, with the op-by-op times of
// docs/performance.md and with benchmarks of single matmuls and attention ops.

#include "compiler/cost/Kernels.h"

#include "compiler/cost/Flops.h"
#include "compiler/cost/Traffic.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/ExpertOps.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/OpTable.h"

#include <cmath>

namespace recipec::cost {
namespace {

using ir::OpKind;
using ir::ValueId;

// ---- matmuls

/// The prologue and epilogue of a tile, in elements of k that take as long.
constexpr double pauseOfTile = 200;

/// The efficiency of a kernel with several matmuls of different sizes, relative
/// to one with equal sizes.
constexpr double groupedEfficiency = 0.9;

/// The load of the busiest rank of a group relative to the mean, when routers
/// choose experts.
constexpr double imbalanceOfExperts = 1.08;

struct Tile {
  double rows, columns;
};
constexpr Tile tiles[] = {{128, 256}, {256, 128}, {128, 128}, {128, 64},
                          {64, 128},  {128, 32},  {32, 128}};

/// The speed of a tile relative to 128 x 256. A narrow tile loads more bytes
/// per FLOP.
double speedOf(const Tile& tile) {
  constexpr double loads = 25;
  return (1 + loads * (1.0 / 128 + 1.0 / 256)) /
         (1 + loads * (1 / tile.rows + 1 / tile.columns));
}

// ---- attention

// Attention reaches only a fraction of the rate of large matmuls. The fraction
// falls with narrow heads: the exponential of a query and a key takes as long
// as `exponentialsWidth` elements of a head. It also falls with few keys: the
// prologue and epilogue of a block of queries take as long as `pauseKeys` keys.
// A backward pass computes 5 matmuls, of which the FLOPs count 4.
struct AttentionRate {
  double share;
  double exponentialsWidth;
  double pauseKeys;
};
constexpr AttentionRate forwardAttention = {1.15, 62, 300};
constexpr AttentionRate backwardAttention = {0.80, 39, 960};

/// The assumed average length of packed documents in tokens. A recipe does not
/// state it; samples for fine-tuning are short.
constexpr double packedTokens = 512;

// ---- other ops

/// The FLOP/s of a scan over states relative to large matmuls: with 64 states a
/// scan takes as long as attention over some 2,500 tokens (Dao & Gu 2024,
/// figure 10).
constexpr double scanEfficiency = 0.05;

bool isBackwardAttention(OpKind kind) {
  return kind == OpKind::AttentionBackward ||
         kind == OpKind::RingAttentionBackward ||
         kind == OpKind::AttentionBlockBackward;
}

bool isExpertLinear(OpKind kind) {
  return kind == OpKind::ExpertLinear || kind == OpKind::ExpertLinearDgrad ||
         kind == OpKind::ExpertLinearWgrad;
}

} // namespace

double matmulEfficiency(const MatmulShape& shape, double multiprocessors,
                        double pause) {
  double best = 0;
  for (const Tile& tile : tiles)
    for (double split : {1.0, 2.0, 4.0, 8.0}) {
      const double count = shape.count * std::ceil(shape.m / tile.rows) *
                           std::ceil(shape.n / tile.columns) * split;
      const double waves = std::ceil(count / multiprocessors);
      const double seconds = waves * tile.rows * tile.columns *
                             (shape.k / split + pause) / speedOf(tile);
      best = std::max(best, shape.count * shape.m * shape.n * shape.k /
                                (multiprocessors * seconds));
    }
  return best;
}

double attentionEfficiency(double width, double keys, bool isBackward,
                           double exponentials) {
  const AttentionRate& rate = isBackward ? backwardAttention : forwardAttention;
  return rate.share * width / (width + rate.exponentialsWidth / exponentials) *
         keys / (keys + rate.pauseKeys);
}

Kernels::Kernels(const ir::Module& program, const Machine& machine)
    : program(program), machine(machine), imbalance(imbalanceOfExperts) {
  auto wholeShapeOf = [&](ValueId value) {
    std::vector<int64_t> shape;
    for (ir::DimId dim : program[value].dims)
      shape.push_back(program[dim].size);
    return shape;
  };
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops)
      if (op.kind == OpKind::Dispatch) {
        const ValueId rows = op.results[0];
        const std::vector<int64_t> shape = ir::localShape(program, rows);
        usedRows[program[rows].dims[1]] =
            std::min(1.0, double(ir::localElements(program, op.operands[1])) /
                              (double(shape[0]) * double(shape[1])));
      } else if (op.kind == OpKind::Route) {
        const ops::RouteAttributes attributes(op.attributes);
        const std::vector<int64_t> scores = wholeShapeOf(op.operands[0]);
        const std::vector<int64_t> choices = wholeShapeOf(op.results[0]);
        // The average number of tokens of a sequence that an expert gets.
        const double mean = double(choices[1] * choices[2]) / double(scores[2]);
        if (attributes.limit > 0)
          imbalance =
              std::clamp(double(attributes.limit) / mean, 1.0, imbalance);
      } else if (op.kind == OpKind::ExpertLinear)
        usedRows.try_emplace(program[op.operands[0]].dims[1],
                             ops::ExpertLinearAttributes(op.attributes).used);
}

double Kernels::usedBytes(ValueId value) const {
  const double bytes = double(ir::localBytes(program, value));
  return hasExpertRows(value) ? bytes * usedRows.at(program[value].dims[1])
                              : bytes;
}

bool Kernels::hasExpertRows(ValueId value) const {
  const std::vector<ir::DimId>& dims = program[value].dims;
  return dims.size() >= 3 && usedRows.contains(dims[1]);
}

KernelCost Kernels::costOf(const ir::Op& op) const {
  KernelCost cost;
  if (op.kind == OpKind::View || op.attributes.flag("nothing"))
    return cost;
  cost.launch = machine.launch;
  cost.moving = trafficBytes(program, op,
                             [&](ValueId value) { return usedBytes(value); }) /
                machine.bandwidth;
  switch (ops::infoOf(op.kind).family) {
  case ops::OpFamily::attention:
    cost.work = Work::attention;
    addAttention(cost, op);
    break;
  case ops::OpFamily::experts:
    cost.work = Work::matmuls;
    if (isExpertLinear(op.kind))
      addExperts(cost, op);
    break;
  case ops::OpFamily::dense:
  case ops::OpFamily::quantization:
    cost.work = Work::matmuls;
    addMatmuls(cost, op);
    break;
  case ops::OpFamily::stateSpace:
    cost.computing = localFlops(program, op) / machine.matmul /
                     (machine.isGpu ? scanEfficiency : 1);
    cost.energy = cost.computing;
    cost.work = Work::scans;
    break;
  default:
    break;
  }
  if (cost.computing == 0)
    cost.work = Work::memory;
  return cost;
}

void Kernels::addMatmul(KernelCost& cost, const MatmulShape& shape,
                        bool isNarrow) const {
  const double rate = isNarrow ? machine.narrowMatmul : machine.matmul;
  const double seconds = 2 * shape.count * shape.m * shape.n * shape.k / rate;
  cost.energy += seconds;
  cost.computing +=
      machine.isGpu ? seconds / matmulEfficiency(shape, machine.multiprocessors,
                                                 pauseOfTile)
                    : seconds;
}

/// Adds the matmuls of a dense op. Their sizes follow from the numbers of
/// elements of two operands and the result, [m,k], [n,k] and [m,n] in any
/// order.
void Kernels::addMatmuls(KernelCost& cost, const ir::Op& op) const {
  const double flops = localFlops(program, op);
  if (flops == 0)
    return;
  auto add = [&](ValueId a, ValueId b, ValueId c) {
    const double mk = double(ir::localElements(program, a));
    const double nk = double(ir::localElements(program, b));
    const double mn = double(ir::localElements(program, c));
    addMatmul(cost,
              {std::sqrt(mk * mn / nk), std::sqrt(nk * mn / mk),
               std::sqrt(mk * nk / mn)},
              isNarrowMatmul(op));
  };
  switch (op.kind) {
  case OpKind::LinearJoint:
  case OpKind::LinearJointWgrad:
  case OpKind::LinearJointDgrad:
    for (size_t i = 0; i < 3; ++i) {
      const bool isDgrad = op.kind == OpKind::LinearJointDgrad;
      const ValueId own = op.operands[isDgrad ? i : 1 + i];
      if (own == ValueId::none)
        continue;
      if (isDgrad)
        add(own, op.operands[3 + i], op.results[0]);
      else
        add(op.operands[0], own, op.results[i]);
    }
    break;
  case OpKind::AdapterLinear:
  case OpKind::QuantizedLinear:
    cost.energy = cost.computing = flops / machine.matmul;
    break;
  default:
    add(op.operands[0], op.operands[1], op.results[0]);
  }
}

/// Adds one matmul per expert of the rank, over the expert's rows with tokens.
void Kernels::addExperts(KernelCost& cost, const ir::Op& op) const {
  const bool isWgrad = op.kind == OpKind::ExpertLinearWgrad;
  const std::vector<int64_t> rows = ir::localShape(program, op.operands[0]);
  const std::vector<int64_t> weight =
      ir::localShape(program, isWgrad ? op.results[0] : op.operands[1]);
  const double experts = double(weight[0]);
  const double used = ops::ExpertLinearAttributes(op.attributes).used;
  const double each =
      used * double(rows[0]) * double(rows[1]) / experts * imbalance;
  const double n = double(weight[1]);
  double k = 1;
  for (size_t i = 2; i < weight.size(); ++i)
    k *= double(weight[i]);
  KernelCost whole;
  addMatmul(whole,
            isWgrad ? MatmulShape{n, k, each, experts}
                    : MatmulShape{each, n, k, experts},
            byteSize(program[op.operands[0]].type) == 1);
  cost.energy += whole.energy;
  cost.computing += whole.computing / (machine.isGpu ? groupedEfficiency : 1);
}

void Kernels::addAttention(KernelCost& cost, const ir::Op& op) const {
  const double flops = localFlops(program, op);
  if (flops == 0)
    return;
  cost.computing = flops / machine.matmul;
  if (machine.isGpu) {
    const bool isBackward = isBackwardAttention(op.kind);
    const ValueId q = op.operands[isBackward ? 2 : 0];
    const std::vector<int64_t> shape = ir::localShape(program, q);
    const ops::AttentionAttributes attributes(op.attributes);
    const int64_t values = attributes.valueWidth;
    const double width =
        double(shape[3] + (values > 0 ? values : shape[3])) / 2;
    // The FLOPs are 4 * `width` for each head, query and key, and twice that in
    // a backward pass.
    const double pairs = flops / (4 * width * (isBackward ? 2 : 1));
    const double queries =
        double(shape[0]) * double(shape[1]) * double(shape[2]);
    double keys = pairs / queries;
    if (attributes.mostDocuments > 0 && keys > packedTokens / 2) {
      cost.computing *= packedTokens / 2 / keys;
      keys = packedTokens / 2;
    }
    cost.computing /=
        attentionEfficiency(width, keys, isBackward, machine.exponentials);
  }
  cost.energy = cost.computing;
}

} // namespace recipec::cost
