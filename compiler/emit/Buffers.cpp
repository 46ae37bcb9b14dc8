// 1. Find how many leading dimensions of each matmul weight form n. The ranks
//    of x [lead..., k...], w [n..., k...] and y [lead..., n...] determine this.
// 2. Make a buffer with the local shape for each placement.
// 3. Mark region shards that are slices of a full buffer.

#include "compiler/emit/Buffers.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"

#include <cassert>
#include <numeric>

namespace recipec::emit {
namespace {

namespace plan = reciperun::plan;
using ir::OpKind;
using ir::ValueId;

/// The three values of a matmul. The op computes one of them from the others.
struct Matmul {
  ValueId x = ValueId::none;
  ValueId w = ValueId::none;
  ValueId y = ValueId::none;
};

std::vector<Matmul> matmulsOf(const ir::Op& op) {
  const std::vector<ValueId>&from = op.operands, &to = op.results;
  switch (op.kind) {
  case OpKind::Linear:
  case OpKind::LinearAdd:
  case OpKind::QuantizedLinear:
    return {{from[0], from[1], to[0]}};
  case OpKind::LinearDgrad:
    return {{to[0], from[1], from[0]}};
  case OpKind::LinearWgrad:
    return {{from[0], to[0], from[1]}};
  case OpKind::LinearJoint:
    return {{from[0], from[1], to[0]},
            {from[0], from[2], to[1]},
            {from[0], from[3], to[2]}};
  case OpKind::LinearJointDgrad:
    return {{to[0], from[3], from[0]},
            {to[0], from[4], from[1]},
            {to[0], from[5], from[2]}};
  case OpKind::LinearJointWgrad:
    return {{from[0], to[0], from[1]},
            {from[0], to[1], from[2]},
            {from[0], to[2], from[3]}};
  default:
    return {};
  }
}

/// Sets the row dimensions of fp8 matrices and of the parameters that they are
/// quantized from. The op has five results per matrix.
void findRowsOfNarrow(const ir::Module& program, const ir::Op& op,
                      std::vector<size_t>& rows) {
  size_t lead = size_t(ops::QuantizeAttributes(op.attributes).lead);
  size_t all = program[op.operands[0]].dims.size();
  if (program[op.operands[0]].kind == ir::ValueKind::parameter)
    rows[size_t(op.operands[0])] = lead;
  for (size_t first = 0; first < op.results.size(); first += 5) {
    if (ValueId q = op.results[first]; q != ValueId::none)
      rows[size_t(q)] = lead;
    if (ValueId qt = op.results[first + 2]; qt != ValueId::none)
      rows[size_t(qt)] = all - lead;
  }
}

/// Sets the row dimensions of an rmsnorm's quantized result.
void findRowsOfNormed(const ir::Op& op, std::vector<size_t>& rows) {
  rows[size_t(op.results[0])] =
      size_t(ops::RmsNormQuantizeAttributes(op.attributes).lead);
}

/// Sets the row dimensions of a matrix and its transpose.
void findRowsOfTransposed(const ir::Module& program, const ir::Op& op,
                          std::vector<size_t>& rows) {
  size_t lead = size_t(ops::TransposeAttributes(op.attributes).lead);
  rows[size_t(op.operands[0])] = lead;
  rows[size_t(op.results[0])] = program[op.operands[0]].dims.size() - lead;
}

/// Sets the row dimensions of the operands of an fp8 matmul, which may be
/// copies of other values, and of the weight gradient that it accumulates into.
void findRowsOfScaled(const ir::Module& program, const ir::Op& op,
                      std::vector<size_t>& rows) {
  ValueId a = op.operands[0], b = op.operands[1], y = op.results[0];
  size_t as = program[a].dims.size(), bs = program[b].dims.size(),
         ys = program[y].dims.size();
  rows[size_t(a)] = (as + ys - bs) / 2;
  rows[size_t(b)] = (bs + ys - as) / 2;
  if (program[y].kind == ir::ValueKind::gradient)
    rows[size_t(y)] = rows[size_t(a)];
}

/// Sets the row dimensions of the value that holds the matrices of all
/// adapters.
void findRowsOfAdapters(const ir::Module& program, const ir::Op& op,
                        std::vector<size_t>& rows) {
  const size_t x = program[op.operands[0]].dims.size(),
               w = program[op.operands[1]].dims.size() - 1,
               y = program[op.results[0]].dims.size();
  rows[size_t(op.operands[1])] = 1 + (y + w - x) / 2;
}

/// By value: the number of leading dimensions that form n; 0 for a value that
/// is not a matmul weight.
std::vector<size_t> rowDimensions(const ir::Module& program) {
  std::vector<size_t> rows(program.values.size());
  for (const ir::Function& function : program.functions) {
    for (const ir::Op& op : function.ops) {
      if (op.kind == OpKind::Quantize || op.kind == OpKind::SwigluQuantize ||
          op.kind == OpKind::SwigluBackwardQuantize)
        findRowsOfNarrow(program, op, rows);
      if (op.kind == OpKind::RmsNormQuantize)
        findRowsOfNormed(op, rows);
      if (op.kind == OpKind::AdapterLinear)
        findRowsOfAdapters(program, op, rows);
      if (op.kind == OpKind::Transpose)
        findRowsOfTransposed(program, op, rows);
      if (op.kind == OpKind::ScaledMatmul || op.kind == OpKind::ScaledMatmulAdd)
        findRowsOfScaled(program, op, rows);
      for (const Matmul& product : matmulsOf(op)) {
        if (product.w == ValueId::none)
          continue;
        size_t x = program[product.x].dims.size();
        size_t w = program[product.w].dims.size();
        size_t y = program[product.y].dims.size();
        rows[size_t(product.w)] = (y + w - x) / 2;
      }
    }
  }
  return rows;
}

std::vector<int64_t> folded(const std::vector<int64_t>& shape, size_t rows) {
  auto middle = shape.begin() + long(rows);
  auto count = [](auto begin, auto end) {
    return std::accumulate(begin, end, int64_t(1), std::multiplies<>());
  };
  return {count(shape.begin(), middle), count(middle, shape.end())};
}

class BufferMaker {
public:
  explicit BufferMaker(const ir::Module& program)
      : program(program), rows(rowDimensions(program)) {
    made.numberOf.assign(program.values.size(), -1);
  }

  Buffers run() {
    for (const ir::Placement& placement : program.placements)
      add(placement);
    for (const ir::Placement& placement : program.hostPlacements)
      add(placement);
    for (const ir::Region& region : program.regions) {
      markPart(region.param, region.paramPart, region.shard);
      markPart(region.gradient, region.gradientPart, region.shard);
      markPart(region.narrow, region.narrowPart, region.shard);
    }
    return std::move(made);
  }

private:
  void add(const ir::Placement& placement) {
    const ir::Value& value = program[placement.value];
    plan::Buffer buffer;
    buffer.name = value.name;
    buffer.dtype = value.type;
    buffer.shape = ir::localShape(program, placement.value);
    if (buffer.shape.empty())
      buffer.shape = {1};
    if (size_t rank = rows[size_t(placement.value)])
      buffer.shape = folded(buffer.shape, rank);
    buffer.host = value.onHost;
    buffer.offset = placement.offset;
    buffer.slots = placement.slots;
    buffer.slotStride = placement.slotStride;
    buffer.frame = placement.frame;
    made.numberOf[size_t(placement.value)] = int(made.buffers.size());
    made.buffers.push_back(std::move(buffer));
  }

  /// Marks a shard that is a slice of the full buffer, whose offset depends on
  /// the rank.
  void markPart(ValueId whole, ValueId part, ir::AxisSet axes) {
    if (whole == ValueId::none || axes.empty() ||
        program[part].kind == ir::ValueKind::temporary)
      return;
    plan::Buffer& buffer = made.buffers[size_t(made.number(part))];
    buffer.shardAxis = ir::groupName(program, axes);
    buffer.shardStride = ir::localBytes(program, part);
  }

  const ir::Module& program;
  std::vector<size_t> rows;
  Buffers made;
};

} // namespace

Buffers makeBuffers(const ir::Module& program) {
  return BufferMaker(program).run();
}

} // namespace recipec::emit
