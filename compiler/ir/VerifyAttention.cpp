// The verifier's rules for attention; see Verify.h.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::ir {

namespace {

class AttentionVerifier : OpVerifier {
public:
  AttentionVerifier(const Module& module, const Op& op)
      : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    if (op.kind != OpKind::Rope && op.kind != OpKind::PositionScale)
      expectWhole();
    switch (ops::AttentionOp(op.kind)) {
    case ops::AttentionOp::Attention:
      attention();
      break;
    case ops::AttentionOp::AttentionBackward:
      backward();
      break;
    case ops::AttentionOp::AttentionPaged:
      paged();
      break;
    case ops::AttentionOp::RingAttention:
      ring(0, 3);
      break;
    case ops::AttentionOp::RingAttentionBackward:
      ring(2, 6);
      break;
    case ops::AttentionOp::AttentionBlock:
      block();
      break;
    case ops::AttentionOp::AttentionBlocksEnd:
      sum(op.results[0], op.operands[0]);
      break;
    case ops::AttentionOp::AttentionBlockBackward:
      blockBackward();
      break;
    case ops::AttentionOp::PositionScale:
    case ops::AttentionOp::Rope:
      expectPrefix(op.operands[0], op.operands[1]);
      expectLinearIn(1);
      break;
    }
    return std::move(findings);
  }

private:
  void attention() {
    expectSame(op.operands[0], op.results[0]);
    expectSame(op.operands[1], op.operands[2]);
    tokens(op.operands[0], op.operands[1], 3);
    Pieces q = pieces(op.operands[0]), k = pieces(op.operands[1]);
    expect(q.size() == 4 && k.size() == 4 && q[0] == k[0] && q[3] == k[3] &&
               q[2].split == k[2].split,
           "dimensions differ");
    if (q.size() == 4 && k.size() == 4)
      expect(k[1].split.empty() && q[3].split.empty(),
             "a dimension that attention mixes is split");
  }

  /// Checks attention over pages: operands 3 and 4 are positions and sequences
  /// of the tokens, and operand 5 is the pages of each sequence.
  void paged() {
    expectSame(op.operands[0], op.results[0]);
    expectSame(op.operands[1], op.operands[2]);
    for (size_t i : {3, 4})
      expectPrefix(op.operands[0], op.operands[i]);
    expect(pieces(op.operands[5]).size() == 2,
           "the pages are not those of sequences");
    const Pieces k = pieces(op.operands[1]);
    for (size_t i : {1, 2}) {
      const Pieces pages = pieces(op.results[i]);
      expect(k.size() == 4 && pages.size() == 4 && pages[2] == k[2] &&
                 pages[3] == k[3],
             "the pages are those of other heads");
      pageType(op.operands[1], op.results[i], op.results[i + 2]);
    }
  }

  /// Pages in 8 bits have a scale for each row of a head. Other pages have the
  /// type of `rows`.
  void pageType(ValueId rows, ValueId pages, ValueId scales) {
    if (scales == ValueId::none)
      return expectSameType(rows, pages);
    expect(byteSize(module[pages].type) == 1,
           "pages that are not in 8 bits have scales");
    expectPrefix(pages, scales);
    expect(pieces(scales).size() == 3 && module[scales].type == DType::f32,
           "the scales are not those of rows of heads");
  }

  /// Operands from `first` on are segments and places of the queries, then of
  /// the keys.
  void tokens(ValueId q, ValueId k, size_t first) {
    for (size_t i = 0; i < 4; ++i)
      expectPrefix(i < 2 ? q : k, op.operands[first + i]);
  }

  void backward() {
    expectSame(op.operands[0], op.operands[2]);
    tokens(op.operands[2], op.operands[3], 6);
    Pieces q = pieces(op.operands[2]), k = pieces(op.operands[3]);
    AxisSet parts = splitOf(part(q, 1, 1)) - splitOf(part(k, 1, 1));
    for (size_t i = 0; i < 3; ++i) {
      expect(pieces(op.operands[2 + i]) == pieces(op.results[i]),
             "dimensions differ");
      // The queries of a rank contribute a partial sum to the gradients of k
      // and v.
      expect(partial(op.results[i]) == (i == 0 ? AxisSet() : parts),
             "the partial sum is not that of the queries");
    }
  }

  /// Checks a ring op: q, k and v from operand `first` on, segments and places
  /// from `second` on.
  void ring(size_t first, size_t second) {
    parts(first, op.group);
    for (size_t i : {second, second + 1})
      expectPrefix(op.operands[first], op.operands[i]);
    expectSame(op.operands[first], op.results[0]);
    for (size_t i = 1; op.kind == OpKind::RingAttentionBackward && i < 3; ++i)
      expectSame(op.operands[first + 1], op.results[i]);
  }

  /// Each rank of the group has a part of q, k and v, the operands from `first`
  /// on.
  void parts(size_t first, AxisSet group) {
    ValueId query = op.operands[first], key = op.operands[first + 1];
    Pieces q = pieces(query), k = pieces(key);
    expectSame(key, op.operands[first + 2]);
    expect(q.size() == 4 && k.size() == 4 && q[0] == k[0] && q[1] == k[1] &&
               q[3] == k[3] && q[2].split == k[2].split,
           "dimensions differ");
    expect(q.size() == 4 && q[1].split == group && q[3].split.empty(),
           "the group does not split what goes round");
    for (ValueId result : op.results)
      if (result != ValueId::none)
        expect(partial(result).empty(), "the result is a partial sum");
  }

  void block() {
    step(0);
    tokens(op.operands[0], op.operands[1], 3);
    sum(op.operands[0], op.results[0]);
    room(op.operands[0], op.results[2]);
  }

  void blockBackward() {
    step(2);
    expectSame(op.operands[0], op.operands[2]);
    expectSame(op.operands[1], op.operands[2]);
    tokens(op.operands[2], op.operands[3], 6);
    for (size_t i = 0; i < 3; ++i) {
      sum(op.operands[2 + i], op.results[i]);
      room(op.operands[2 + i], op.results[3 + i]);
    }
  }

  /// Checks a step of a ring; q, k and v are the operands from `first` on.
  void step(size_t first) {
    const ops::AttentionBlockAttributes attributes(op.attributes);
    parts(first, op.group);
    expect(attributes.step >= 0 && attributes.step < sizeOf(module, op.group),
           "the ring has no such step");
  }

  /// `of` is the sum of values like `value`, in the accumulation type.
  void sum(ValueId value, ValueId of) {
    expectSame(value, of);
    expect(module[of].type == accumulationType(module[value].type),
           "the sum is not in the accumulation type");
  }

  void room(ValueId value, ValueId scratch) {
    expectSame(value, scratch);
    expectSameType(value, scratch);
  }
};

} // namespace

std::vector<std::string> findInAttention(const Module& module, const Op& op) {
  return AttentionVerifier(module, op).run();
}

} // namespace recipec::ir
