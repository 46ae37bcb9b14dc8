// Attention as a graph of cuDNN operations, in the form that cuDNN matches to
// its fused kernels (cuDNN's developer guide, "Fused Flash Attention fprop" and
// "bprop"): matrices are [batch, heads, rows, columns] over our strides.
//
// Forward, with S = q k^T:
//   scores = scale S, -infinity where the column is greater than the row,
//     outside the row's window, or past the document's end;
//   m = max, e = exp(scores - m), l = sum e; lse = m + log l; out = (e / l) v.
// Backward:
//   delta = sum(do o); P = exp(scores - lse); dv = P^T do;
//   dS = scale P (do v^T - delta); dk = dS^T q; dq = dS k.
// Documents are entries of the batch. They begin at offsets in memory and have
// one row and column per token.
//
// With grouped queries dk and dv are computed for each query head and then
// summed over the group. dq is accumulated in f32 in the order in which blocks
// of keys finish, or, if the result must be deterministic, after a matrix of dS
// is in memory.

#include "runtime/device/cuda/AttentionGraphs.h"

#include <limits>

namespace reciperun::device {
namespace {

using Shape = AttentionPlans::Shape;
using Tensor = CudnnGraph::Tensor;
using Four = CudnnGraph::Four;

/// The tensors of a shape with the strides of the plan's buffers. Each document
/// begins at its offset, and the batch stride is ignored.
class Layout {
public:
  Layout(const Shape& shape, CudnnGraph& graph) : shape(shape), graph(graph) {
    if (!shape.tokens)
      return;
    const auto list = [&](int64_t count, cudnnDataType_t type) {
      return graph.tensor({count, 1, 1, 1}, {1, 1, 1, 1}, type);
    };
    documents = {list(shape.batch, CUDNN_DATA_INT32),
                 list(shape.batch + 1, CUDNN_DATA_INT64),
                 list(shape.batch + 1, CUDNN_DATA_INT64),
                 list(shape.batch + 1, CUDNN_DATA_INT64)};
  }

  /// [b, heads, queries, width] of a buffer [b, queries, heads, width].
  Tensor ofQueries(cudnnDataType_t type = CUDNN_DATA_BFLOAT16) const {
    const Shape& s = shape;
    return rows(s.heads, s.queries, s.queryRows, type, documents.queries);
  }
  /// The same shape for keys or values.
  Tensor ofKeys() const {
    const Shape& s = shape;
    return rows(s.keyHeads, s.keys, s.keyRows, CUDNN_DATA_BFLOAT16,
                documents.keys);
  }
  /// [b, heads, width, keys] of a buffer of keys or values.
  Tensor acrossKeys() const {
    const Shape& s = shape;
    const int64_t row = s.keyHeads * s.width;
    return graph.tensor(
        {s.batch, s.keyHeads, s.width, s.keys},
        {(s.keyRows ? s.keyRows : s.keys) * row, s.width, 1, row},
        CUDNN_DATA_BFLOAT16, documents.keys);
  }
  /// f32 [b, heads, queries, 1]: packed, or with the strides of whole rows for
  /// documents.
  Tensor perQuery() const {
    const int64_t row = shape.tokens ? shape.queryRows : shape.queries;
    return graph.tensor(queryShape(), {shape.heads * row, row, 1, 1},
                        CUDNN_DATA_FLOAT, documents.states);
  }
  /// f32 with the shape of queries: strided like q for documents, otherwise
  /// packed by head.
  Tensor sumsOfQueries() const {
    const Shape& s = shape;
    if (s.tokens)
      return ofQueries(CUDNN_DATA_FLOAT);
    const int64_t rows = s.queries * s.width;
    return graph.tensor({s.batch, s.heads, s.queries, s.width},
                        {s.heads * rows, rows, s.width, 1}, CUDNN_DATA_FLOAT);
  }
  /// Keys of documents with one head per query head, at the offsets of keys.
  Tensor ofHeads() const {
    const Shape& s = shape;
    return rows(s.heads, s.keys, s.keyRows, CUDNN_DATA_BFLOAT16,
                documents.keys);
  }
  Four queryShape() const {
    return {shape.batch, shape.heads, shape.queries, 1};
  }
  /// The size in bytes, aligned, of a buffer with `ofEach` bytes for each query
  /// and head.
  int64_t queryBytes(int64_t ofEach) const {
    const int64_t all =
        shape.tokens ? shape.tokens : shape.batch * shape.queries;
    return alignedBytes(all * shape.heads * ofEach);
  }

  /// Unset without documents.
  DocumentTensors documents;

private:
  /// A tensor of the first `tokens` of `all` rows in memory. `all` is 0 when
  /// there are no other rows.
  Tensor rows(int64_t heads, int64_t tokens, int64_t all, cudnnDataType_t type,
              Tensor offsets) const {
    const int64_t row = heads * shape.width;
    return graph.tensor({shape.batch, heads, tokens, shape.width},
                        {(all ? all : tokens) * row, shape.width, row, 1}, type,
                        offsets);
  }

  const Shape& shape;
  CudnnGraph& graph;
};

Tensor scaled(CudnnGraph& graph, Tensor products, Tensor scale) {
  return graph.pointwise(CUDNN_POINTWISE_MUL, products, scale);
}

Tensor hiddenUnless(CudnnGraph& graph, Tensor isSeen, Tensor scores) {
  const Tensor hidden = graph.scalar(-std::numeric_limits<float>::infinity());
  return graph.select(isSeen, scores, hidden);
}

/// Sets scores to -infinity where the column's index is above the row's, or
/// below the row's window.
Tensor masked(CudnnGraph& graph, const Shape& shape, Tensor scores) {
  if (!shape.isCausal)
    return scores;
  const Tensor row = graph.index(scores, 2), column = graph.index(scores, 3);
  scores = hiddenUnless(
      graph,
      graph.pointwise(CUDNN_POINTWISE_CMP_GE, row, column, CUDNN_DATA_BOOLEAN),
      scores);
  if (!shape.window)
    return scores;
  const Tensor below = graph.index(scores, 2);
  const Tensor end =
      graph.pointwise(CUDNN_POINTWISE_ADD, graph.index(scores, 3),
                      graph.scalar(float(shape.window)));
  return hiddenUnless(
      graph,
      graph.pointwise(CUDNN_POINTWISE_CMP_GT, end, below, CUDNN_DATA_BOOLEAN),
      scores);
}

/// Sets scores to -infinity past the document's end.
Tensor withinLength(CudnnGraph& graph, Tensor scores, Tensor lengths) {
  const auto isWithin = [&](int64_t dimension) {
    return graph.pointwise(CUDNN_POINTWISE_CMP_LT,
                           graph.index(scores, dimension), lengths,
                           CUDNN_DATA_BOOLEAN);
  };
  const Tensor row = isWithin(2), column = isWithin(3);
  return hiddenUnless(graph,
                      graph.pointwise(CUDNN_POINTWISE_LOGICAL_AND, row, column,
                                      CUDNN_DATA_BOOLEAN),
                      scores);
}

/// out [b, keyHeads, keys, width] = left right, summed over the group. The
/// gradients of the group's heads are virtual unless `ofHeads` is set.
void gradientOfKeys(CudnnGraph& graph, Tensor left, Tensor right, Tensor out,
                    Tensor lengths, Tensor ofHeads) {
  const CudnnGraph::Extents extents{lengths, {}, lengths};
  if (left.shape[1] == out.shape[1])
    return graph.matmulTo(left, right, out, extents);
  if (ofHeads.isThere())
    graph.matmulTo(left, right, ofHeads, extents);
  else
    ofHeads = graph.matmul(left, right, CUDNN_DATA_BFLOAT16, extents);
  graph.reduceTo(CUDNN_REDUCE_TENSOR_ADD, ofHeads, out);
}

void* changeable(const void* data) {
  return const_cast<void*>(data);
}

void addDocuments(const DocumentTensors& tensors,
                  const AttentionPlans::Documents& data,
                  std::map<int64_t, void*>& addresses) {
  if (!tensors.lengths.isThere())
    return;
  addresses[tensors.lengths.number] = changeable(data.lengths);
  addresses[tensors.queries.number] = changeable(data.queries);
  addresses[tensors.keys.number] = changeable(data.keys);
  addresses[tensors.states.number] = changeable(data.states);
}

} // namespace

ForwardGraph::ForwardGraph(const Shape& shape, CudnnGraph& graph) {
  const Layout layout(shape, graph);
  documents = layout.documents;
  const Tensor lengths = documents.lengths;
  q = layout.ofQueries();
  k = layout.acrossKeys();
  v = layout.ofKeys();
  out = layout.ofQueries();
  lse = layout.perQuery();
  Tensor scores = scaled(
      graph, graph.matmul(q, k, CUDNN_DATA_FLOAT, {lengths, lengths, {}}),
      graph.scalar(shape.scale));
  if (lengths.isThere())
    scores = withinLength(graph, scores, lengths);
  scores = masked(graph, shape, scores);
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
  graph.matmulTo(weights, v, out, {lengths, {}, lengths});
}

std::map<int64_t, void*> ForwardGraph::addresses(const Data& data,
                                                 void*) const {
  std::map<int64_t, void*> all = {{q.number, changeable(data.q)},
                                  {k.number, changeable(data.k)},
                                  {v.number, changeable(data.v)},
                                  {out.number, data.out},
                                  {lse.number, data.lse}};
  addDocuments(documents, data.documents, all);
  return all;
}

BackwardGraph::BackwardGraph(const Shape& shape, CudnnGraph& graph) {
  const Layout layout(shape, graph);
  documents = layout.documents;
  const Tensor lengths = documents.lengths;
  dout = layout.ofQueries();
  out = layout.ofQueries();
  q = layout.ofQueries();
  k = layout.acrossKeys();
  v = layout.acrossKeys();
  lse = layout.perQuery();
  dq = layout.ofQueries();
  dk = layout.ofKeys();
  dv = layout.ofKeys();
  // Without these tensors cuDNN would allocate for documents of the greatest
  // length.
  if (shape.tokens && shape.heads != shape.keyHeads) {
    dkOfHeads = layout.ofHeads();
    dvOfHeads = layout.ofHeads();
    ofHeadsBytes = layout.queryBytes(2 * shape.width);
  }

  delta = layout.perQuery();
  deltaBytes = layout.queryBytes(4);
  const Tensor dots = graph.reduce(
      CUDNN_REDUCE_TENSOR_ADD, graph.pointwise(CUDNN_POINTWISE_MUL, dout, out),
      layout.queryShape());
  graph.pointwise(CUDNN_POINTWISE_MUL, dots, graph.scalar(1), delta);

  const Tensor scale = graph.scalar(shape.scale);
  const CudnnGraph::Extents ofScores{lengths, lengths, {}};
  Tensor scores =
      scaled(graph, graph.matmul(q, k, CUDNN_DATA_FLOAT, ofScores), scale);
  if (lengths.isThere())
    scores = withinLength(graph, scores, lengths);
  scores = graph.pointwise(CUDNN_POINTWISE_SUB, scores, lse);
  scores = masked(graph, shape, scores);
  const Tensor weights = graph.pointwise(CUDNN_POINTWISE_EXP, scores);
  gradientOfKeys(graph, graph.transpose(weights, CUDNN_DATA_BFLOAT16), dout, dv,
                 lengths, dvOfHeads);

  Tensor slopes = graph.matmul(dout, v, CUDNN_DATA_FLOAT, ofScores);
  slopes = graph.pointwise(CUDNN_POINTWISE_SUB, slopes, delta);
  slopes = graph.pointwise(CUDNN_POINTWISE_MUL, slopes, weights);
  slopes = scaled(graph, slopes, scale);
  gradientOfKeys(graph, graph.transpose(slopes, CUDNN_DATA_BFLOAT16), q, dk,
                 lengths, dkOfHeads);

  const Tensor keys = graph.transpose(k, CUDNN_DATA_BFLOAT16);
  const CudnnGraph::Extents ofQueries{lengths, {}, lengths};
  if (shape.isDeterministic) {
    graph.matmulTo(slopes, keys, dq, ofQueries);
  } else {
    sums = layout.sumsOfQueries();
    sumsBytes = layout.queryBytes(4 * shape.width);
    graph.matmulTo(slopes, keys, sums, ofQueries);
    graph.identity(sums, dq);
  }
}

std::map<int64_t, void*> BackwardGraph::addresses(const Data& data,
                                                  void* workspace) const {
  std::map<int64_t, void*> all = {{dout.number, changeable(data.dout)},
                                  {out.number, changeable(data.out)},
                                  {q.number, changeable(data.q)},
                                  {k.number, changeable(data.k)},
                                  {v.number, changeable(data.v)},
                                  {lse.number, changeable(data.lse)},
                                  {dq.number, data.dq},
                                  {dk.number, data.dk},
                                  {dv.number, data.dv}};
  addDocuments(documents, data.documents, all);
  char* room = static_cast<char*>(workspace);
  for (auto [tensor, bytes] : {std::pair{delta, deltaBytes},
                               {sums, sumsBytes},
                               {dkOfHeads, ofHeadsBytes},
                               {dvOfHeads, ofHeadsBytes}}) {
    if (tensor.isThere())
      all[tensor.number] = room;
    room += bytes;
  }
  return all;
}

} // namespace reciperun::device
