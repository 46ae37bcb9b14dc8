// Attention plans by shape: the graph (AttentionGraphs.h) compiled for the
// first engine that cuDNN suggests.
//
// Unlike matmul algorithms, the engines are not timed against one another: on
// an H200 the first was always the fastest. With 32 query heads and 8 key
// heads, the second took 1.07 (forward) and 1.9 (backward) times as long for
// heads of width 64, and 2.0 and 2.3 times as long for width 128. Each
// candidate would also have to be compiled before the first step.

#include "runtime/device/cuda/AttentionPlans.h"

#include "runtime/device/cuda/AttentionGraphs.h"

#include <cassert>
#include <map>
#include <optional>

namespace reciperun::device {
namespace {

using Shape = AttentionPlans::Shape;

/// A graph's tensors and its plan, which is null when cuDNN has none.
template <class Graph> struct Compiled {
  std::optional<Graph> tensors;
  std::unique_ptr<CudnnPlan> plan;

  int64_t bytes() const {
    return plan ? tensors->ownBytes() + alignedBytes(plan->workspaceBytes())
                : -1;
  }
};

std::string textOf(const Shape& shape) {
  return "attention of " + std::to_string(shape.batch) + " x " +
         std::to_string(shape.queries) + " queries of " +
         std::to_string(shape.keys) + " keys, " + std::to_string(shape.heads) +
         " heads to " + std::to_string(shape.keyHeads) + ", " +
         std::to_string(shape.width) + " wide";
}

} // namespace

struct AttentionPlans::Library {
  CudnnLibrary cudnn;
  Status opening;
  bool isTried = false;
  std::map<Shape, Compiled<ForwardGraph>> forwards;
  std::map<Shape, Compiled<BackwardGraph>> backwards;
  std::string notice;

  bool isOpen() {
    if (!isTried) {
      isTried = true;
      opening = cudnn.open();
      if (!opening.isOk())
        notice = opening.message();
    }
    return opening.isOk();
  }

  /// The plan of a shape, compiled on first use; without a plan when cuDNN has
  /// none.
  template <class Graph>
  Compiled<Graph>& find(std::map<Shape, Compiled<Graph>>& plans,
                        const Shape& shape) {
    const auto known = plans.find(shape);
    if (known != plans.end())
      return known->second;
    Compiled<Graph>& made = plans[shape];
    if (isOpen())
      if (Status status = compile(shape, made); !status.isOk())
        notice = status.withContext(textOf(shape)).message();
    return made;
  }

  template <class Graph>
  Status compile(const Shape& shape, Compiled<Graph>& made) const {
    CudnnGraph graph(cudnn);
    made.tensors.emplace(shape, graph);
    auto plan = graph.plan();
    RECIPERUN_TRY(plan);
    made.plan = *std::move(plan);
    return Status::ok();
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
  auto& known = library->find(library->forwards, shape);
  assert(known.plan && "the caller has asked for the bytes");
  return enqueue(*known.tensors, *known.plan, data, workspace, stream);
}

Status AttentionPlans::backward(const Shape& shape, const Backward& data,
                                void* workspace, cudaStream_t stream) {
  auto& known = library->find(library->backwards, shape);
  assert(known.plan && "the caller has asked for the bytes");
  return enqueue(*known.tensors, *known.plan, data, workspace, stream);
}

Status AttentionPlans::openFor(const std::string& device) {
  library->isTried = true;
  return library->opening = library->cudnn.openFor(device);
}

const std::string& AttentionPlans::notice() const {
  return library->notice;
}

} // namespace reciperun::device
