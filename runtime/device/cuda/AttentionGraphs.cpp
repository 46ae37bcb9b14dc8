// Attention as a graph of cuDNN's operations, in the form that its fused
// kernels are recognised by (cuDNN's developer guide, "Fused Flash Attention
// fprop" and "bprop"): matrices are [batch, heads, rows, columns] over our
// strides.
//
// Forward, with S = q k^T:
//   scores = scale S, -infinity where the column is behind the row;
//   m = max, e = exp(scores - m), l = sum e; lse = m + log l; out = (e / l) v.
// Backward:
//   delta = sum(do o); P = exp(scores - lse); dv = P^T do;
//   dS = scale P (do v^T - delta); dk = dS^T q; dq = dS k.
// Of grouped queries dk and dv are made for each query head and then summed
// over the group. dq is summed in f32 by blocks of keys as they come, or, if
// the result must not depend on their order, after a matrix of dS is in memory.

#include "runtime/device/cuda/AttentionGraphs.h"

#include <limits>

namespace reciperun::device {
namespace {

using Shape = AttentionPlans::Shape;
using Tensor = CudnnGraph::Tensor;
using Four = CudnnGraph::Four;

/// Tensors of a shape, as they lie in the plan's buffers.
class Layout {
public:
  Layout(const Shape& shape, CudnnGraph& graph) : shape(shape), graph(graph) {}

  /// [b, heads, queries, width] of a buffer [b, queries, heads, width].
  Tensor ofQueries() const {
    const Shape& s = shape;
    return rows(s.heads, s.queries, s.queryRows);
  }
  /// The same of keys or values.
  Tensor ofKeys() const {
    const Shape& s = shape;
    return rows(s.keyHeads, s.keys, s.keyRows);
  }
  /// [b, heads, width, keys] of the same.
  Tensor acrossKeys() const {
    const Shape& s = shape;
    const int64_t row = s.keyHeads * s.width;
    return graph.tensor(
        {s.batch, s.keyHeads, s.width, s.keys},
        {(s.keyRows ? s.keyRows : s.keys) * row, s.width, 1, row},
        CUDNN_DATA_BFLOAT16);
  }
  /// f32 [b, heads, queries, 1], packed.
  Tensor perQuery() const {
    return graph.tensor(queryShape(),
                        {shape.heads * shape.queries, shape.queries, 1, 1},
                        CUDNN_DATA_FLOAT);
  }
  Four queryShape() const {
    return {shape.batch, shape.heads, shape.queries, 1};
  }
  int64_t queryBytes() const {
    return alignedBytes(shape.batch * shape.heads * shape.queries * 4);
  }

private:
  /// `tokens` of `all` in memory; 0: there are no others.
  Tensor rows(int64_t heads, int64_t tokens, int64_t all) const {
    const int64_t row = heads * shape.width;
    return graph.tensor({shape.batch, heads, tokens, shape.width},
                        {(all ? all : tokens) * row, shape.width, row, 1},
                        CUDNN_DATA_BFLOAT16);
  }

  const Shape& shape;
  CudnnGraph& graph;
};

Tensor scaled(CudnnGraph& graph, Tensor products, Tensor scale) {
  return graph.pointwise(CUDNN_POINTWISE_MUL, products, scale);
}

/// -infinity where the column's index is above the row's.
Tensor masked(CudnnGraph& graph, Tensor scores) {
  const Tensor row = graph.index(scores, 2), column = graph.index(scores, 3);
  const Tensor isSeen =
      graph.pointwise(CUDNN_POINTWISE_CMP_GE, row, column, CUDNN_DATA_BOOLEAN);
  const Tensor hidden = graph.scalar(-std::numeric_limits<float>::infinity());
  return graph.select(isSeen, scores, hidden);
}

/// out [b, keyHeads, keys, width] = left right, summed over the group.
void gradientOfKeys(CudnnGraph& graph, Tensor left, Tensor right, Tensor out) {
  if (left.shape[1] == out.shape[1])
    return graph.matmulTo(left, right, out);
  const Tensor ofHeads = graph.matmul(left, right, CUDNN_DATA_BFLOAT16);
  graph.reduceTo(CUDNN_REDUCE_TENSOR_ADD, ofHeads, out);
}

void* changeable(const void* data) {
  return const_cast<void*>(data);
}

} // namespace

ForwardGraph::ForwardGraph(const Shape& shape, CudnnGraph& graph) {
  const Layout layout(shape, graph);
  q = layout.ofQueries();
  k = layout.acrossKeys();
  v = layout.ofKeys();
  out = layout.ofQueries();
  lse = layout.perQuery();
  Tensor scores = scaled(graph, graph.matmul(q, k), graph.scalar(shape.scale));
  if (shape.isCausal)
    scores = masked(graph, scores);
  const Tensor most =
      graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, layout.queryShape());
  const Tensor powers = graph.pointwise(
      CUDNN_POINTWISE_EXP, graph.pointwise(CUDNN_POINTWISE_SUB, scores, most));
  const Tensor sum =
      graph.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, layout.queryShape());
  graph.pointwise(CUDNN_POINTWISE_ADD, most,
                  graph.pointwise(CUDNN_POINTWISE_LOG, sum), lse);
  const Tensor weights =
      graph.pointwise(CUDNN_POINTWISE_DIV, powers, sum, CUDNN_DATA_BFLOAT16);
  graph.matmulTo(weights, v, out);
}

std::map<int64_t, void*> ForwardGraph::addresses(const Data& data,
                                                 void*) const {
  return {{q.number, changeable(data.q)},
          {k.number, changeable(data.k)},
          {v.number, changeable(data.v)},
          {out.number, data.out},
          {lse.number, data.lse}};
}

BackwardGraph::BackwardGraph(const Shape& shape, CudnnGraph& graph) {
  const Layout layout(shape, graph);
  dout = layout.ofQueries();
  out = layout.ofQueries();
  q = layout.ofQueries();
  k = layout.acrossKeys();
  v = layout.acrossKeys();
  lse = layout.perQuery();
  dq = layout.ofQueries();
  dk = layout.ofKeys();
  dv = layout.ofKeys();

  delta = layout.perQuery();
  deltaBytes = layout.queryBytes();
  const Tensor dots = graph.reduce(
      CUDNN_REDUCE_TENSOR_ADD, graph.pointwise(CUDNN_POINTWISE_MUL, dout, out),
      layout.queryShape());
  graph.pointwise(CUDNN_POINTWISE_MUL, dots, graph.scalar(1), delta);

  const Tensor scale = graph.scalar(shape.scale);
  Tensor scores = scaled(graph, graph.matmul(q, k), scale);
  scores = graph.pointwise(CUDNN_POINTWISE_SUB, scores, lse);
  if (shape.isCausal)
    scores = masked(graph, scores);
  const Tensor weights = graph.pointwise(CUDNN_POINTWISE_EXP, scores);
  gradientOfKeys(graph, graph.transpose(weights, CUDNN_DATA_BFLOAT16), dout,
                 dv);

  Tensor slopes = graph.matmul(dout, v);
  slopes = graph.pointwise(CUDNN_POINTWISE_SUB, slopes, delta);
  slopes = graph.pointwise(CUDNN_POINTWISE_MUL, slopes, weights);
  slopes = scaled(graph, slopes, scale);
  gradientOfKeys(graph, graph.transpose(slopes, CUDNN_DATA_BFLOAT16), q, dk);

  const Tensor keys = graph.transpose(k, CUDNN_DATA_BFLOAT16);
  if (shape.isDeterministic) {
    graph.matmulTo(slopes, keys, dq);
  } else {
    const int64_t rows = shape.queries * shape.width;
    sums = graph.tensor({shape.batch, shape.heads, shape.queries, shape.width},
                        {shape.heads * rows, rows, shape.width, 1},
                        CUDNN_DATA_FLOAT);
    sumsBytes = alignedBytes(shape.batch * shape.heads * rows * 4);
    graph.matmulTo(slopes, keys, sums);
    graph.identity(sums, dq);
  }
}

std::map<int64_t, void*> BackwardGraph::addresses(const Data& data,
                                                  void* workspace) const {
  char* const room = static_cast<char*>(workspace);
  std::map<int64_t, void*> all = {{dout.number, changeable(data.dout)},
                                  {out.number, changeable(data.out)},
                                  {q.number, changeable(data.q)},
                                  {k.number, changeable(data.k)},
                                  {v.number, changeable(data.v)},
                                  {lse.number, changeable(data.lse)},
                                  {dq.number, data.dq},
                                  {dk.number, data.dk},
                                  {dv.number, data.dv},
                                  {delta.number, room}};
  if (sumsBytes)
    all[sums.number] = room + deltaBytes;
  return all;
}

} // namespace reciperun::device
