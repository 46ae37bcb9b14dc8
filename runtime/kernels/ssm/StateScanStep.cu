// state_scan of a serving step's tokens, on a GPU; StateScan.cpp has the
// formulas. A warp advances the state of one channel of a sequence over the
// sequence's tokens. A lane holds every 32nd number of the state in registers.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/StepTokens.cuh"
#include "runtime/kernels/ssm/StateScan.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using namespace cuda;

constexpr int scanLanes = 32, scanWarps = 8,
              scanThreads = scanLanes * scanWarps;

/// Zeros in the rows of padding. One block per token.
template <class T>
__global__ void clearPadding(StepTokens tokens, int64_t row, T* y) {
  tokens.check(int(blockIdx.x));
  if (!tokens.isPadding(int(blockIdx.x)))
    return;
  for (int64_t i = threadIdx.x; i < row; i += blockDim.x)
    y[blockIdx.x * row + i] = T(0.0f);
}

/// Block (channels, head of a group, sequence). `numbers` is of a lane.
template <int numbers, class T>
__global__ __launch_bounds__(scanThreads) void scanStep(
    const __grid_constant__ ScanInputs<T> in, StepTokens tokens, T* y,
    float* states) {
  __shared__ TokenRange shared;
  const int sequence = int(blockIdx.z);
  const TokenRange run = runOf(tokens, sequence, shared);
  const int lane = int(threadIdx.x) % scanLanes;
  const int channel =
      int(blockIdx.x) * scanWarps + int(threadIdx.x) / scanLanes;
  if (run.count() == 0 || channel >= in.headWidth())
    return;
  const ScanHead at{0, int(blockIdx.y) / in.heads, int(blockIdx.y) % in.heads};
  const float rate = in.rate(at), skip = in.skip(at);
  const int64_t first =
      (int64_t(sequence) * in.groups + at.group) * in.channels +
      at.head * in.headWidth() + channel;
  float* const own = states + first * in.state;
  const bool isNew = tokens.positions[run.begin] == 0;
  float state[numbers];
#pragma unroll
  for (int j = 0; j < numbers; ++j) {
    const int i = lane + j * scanLanes;
    state[j] = !isNew && i < in.state ? own[i] : 0.0f;
  }
  for (int token = run.begin; token < run.end; ++token) {
    const float step = softplus(in.rawStep(at, token));
    const float decay = expf(-rate * step);
    const int64_t element = in.channelAt(at, token) + channel;
    const float x = float(in.x[element]), input = step * x;
    const T* const b = in.b + in.row(at, token) * in.state;
    const T* const c = in.c + in.row(at, token) * in.state;
    float sum = 0;
#pragma unroll
    for (int j = 0; j < numbers; ++j) {
      const int i = lane + j * scanLanes;
      if (i >= in.state)
        break;
      state[j] = decay * state[j] + input * float(b[i]);
      sum += state[j] * float(c[i]);
    }
    for (int far = scanLanes / 2; far; far /= 2)
      sum += __shfl_xor_sync(~0u, sum, far);
    if (lane == 0)
      y[element] = rounded<T>(sum + skip * x);
  }
#pragma unroll
  for (int j = 0; j < numbers; ++j)
    if (const int i = lane + j * scanLanes; i < in.state)
      own[i] = state[j];
}

} // namespace

Status stateScanStepCudaKernel(const CudaKernelArgs& args) {
  const auto &in = args.inputs, &out = args.outputs;
  auto run = [&]<class T>(DeviceType<T>) -> Status {
    const ScanInputs<T> inputs(in, 1);
    if (inputs.isEmpty())
      return Status::ok();
    RECIPERUN_TRY(checkScan(inputs));
    const StepTokens tokens{in[7].as<int32_t>(), in[8].as<int32_t>(),
                            inputs.tokens, int(out[1].shape[0])};
    const cudaStream_t stream = args.context.stream();
    T* const y = out[0].as<T>();
    clearPadding<<<unsigned(inputs.tokens), 128, 0, stream>>>(
        tokens, int64_t(inputs.groups) * inputs.channels, y);
    const dim3 grid(unsigned(ceilDivide(inputs.headWidth(), scanWarps)),
                    unsigned(inputs.groups * inputs.heads),
                    unsigned(tokens.mostSequences));
    float* const states = out[1].as<float>();
    if (inputs.state <= 4 * scanLanes)
      scanStep<4><<<grid, scanThreads, 0, stream>>>(inputs, tokens, y, states);
    else
      scanStep<widestState / scanLanes>
          <<<grid, scanThreads, 0, stream>>>(inputs, tokens, y, states);
    return device::launchStatus();
  };
  return withDeviceType(args, in[0].type, run);
}

} // namespace reciperun::kernels
