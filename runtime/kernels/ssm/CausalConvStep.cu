// causal_conv of a serving step's tokens, on a GPU; CausalConvStep.cpp has the
// formulas. A first kernel computes y, a second one stores the last inputs of
// each sequence. A thread processes one channel.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/common/StepTokens.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;

constexpr int convThreads = 128;

struct ConvSteps {
  StepTokens tokens;
  int64_t channels;
  int taps;
};

/// Block (channels, token).
template <class T>
__global__ __launch_bounds__(convThreads) void convolveStep(
    ConvSteps sizes, const T* x, const T* w, const T* inputs, T* y) {
  const StepTokens& tokens = sizes.tokens;
  const int token = int(blockIdx.y);
  const int64_t channel = int64_t(blockIdx.x) * convThreads + threadIdx.x;
  tokens.check(token);
  if (channel >= sizes.channels)
    return;
  T* const out = y + token * sizes.channels + channel;
  if (tokens.isPadding(token)) {
    *out = T(0.0f);
    return;
  }
  const int taps = sizes.taps;
  const int reach = min(taps - 1, tokens.positions[token]);
  const T* const before =
      inputs +
      (tokens.sequences[token] * sizes.channels + channel) * (taps - 1);
  const T* const weights = w + channel * taps;
  float sum = 0;
  int back = 0;
  for (; back <= reach && token >= back &&
         tokens.areTogether(token - back, token);
       ++back)
    sum += float(weights[taps - 1 - back]) *
           float(x[(token - back) * sizes.channels + channel]);
  // The run's tokens before this one: back - 1.
  for (const int own = back - 1; back <= reach; ++back)
    sum +=
        float(weights[taps - 1 - back]) * float(before[taps - 1 + own - back]);
  *out = rounded<T>(sum);
}

/// Block (channels, sequence).
template <class T>
__global__ __launch_bounds__(convThreads) void keepInputs(ConvSteps sizes,
                                                          const T* x,
                                                          T* inputs) {
  __shared__ TokenRange shared;
  const int sequence = int(blockIdx.y), kept = sizes.taps - 1;
  const TokenRange run = runOf(sizes.tokens, sequence, shared);
  const int64_t channel = int64_t(blockIdx.x) * convThreads + threadIdx.x;
  if (run.count() == 0 || channel >= sizes.channels)
    return;
  const bool isNew = sizes.tokens.positions[run.begin] == 0;
  T* const own = inputs + (sequence * sizes.channels + channel) * kept;
  for (int i = 0; i < kept; ++i) {
    const int token = run.count() - kept + i;
    if (token >= 0)
      own[i] = x[(run.begin + token) * sizes.channels + channel];
    else
      own[i] = isNew ? T(0.0f) : own[i + run.count()];
  }
}

} // namespace

Status causalConvStepCudaKernel(const CudaKernelArgs& args) {
  const auto &in = args.inputs, &out = args.outputs;
  ConvSteps sizes;
  sizes.tokens = {in[2].as<int32_t>(), in[3].as<int32_t>(), int(in[0].shape[1]),
                  int(out[1].shape[0])};
  sizes.channels = in[0].shape[2] * in[0].shape[3];
  sizes.taps = int(in[1].shape.back());
  const auto blocks = unsigned(ceilDivide(sizes.channels, convThreads));
  const cudaStream_t stream = args.context.stream();
  return withDeviceType(args, in[0].type, [&]<class T>(DeviceType<T>) {
    if (sizes.tokens.count == 0 || sizes.channels == 0)
      return;
    convolveStep<<<dim3(blocks, unsigned(sizes.tokens.count)), convThreads, 0,
                   stream>>>(sizes, in[0].as<T>(), in[1].as<T>(),
                             out[1].as<T>(), out[0].as<T>());
    keepInputs<<<dim3(blocks, unsigned(sizes.tokens.mostSequences)),
                 convThreads, 0, stream>>>(sizes, in[0].as<T>(),
                                           out[1].as<T>());
  });
}

} // namespace reciperun::kernels
