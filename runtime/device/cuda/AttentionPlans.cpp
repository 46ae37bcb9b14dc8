// Plans of attention by shape. For each:
//   1. its graph (AttentionGraphs.h);
//   2. a plan by the engine that the file of choices names, or by the library's
//      first suggestion;
//   3. where nothing was chosen yet and it is worth it, the engine that is the
//      fastest (AttentionChoice.h), which is written to the file.

#include "runtime/device/cuda/AttentionPlans.h"

#include "runtime/device/cuda/AttentionChoice.h"
#include "runtime/device/cuda/AttentionGraphs.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/ProductChoices.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>

namespace reciperun::device {
namespace {

using Shape = AttentionPlans::Shape;

/// A graph's tensors and its plan, none where cuDNN has none.
template <class Graph> struct Compiled {
  std::optional<Graph> tensors;
  std::unique_ptr<CudnnPlan> plan;

  int64_t bytes() const {
    return plan ? tensors->ownBytes() + alignedBytes(plan->workspaceBytes())
                : -1;
  }
};

/// An engine as words of a file: its number and that of its knobs, then a word
/// a knob. None where it has more knobs than there are words.
std::optional<ProductChoices::Algorithm> wordsOf(const CudnnEngine& engine) {
  ProductChoices::Algorithm words = {};
  if (engine.knobs.size() >= words.size())
    return std::nullopt;
  words[0] = uint64_t(engine.index) << 32 | engine.knobs.size();
  for (size_t i = 0; i < engine.knobs.size(); ++i)
    words[i + 1] = uint64_t(engine.knobs[i].first) << 32 |
                   uint32_t(engine.knobs[i].second);
  return words;
}

CudnnEngine engineOf(const ProductChoices::Algorithm& words) {
  CudnnEngine engine;
  engine.index = int64_t(words[0] >> 32);
  const size_t count = std::min(size_t(uint32_t(words[0])), words.size() - 1);
  for (size_t i = 1; i <= count; ++i)
    engine.knobs.emplace_back(int64_t(words[i] >> 32),
                              int64_t(int32_t(uint32_t(words[i]))));
  return engine;
}

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
  std::string notice, device; // the GPU's name; empty: it is not here
  ProductChoices choices;

  bool isOpen() {
    if (!isTried) {
      isTried = true;
      opening = open();
      if (!opening)
        notice = opening.message();
    }
    return opening.isOk();
  }

  Status open() {
    RECIPERUN_TRY(cudnn.open());
    int number = 0;
    cudaDeviceProp properties;
    RECIPERUN_CUDA_TRY(cudaGetDevice, &number);
    RECIPERUN_CUDA_TRY(cudaGetDeviceProperties, &properties, number);
    device = properties.name;
    if (Status status = choices.load(ProductChoices::defaultFile()); !status)
      notice = status.message();
    return Status::ok();
  }

  /// The plan of a shape, compiled the first time; one without a plan where
  /// cuDNN has none.
  template <class Graph>
  Compiled<Graph>& find(std::map<Shape, Compiled<Graph>>& plans,
                        const Shape& shape) {
    const auto known = plans.find(shape);
    if (known != plans.end())
      return known->second;
    Compiled<Graph>& made = plans[shape];
    if (isOpen())
      if (Status status = compile(shape, made); !status)
        notice = status.withContext(textOf(shape)).message();
    return made;
  }

  template <class Graph>
  Status compile(const Shape& shape, Compiled<Graph>& made) {
    CudnnGraph graph(cudnn);
    made.tensors.emplace(shape, graph);
    const std::string key = keyOf(shape, Graph::name);
    if (const auto words = choices.find(key))
      if (auto plan = graph.compile(engineOf(*words))) {
        made.plan = *std::move(plan);
        return Status::ok();
      }
    auto plan = graph.plan();
    RECIPERUN_TRY(plan);
    made.plan = *std::move(plan);
    if (device.empty() || !isWorthMeasuring(shape))
      return Status::ok();
    return choose(shape, graph, made, key);
  }

  /// None may take more workspace than the first suggestion, for which plans
  /// have room (plan/AttentionWorkspace.h). Where no choice can be made, that
  /// one stays.
  template <class Graph>
  Status choose(const Shape& shape, CudnnGraph& graph, Compiled<Graph>& made,
                const std::string& key) {
    auto choice = chooseAttention(shape, graph, *made.tensors,
                                  made.plan->workspaceBytes());
    RECIPERUN_TRY(choice);
    made.plan = std::move(choice->plan);
    if (const auto words = wordsOf(choice->engine))
      choices.keep(key, *words);
    return choices.save();
  }

  std::string keyOf(const Shape& s, const char* direction) const {
    std::string key = device + " | cudnn " + std::to_string(cudnn.version()) +
                      " | attention " + direction;
    for (int64_t size : {s.batch, s.queries, s.keys, s.heads, s.keyHeads,
                         s.width, s.queryRows, s.keyRows})
      key += " " + std::to_string(size);
    return key + (s.isCausal ? " causal" : " full") +
           (s.isDeterministic ? " in order" : "");
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
