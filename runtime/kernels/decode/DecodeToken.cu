// The program of DecodeKernel.cuh for the ops of layers, and its launch.
//
// Intermediate vectors are in the scratch: a block may write a phase's results
// while others still read its input, and the plan's buffers of the two may be
// the same memory.

#include "runtime/kernels/decode/DecodeToken.h"

#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/kernels/decode/DecodeKernel.cuh"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/NormOps.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"
#include "runtime/sizes/WeightScales.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace reciperun::kernels {
namespace {

using decode::DecodeProgram;
using decode::MatmulPhase;
using decode::Phase;
using device::OpCall;
using device::Tensor;
using plan::OpKind;

static_assert(mostDecodeColumns == decode::mostColumns);

constexpr int phasesOfLayer = 5;

bool isQuantized(const OpCall& call) {
  return call.op.kind == OpKind::QuantizedLinear;
}

/// The scratch of a launch.
class DecodeVectors {
public:
  DecodeVectors(const device::CudaContext& context, const DecodeLayers& all)
      : scratch(context), first(all.layers.front()) {
    const Tensor& q = first.attention->inputs[0];
    const int64_t heads = q.shape[2], width = q.shape[3];
    counters = scratch.take<decode::DecodeCounters>(1);
    sums = scratch.take<float>(heads * decode::mostParts * width);
    limits = scratch.take<float2>(heads * decode::mostParts);
    query = take(q);
    key = take(first.attention->inputs[1]);
    value = take(first.attention->inputs[2]);
    attended = take(q);
    int64_t widest = 0;
    for (const DecodeLayer& layer : all.layers)
      widest = std::max(widest, layer.gated->outputs[0].elements());
    gated = scratch.take<bfloat16>(widest);
    middle = take(first.input());
    hidden = take(first.input());
  }
  bool fit() const { return scratch.leftBytes() >= 0; }

private:
  bfloat16* take(const Tensor& like) {
    return scratch.take<bfloat16>(like.elements());
  }

  Scratch scratch;
  const DecodeLayer& first;

public:
  decode::DecodeCounters* counters;
  float* sums;
  float2* limits;
  bfloat16 *query, *key, *value, *attended, *gated, *middle, *hidden;
};

/// Builds the program.
class ProgramWriter {
public:
  ProgramWriter(DecodeProgram& program, const DecodeVectors& vectors)
      : program(program), vectors(vectors) {}

  Status writeStep(const OpCall& attention);

  /// Writes a layer that reads `input` and writes `result`.
  void writeLayer(const DecodeLayer& layer, const bfloat16* input,
                  bfloat16* result) {
    MatmulPhase& first = addNorm(*layer.inputNorm, input);
    addProduct(first, *layer.query, vectors.query);
    addProduct(first, *layer.key, vectors.key);
    addProduct(first, *layer.value, vectors.value);
    addAttention(*layer.attention);
    addSum(layer.output, vectors.attended, input, vectors.middle);
    MatmulPhase& second = addNorm(*layer.postNorm, vectors.middle);
    addProduct(second, *layer.gate, nullptr);
    addProduct(second, *layer.up, nullptr);
    second.result = decode::Result::gated;
    second.gated = vectors.gated;
    addSum(layer.down, vectors.gated, vectors.middle, result);
  }

private:
  Phase& addPhase(Phase::Kind kind) {
    Phase& phase = program.phases[program.count++];
    phase = {};
    phase.kind = kind;
    return phase;
  }

  MatmulPhase& addMatmuls(const bfloat16* x) {
    MatmulPhase& made = addPhase(Phase::Kind::matmuls).matmuls;
    made = {};
    made.x = x;
    return made;
  }

  MatmulPhase& addNorm(const OpCall& norm, const bfloat16* x) {
    const ops::RmsNormAttributes attributes(norm.op.attributes);
    MatmulPhase& made = addMatmuls(x);
    made.normalizes = true;
    made.norm = norm.inputs[1].as<bfloat16>();
    made.eps = float(attributes.eps);
    made.isCentered = attributes.centered;
    return made;
  }

  void addProduct(MatmulPhase& to, const OpCall& call, bfloat16* y) {
    const Tensor& w = call.inputs[1];
    decode::Product& made = to.products[to.count++];
    made = {};
    made.w = w.as<uint8_t>();
    made.y = y;
    made.n = int(w.elements() / w.shape.back());
    to.k = int(w.shape.back());
    if (!isQuantized(call)) {
      to.stored = decode::Stored::bf16;
      made.alpha = float(call.op.attributes.real("alpha", 1));
      return;
    }
    const ops::QuantizedLinearAttributes attributes(call.op.attributes);
    to.stored = decode::Stored::fp8;
    made.alpha = float(attributes.alpha);
    made.scales = call.inputs[2].as<float>();
    to.scaleStride =
        sizes::findWeightScales(attributes.scales) == sizes::WeightScales::rows;
  }

  void addSum(const DecodeSum& sum, const bfloat16* x, const bfloat16* base,
              bfloat16* y) {
    MatmulPhase& made = addMatmuls(x);
    addProduct(made, *sum.product, y);
    made.products[0].base = base;
    made.roundsFirst = sum.add;
  }

  void addAttention(const OpCall& call) {
    decode::AttentionPhase& made = addPhase(Phase::Kind::attention).attention;
    made = {vectors.query,
            vectors.key,
            vectors.value,
            call.outputs[1].as<bfloat16>(),
            call.outputs[2].as<bfloat16>(),
            vectors.attended};
  }

  DecodeProgram& program;
  const DecodeVectors& vectors;
};

Status ProgramWriter::writeStep(const OpCall& attention) {
  decode::DecodeStep& step = program.step;
  step.paged =
      cuda::pagedStepOf(attention.op, attention.inputs, attention.outputs);
  step.rotates = ops::AttentionPagedAttributes(attention.op.attributes).rope;
  if (step.rotates)
    RECIPERUN_TRY(cuda::readRotation(attention.op, step.paged.shape.width,
                                     step.rotation));
  step.counters = vectors.counters;
  step.sums = vectors.sums;
  step.limits = vectors.limits;
  return Status::ok();
}

} // namespace

size_t countFusedCudaKernels(std::span<const OpCall> calls,
                             const device::CudaContext& context) {
  if (context.properties().major != 9)
    return 0;
  const DecodeLayers found =
      findDecodeLayers(calls, decode::mostPhases / phasesOfLayer);
  if (found.layers.empty())
    return 0;
  const Tensor& q = found.layers.front().attention->inputs[0];
  const int64_t group =
      q.shape[2] / found.layers.front().attention->inputs[1].shape[2];
  const int64_t chunks =
      q.shape[2] / std::min<int64_t>(group, decode::chunkHeads);
  return chunks <= std::min(context.multiprocessors(), decode::mostChunks) &&
                 DecodeVectors(context, found).fit()
             ? found.calls
             : 0;
}

Status runFusedCudaKernels(std::span<const OpCall> calls,
                           device::CudaContext& context) {
  const DecodeLayers all = findDecodeLayers(calls, calls.size());
  const DecodeVectors vectors(context, all);
  const auto program = std::make_unique<DecodeProgram>();
  ProgramWriter writer(*program, vectors);
  RECIPERUN_TRY(writer.writeStep(*all.layers.front().attention));
  const bfloat16* input = all.layers.front().input().as<bfloat16>();
  for (const DecodeLayer& layer : all.layers) {
    const bool isLast = &layer == &all.layers.back();
    bfloat16* const result =
        isLast ? layer.result().as<bfloat16>() : vectors.hidden;
    writer.writeLayer(layer, input, result);
    input = result;
  }
  RECIPERUN_CUDA_TRY(cudaMemsetAsync, vectors.counters, 0,
                     sizeof(decode::DecodeCounters), context.stream());
  constexpr auto room = int(sizeof(decode::DecodeRoom));
  RECIPERUN_CUDA_TRY(cudaFuncSetAttribute, decode::decodeToken,
                     cudaFuncAttributeMaxDynamicSharedMemorySize, room);
  cudaLaunchAttribute together = {};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = unsigned(context.multiprocessors());
  launch.blockDim = decode::decodeThreads;
  launch.dynamicSmemBytes = room;
  launch.stream = context.stream();
  launch.attrs = &together;
  launch.numAttrs = 1;
  cudaLaunchKernelEx(&launch, decode::decodeToken, *program);
  return device::launchStatus();
}

} // namespace reciperun::kernels
