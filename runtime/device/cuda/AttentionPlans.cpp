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

#include "runtime/device/cuda/AttentionPlans.h"

#include "runtime/device/cuda/CudnnGraph.h"

#include <cassert>
#include <limits>
#include <map>

namespace reciperun::device {
namespace {

using Shape = AttentionPlans::Shape;
using Tensor = CudnnGraph::Tensor;
using Four = CudnnGraph::Four;

constexpr int64_t aligned(int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

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
    return aligned(shape.batch * shape.heads * shape.queries * 4);
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

/// A compiled graph and the numbers of its tensors.
struct ForwardPlan {
  Tensor q, k, v, out, lse;
  std::unique_ptr<CudnnPlan> plan;

  int64_t bytes() const { return plan ? aligned(plan->workspaceBytes()) : -1; }
};

struct BackwardPlan {
  Tensor dout, out, q, k, v, lse, dq, dk, dv;
  Tensor delta, sums; // in the workspace; the latter f32 [b, heads, s, width]
  int64_t deltaBytes = 0, sumsBytes = 0;
  std::unique_ptr<CudnnPlan> plan;

  int64_t bytes() const {
    return plan ? deltaBytes + sumsBytes + aligned(plan->workspaceBytes()) : -1;
  }
};

Status compile(const Shape& shape, const CudnnLibrary& cudnn,
               ForwardPlan& made) {
  CudnnGraph graph(cudnn);
  const Layout layout(shape, graph);
  made.q = layout.ofQueries();
  made.k = layout.acrossKeys();
  made.v = layout.ofKeys();
  made.out = layout.ofQueries();
  made.lse = layout.perQuery();
  Tensor scores =
      scaled(graph, graph.matmul(made.q, made.k), graph.scalar(shape.scale));
  if (shape.isCausal)
    scores = masked(graph, scores);
  const Tensor most =
      graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, layout.queryShape());
  const Tensor powers = graph.pointwise(
      CUDNN_POINTWISE_EXP, graph.pointwise(CUDNN_POINTWISE_SUB, scores, most));
  const Tensor sum =
      graph.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, layout.queryShape());
  graph.pointwise(CUDNN_POINTWISE_ADD, most,
                  graph.pointwise(CUDNN_POINTWISE_LOG, sum), made.lse);
  const Tensor weights =
      graph.pointwise(CUDNN_POINTWISE_DIV, powers, sum, CUDNN_DATA_BFLOAT16);
  graph.matmulTo(weights, made.v, made.out);
  auto plan = graph.plan();
  RECIPERUN_TRY(plan);
  made.plan = std::move(*plan);
  return Status::ok();
}

/// out [b, keyHeads, keys, width] = left right, summed over the group.
void gradientOfKeys(CudnnGraph& graph, Tensor left, Tensor right, Tensor out) {
  if (left.shape[1] == out.shape[1])
    return graph.matmulTo(left, right, out);
  const Tensor ofHeads = graph.matmul(left, right, CUDNN_DATA_BFLOAT16);
  graph.reduceTo(CUDNN_REDUCE_TENSOR_ADD, ofHeads, out);
}

Status compile(const Shape& shape, const CudnnLibrary& cudnn,
               BackwardPlan& made) {
  CudnnGraph graph(cudnn);
  const Layout layout(shape, graph);
  made.dout = layout.ofQueries();
  made.out = layout.ofQueries();
  made.q = layout.ofQueries();
  made.k = layout.acrossKeys();
  made.v = layout.acrossKeys();
  made.lse = layout.perQuery();
  made.dq = layout.ofQueries();
  made.dk = layout.ofKeys();
  made.dv = layout.ofKeys();

  made.delta = layout.perQuery();
  made.deltaBytes = layout.queryBytes();
  const Tensor delta =
      graph.reduce(CUDNN_REDUCE_TENSOR_ADD,
                   graph.pointwise(CUDNN_POINTWISE_MUL, made.dout, made.out),
                   layout.queryShape());
  graph.pointwise(CUDNN_POINTWISE_MUL, delta, graph.scalar(1), made.delta);

  const Tensor scale = graph.scalar(shape.scale);
  Tensor scores = scaled(graph, graph.matmul(made.q, made.k), scale);
  scores = graph.pointwise(CUDNN_POINTWISE_SUB, scores, made.lse);
  if (shape.isCausal)
    scores = masked(graph, scores);
  const Tensor weights = graph.pointwise(CUDNN_POINTWISE_EXP, scores);
  gradientOfKeys(graph, graph.transpose(weights, CUDNN_DATA_BFLOAT16),
                 made.dout, made.dv);

  Tensor slopes = graph.matmul(made.dout, made.v);
  slopes = graph.pointwise(CUDNN_POINTWISE_SUB, slopes, made.delta);
  slopes = graph.pointwise(CUDNN_POINTWISE_MUL, slopes, weights);
  slopes = scaled(graph, slopes, scale);
  gradientOfKeys(graph, graph.transpose(slopes, CUDNN_DATA_BFLOAT16), made.q,
                 made.dk);

  const Tensor keys = graph.transpose(made.k, CUDNN_DATA_BFLOAT16);
  if (shape.isDeterministic) {
    graph.matmulTo(slopes, keys, made.dq);
  } else {
    const int64_t rows = shape.queries * shape.width;
    made.sums = graph.tensor(
        {shape.batch, shape.heads, shape.queries, shape.width},
        {shape.heads * rows, rows, shape.width, 1}, CUDNN_DATA_FLOAT);
    made.sumsBytes = aligned(shape.batch * shape.heads * rows * 4);
    graph.matmulTo(slopes, keys, made.sums);
    graph.identity(made.sums, made.dq);
  }
  auto plan = graph.plan();
  RECIPERUN_TRY(plan);
  made.plan = std::move(*plan);
  return Status::ok();
}

std::string describe(const Shape& shape) {
  return "attention of " + std::to_string(shape.batch) + " x " +
         std::to_string(shape.queries) + " queries of " +
         std::to_string(shape.keys) + " keys, " + std::to_string(shape.heads) +
         " heads to " + std::to_string(shape.keyHeads) + ", " +
         std::to_string(shape.width) + " wide";
}

void* changeable(const void* data) {
  return const_cast<void*>(data);
}

} // namespace

struct AttentionPlans::Library {
  CudnnLibrary cudnn;
  Status opening;
  bool isTried = false;
  std::map<Shape, ForwardPlan> forwards;
  std::map<Shape, BackwardPlan> backwards;
  std::string notice;

  bool isOpen() {
    if (!isTried) {
      isTried = true;
      opening = cudnn.open();
      if (!opening)
        notice = opening.message();
    }
    return opening.isOk();
  }

  /// The plan of a shape, compiled the first time; one without a plan where
  /// cuDNN has none.
  template <class Plan>
  Plan& find(std::map<Shape, Plan>& plans, const Shape& shape) {
    const auto known = plans.find(shape);
    if (known != plans.end())
      return known->second;
    Plan& made = plans[shape];
    if (isOpen())
      if (Status status = compile(shape, cudnn, made); !status)
        notice = status.withContext(describe(shape)).message();
    return made;
  }
};

AttentionPlans::AttentionPlans() : library(std::make_unique<Library>()) {}
AttentionPlans::~AttentionPlans() = default;

int64_t AttentionPlans::forwardBytes(const Shape& shape) {
  return library->find(library->forwards, shape).bytes();
}

int64_t AttentionPlans::backwardBytes(const Shape& shape) {
  return library->find(library->backwards, shape).bytes();
}

Status AttentionPlans::forward(const Shape& shape, const Forward& data,
                               void* workspace, cudaStream_t stream) {
  ForwardPlan& known = library->find(library->forwards, shape);
  assert(known.plan && "the caller has asked for the bytes");
  return known.plan->run({{known.q.number, changeable(data.q)},
                          {known.k.number, changeable(data.k)},
                          {known.v.number, changeable(data.v)},
                          {known.out.number, data.out},
                          {known.lse.number, data.lse}},
                         workspace, stream);
}

Status AttentionPlans::backward(const Shape& shape, const Backward& data,
                                void* workspace, cudaStream_t stream) {
  BackwardPlan& known = library->find(library->backwards, shape);
  assert(known.plan && "the caller has asked for the bytes");
  char* const room = static_cast<char*>(workspace);
  std::map<int64_t, void*> addresses = {
      {known.dout.number, changeable(data.dout)},
      {known.out.number, changeable(data.out)},
      {known.q.number, changeable(data.q)},
      {known.k.number, changeable(data.k)},
      {known.v.number, changeable(data.v)},
      {known.lse.number, changeable(data.lse)},
      {known.dq.number, data.dq},
      {known.dk.number, data.dk},
      {known.dv.number, data.dv},
      {known.delta.number, room}};
  if (known.sumsBytes)
    addresses[known.sums.number] = room + known.deltaBytes;
  return known.plan->run(std::move(addresses),
                         room + known.deltaBytes + known.sumsBytes, stream);
}

Status AttentionPlans::openFor(const std::string& device) {
  library->isTried = true;
  return library->opening = library->cudnn.openFor(device);
}

const std::string& AttentionPlans::notice() const {
  return library->notice;
}

} // namespace reciperun::device
