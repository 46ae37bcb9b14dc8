// The verifier's rules for fp8 matrices and their matmuls, and for matmuls with
// quantized weights. A scale belongs to the rank's shard of a matrix, so its
// layout is not checked. Partial sums pass through.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"

namespace recipec::ir {
namespace {

bool isNarrow(DType type) {
  return type == DType::f8e4m3 || type == DType::f8e5m2;
}

class Quantized : OpVerifier {
public:
  Quantized(const Module& module, const Op& op) : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    const auto& in = op.operands;
    switch (ops::QuantizationOp(op.kind)) {
    case ops::QuantizationOp::Quantize:
      quantize(in[0], in[1], 0);
      break;
    case ops::QuantizationOp::SwigluQuantize:
      expectWhole();
      expectSame(in[0], in[1]);
      quantize(in[0], in[2], 0);
      break;
    case ops::QuantizationOp::QuantizeRows:
      rows(in[0], op.results[0]);
      break;
    case ops::QuantizationOp::DequantizeRows:
      rows(op.results[0], in[0]);
      break;
    case ops::QuantizationOp::RmsNormQuantize:
      rmsnorm();
      break;
    case ops::QuantizationOp::SwigluBackwardQuantize:
      expectWhole();
      expectSame(in[0], in[1]);
      expectSame(in[0], in[2]);
      quantize(in[0], in[3], 0);
      quantize(in[0], in[4], 5);
      break;
    case ops::QuantizationOp::Transpose:
      transpose();
      break;
    case ops::QuantizationOp::ShardAmax:
      partOf(op.results[0]);
      break;
    case ops::QuantizationOp::QuantizeShard:
      partOf(in[1]);
      castPart();
      break;
    case ops::QuantizationOp::ScaledMatmul:
    case ops::QuantizationOp::ScaledMatmulAdd:
      product();
      break;
    case ops::QuantizationOp::QuantizedLinear:
      quantizedLinear();
    }
    return std::move(findings);
  }

private:
  /// Checks the five results from `first` on, which are quantized from a value
  /// with x's layout.
  void quantize(ValueId x, ValueId history, size_t first) {
    ValueId q = op.results[first], qt = op.results[first + 2];
    Pieces all = pieces(x);
    const ops::QuantizeAttributes attributes(op.attributes);
    const int64_t lead = attributes.lead;
    if (lead < 1 || lead >= int64_t(all.size()))
      return expect(false, "neither rows nor columns may be missing");
    expect(q != ValueId::none || qt != ValueId::none, "nothing is made");
    bool hasOneScale = attributes.blocks.empty();
    matrix(q, op.results[first + 1], all);
    matrix(qt, op.results[first + (hasOneScale ? 1 : 3)],
           turned(all, size_t(lead)));
    expect(history == op.results[first + 4], "the history is another");
  }

  /// The scales are per row of x, and the weight has the length of a row.
  void rmsnorm() {
    expectWhole();
    const ValueId x = op.operands[0], weight = op.operands[1];
    if (weight != ValueId::none)
      expectSuffix(x, weight);
    expect(weight == ValueId::none || pieces(weight).size() == 1,
           "the weight is that of several rows");
    expect(ops::RmsNormQuantizeAttributes(op.attributes).lead + 1 ==
                   int64_t(pieces(x).size()) &&
               pieces(x).back().split.empty(),
           "the rows are not those that are normalised");
    matrix(op.results[0], op.results[1], pieces(x));
  }

  /// x [..., h] and the bytes of its rows.
  void rows(ValueId x, ValueId bytes) {
    expectWhole();
    Pieces from = pieces(x), to = pieces(bytes);
    if (from.size() < 2 || to.size() != from.size())
      return expect(false, "there are no rows");
    expect(from.back().split.empty() && to.back().split.empty(),
           "a row is split");
    expect(module[bytes].type == DType::u8, "the rows are not bytes");
    from.pop_back();
    to.pop_back();
    expect(from == to, "dimensions differ");
  }

  static Pieces turned(const Pieces& all, size_t lead) {
    Pieces result = part(all, lead, all.size() - lead);
    result.insert(result.end(), all.begin(), all.begin() + long(lead));
    return result;
  }

  void transpose() {
    ValueId q = op.operands[0], qt = op.results[0];
    Pieces all = pieces(q);
    const int64_t lead = ops::TransposeAttributes(op.attributes).lead;
    if (lead < 1 || lead >= int64_t(all.size()))
      return expect(false, "neither rows nor columns may be missing");
    expect(isNarrow(module[q].type) && module[qt].type == module[q].type,
           "the matrices are not of one type of 8 bits");
    expect(pieces(qt) == turned(all, size_t(lead)), "dimensions differ");
    expect(partial(qt) == partial(q), "partial sums differ");
  }

  /// Checks that the op reads a range of a sharded buffer, and that `place` is
  /// an index into the maxima.
  void partOf(ValueId maxima) {
    ValueId part = op.operands[0];
    const ops::ShardAmaxAttributes attributes(op.attributes);
    const int64_t start = attributes.start, count = attributes.count,
                  place = attributes.place;
    for (const char* name : {"start", "count", "place"})
      expect(op.attributes.contains(name), "it is not said what the run is");
    const AxisSet group = op.group;
    Pieces parts = pieces(part);
    expect(!group.empty() && parts.size() == 1 &&
               (parts[0].split & group) == group,
           "the axis does not split it");
    expect(partial(part).empty(), "a part is a partial sum");
    expect(start >= 0 && count > 0 &&
               start <=
                   localElements(module, part) * sizeOf(module, group) - count,
           "the run does not lie in the parts");
    expect(module[maxima].type == DType::f32 &&
               module[maxima].dims.size() == 1 && place >= 0 &&
               place < localElements(module, maxima),
           "there is no such maximum");
  }

  void castPart() {
    ValueId q = op.results[0], scale = op.results[1];
    expectSame(q, op.operands[0]);
    expect(isNarrow(module[q].type), "the result is not of 8 bits");
    expect(module[scale].type == DType::f32 && module[scale].dims.empty(),
           "the scale is not a number");
  }

  /// One of the two matrices that `quantize` makes.
  void matrix(ValueId made, ValueId scale, const Pieces& expected) {
    if (made == ValueId::none)
      return;
    expect(scale != ValueId::none, "there is no scale");
    expect(isNarrow(module[made].type), "the result is not of 8 bits");
    expect(pieces(made) == expected, "dimensions differ");
    expect(partial(made) == partial(op.operands[0]), "partial sums differ");
  }

  /// x [lead..., k...], w [to..., k...], y [lead..., to...]; in int4 the last
  /// dimension of w is half that of x.
  void quantizedLinear() {
    ValueId x = op.operands[0], w = op.operands[1], y = op.results[0];
    Pieces xs = pieces(x), ws = pieces(w), ys = pieces(y);
    size_t lead = (xs.size() + ys.size() - ws.size()) / 2,
           to = (ys.size() + ws.size() - xs.size()) / 2,
           k = (xs.size() + ws.size() - ys.size()) / 2;
    Pieces summed = part(xs, lead, k), expected = part(xs, 0, lead);
    Pieces others = part(ws, 0, to), stored = part(ws, to, k);
    expected.insert(expected.end(), others.begin(), others.end());
    const DType type = module[w].type;
    if (type == DType::u8 && k > 0) {
      expect(module[module[x].dims.back()].size ==
                 2 * module[module[w].dims.back()].size,
             "the weight has not half a byte for each element");
      summed.pop_back();
      stored.pop_back();
    }
    expectSameType(x, y);
    expect(type == DType::f8e4m3 || type == DType::i8 || type == DType::u8,
           "the weight has no type of quantized weights");
    expect(module[op.operands[2]].type == DType::f32, "the scales are not f32");
    expect(ys == expected && summed == stored, "dimensions differ");
    expect(partial(w).empty(), "the weight is a partial sum");
    expect(partial(y) == (splitOf(part(pieces(w), to, k)) | partial(x)),
           "the partial sum is not that of the contraction");
  }

  /// a [lead..., k...], b [to..., k...], y [lead..., to...].
  void product() {
    ValueId a = op.operands[0], b = op.operands[1], y = op.results[0];
    Pieces as = pieces(a), bs = pieces(b), ys = pieces(y);
    size_t lead = (as.size() + ys.size() - bs.size()) / 2,
           to = (ys.size() + bs.size() - as.size()) / 2,
           k = (as.size() + bs.size() - ys.size()) / 2;
    Pieces summed = part(as, lead, k), expected = part(as, 0, lead);
    Pieces others = part(bs, 0, to);
    expected.insert(expected.end(), others.begin(), others.end());
    expect(isNarrow(module[a].type) && isNarrow(module[b].type),
           "an operand is not of 8 bits");
    expect(as.size() == lead + k && bs.size() == to + k && ys == expected &&
               summed == part(bs, to, k),
           "dimensions differ");
    if (op.kind == OpKind::ScaledMatmulAdd)
      expectAlike(op.operands[4], y);
    AxisSet sums = splitOf(summed) | partial(a) | partial(b);
    expect(module[y].kind == ValueKind::gradient ? (partial(y) & sums) == sums
                                                 : partial(y) == sums,
           "the partial sum is not that of the contraction");
  }
};

} // namespace

std::vector<std::string> findInQuantization(const Module& module,
                                            const Op& op) {
  return Quantized(module, op).run();
}

} // namespace recipec::ir
