// The gradient of the state space scan on a GPU; StateScanBackward.cpp has the
// formulas token by token. This kernel processes a tile of tokens at once, in
// matrix form (Dao & Gu 2024, arXiv 2405.21060, section 6). Within a tile
//   l_t     the log of token t's decay, s_t their sum up to t, D_t its step
//   L_ij    exp(s_i - s_j) if j <= i are of one document, else 0
//   e_j     exp(s_last - s_j) if j is of the last token's document, else 0
//   f_i     exp(s_i) if i is of the document before the tile, else 0
//   S, E    the state before the tile, and the gradient of the state after it
//           from later tokens
//   K = c b^T, W = dy x^T; L K and L W are elementwise products
// Then
//   G_j . b = (L K)^T dy + e_j E b_j =: r_j    dx_j = D_j r_j + d dy_j
//   db_j = D_j ((L W)^T c + e_j x_j E)         dc_i = (L W) D b + f_i dy_i S
//   a_t da_t = the sum of L K W D over i >= t > j, of f_i dy_i S c_i over
//              i >= t, of e_j D_j x_j E b_j over j < t, and f_last E . S
//   E of the tile before = (f dy)^T c + f_last E
//
// A block processes some channels of a head of a sequence. Chunks run from the
// last to the first, in launches of as many tiles as fit into the scratch:
//   1. For each tile advance S from the state before the chunk, tile by tile.
//   2. Compute the matmuls above, in bf16 on tensor cores, else in f32. Store
//      db and dc of these channels, ddt's part and, at the end of the launch, E
//      to the scratch.
//   3. Another kernel adds up a group's blocks, in order.
// Sums over tokens for the gradients of parameters are in f64.

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/kernels/ssm/StateScanBackward.cuh"
#include "runtime/kernels/ssm/StateScanBackwardBf16.cuh"
#include "runtime/kernels/ssm/StateScanBackwardPlain.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using namespace cuda;

constexpr int threads = 256;

/// The kernel of steps 1 and 2, and its launch parameters.
template <class T> struct ScanKernel {
  void (*run)(ScanCall<T>, ScanSpan);
  int threads, sharedBytes;
  int side, padded; // see ScanCall
};

constexpr int roundUp(int count, int by) {
  return (count + by - 1) / by * by;
}

template <class T> ScanKernel<T> plainKernel(int state) {
  const int padded = roundUp(state, plainScan::wideBlock);
  return {scanBackPlain<T>, plainScan::threads,
          plainScan::Shared::bytes(padded), plainScan::tileTokens, padded};
}

template <int width> ScanKernel<bfloat16> tensorKernel() {
  using Block = TensorScanBlock<width>;
  return {scanBackBf16<width>, Block::threads, Block::sharedBytes, Block::side,
          width};
}

/// Tensor cores run bf16 if the states fit into registers.
template <class T> ScanKernel<T> kernelFor(int state) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (state <= 64)
      return tensorKernel<64>();
    if (state <= 128)
      return tensorKernel<128>();
  }
  return plainKernel<T>(state);
}

// ---- step 3

/// Block (token of the span, unit).
template <class T>
__global__ __launch_bounds__(threads) void addShares(
    const __grid_constant__ ScanCall<T> call,
    const __grid_constant__ ScanSpan span) {
  const ScanInputs<T>& in = call.in;
  const int index = int(blockIdx.x), unit = int(blockIdx.y);
  const int token = span.chunk * in.chunk + span.firstTile * call.side + index;
  const ScanHead at{(call.firstUnit + unit) / in.groups,
                    (call.firstUnit + unit) % in.groups, 0};
  const int64_t row = in.row(at, token);
  for (int j = int(threadIdx.x); j < 2 * in.state; j += threads) {
    float sum = 0;
    for (int part = 0; part < call.parts; ++part)
      sum += call.shares[call.shareAt(unit, part, index) * 2 * in.state + j];
    (j < in.state ? call.db : call.dc)[row * in.state + j % in.state] =
        rounded<T>(sum);
  }
  const int parts = call.partsOfHead();
  for (int head = int(threadIdx.x); head < in.heads; head += threads) {
    float sum = 0;
    for (int part = 0; part < parts; ++part)
      sum += call.stepShares[call.shareAt(unit, head * parts + part, index)];
    call.ddt[row * in.heads + head] = rounded<T>(sum);
  }
}

/// One thread per head of a group. `sums` starts with the sums of the first
/// part.
template <class T, class G>
__global__ void addParameters(const __grid_constant__ ScanCall<T> call,
                              const double* sums, G* total) {
  const ScanInputs<T>& in = call.in;
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= in.groups * in.heads)
    return;
  const int group = i / in.heads, head = i % in.heads;
  const int parts = call.partsOfHead();
  double sum = double(float(total[i]));
  for (int sequence = 0; sequence < in.sequences; ++sequence)
    for (int part = 0; part < parts; ++part)
      sum += sums[((int64_t(sequence) * in.groups + group) * call.parts +
                   head * parts + part) *
                  parameters];
  total[i] = rounded<G>(float(sum));
}

// ---- launches

/// Allocates the scratch for `units` units and `call.tiles` tiles at a time.
/// Returns whether it fits.
template <class T>
bool layOut(const CudaKernelArgs& args, int units, ScanCall<T>& call) {
  Scratch room(args.context);
  const int64_t parts = int64_t(units) * call.parts;
  const int64_t tokens = parts * call.tiles * call.side;
  call.sums = room.take<ParameterSums>(int64_t(call.in.sequences) *
                                       call.in.groups * call.parts);
  call.owed = room.take<float>(parts * call.side * call.padded);
  call.shares = room.take<float>(tokens * 2 * call.in.state);
  call.stepShares = room.take<float>(tokens);
  return room.leftBytes() >= 0;
}

/// The number of units per launch; 0 if not even one fits.
template <class T>
int chooseUnits(const CudaKernelArgs& args, ScanCall<T>& call) {
  int units = call.in.sequences * call.in.groups;
  call.tiles = int(ceilDivide(call.in.chunk, call.side));
  while (!layOut(args, units, call)) {
    if (call.tiles > 1)
      call.tiles = (call.tiles + 1) / 2;
    else if (units > 1)
      units = (units + 1) / 2;
    else
      return 0;
  }
  return units;
}

/// Processes some units, from their last tokens to their first.
template <class T>
Status runUnits(const CudaKernelArgs& args, const ScanKernel<T>& kernel,
                const ScanCall<T>& call, int units) {
  const ScanInputs<T>& in = call.in;
  const auto scanBack = kernel.run;
  RECIPERUN_CUDA_TRY(
      cudaFuncSetAttribute, reinterpret_cast<const void*>(scanBack),
      cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.sharedBytes);
  const cudaStream_t stream = args.context.stream();
  ScanSpan span{};
  span.isFirst = true;
  for (span.chunk = in.chunks() - 1; span.chunk >= 0; --span.chunk) {
    const int begin = span.chunk * in.chunk;
    const int count = std::min(in.chunk, in.tokens - begin);
    for (int end = int(ceilDivide(count, call.side)); end > 0;
         end = span.firstTile) {
      span.firstTile = std::max(0, end - call.tiles);
      span.tiles = end - span.firstTile;
      const int first = span.firstTile * call.side;
      const int tokens = std::min(span.tiles * call.side, count - first);
      scanBack<<<dim3(unsigned(call.parts), unsigned(units)), kernel.threads,
                 size_t(kernel.sharedBytes), stream>>>(call, span);
      RECIPERUN_TRY(device::launchStatus());
      addShares<<<dim3(unsigned(tokens), unsigned(units)), threads, 0,
                  stream>>>(call, span);
      RECIPERUN_TRY(device::launchStatus());
      span.isFirst = false;
    }
  }
  return Status::ok();
}

template <class T>
Status addTo(const CudaKernelArgs& args, const ScanCall<T>& call,
             const double* sums, const Tensor& total) {
  if (!total.present())
    return Status::ok();
  const int64_t count = total.elements();
  withStoredType(total.type, [&]<class G>(DeviceType<G>) {
    addParameters<<<unsigned(ceilDivide(count, threads)), threads, 0,
                    args.context.stream()>>>(call, sums, total.as<G>());
  });
  return device::launchStatus();
}

template <class T> Status runBackward(const CudaKernelArgs& args) {
  const auto& out = args.outputs;
  ScanCall<T> call{
      ScanInputs<T>(args.inputs.subspan(1),
                    ops::StateScanBackwardAttributes(args.op.attributes).chunk),
      args.inputs[0].as<T>(),
      args.inputs[9].as<float>(),
      out[0].as<T>(),
      out[1].as<T>(),
      out[2].as<T>(),
      out[3].as<T>()};
  const ScanInputs<T>& in = call.in;
  if (in.isEmpty())
    return Status::ok();
  RECIPERUN_TRY(checkScan(in));
  const ScanKernel<T> kernel = kernelFor<T>(in.state);
  call.side = kernel.side;
  call.padded = kernel.padded;
  call.parts = in.heads * int(ceilDivide(in.headWidth(), call.side));
  call.isAligned = in.state % 8 == 0 && in.headWidth() % 8 == 0 &&
                   areAligned(16, in.x, in.b, in.c, call.dy, call.dx);
  const int units = chooseUnits(args, call);
  if (units == 0)
    return Status::error("state_scan_backward on GPUs has no room for a group "
                         "of " +
                         std::to_string(in.channels) + " channels");
  const int all = in.sequences * in.groups;
  for (call.firstUnit = 0; call.firstUnit < all; call.firstUnit += units)
    RECIPERUN_TRY(
        runUnits(args, kernel, call, std::min(units, all - call.firstUnit)));
  RECIPERUN_TRY(addTo(args, call, &call.sums->aLog, out[4]));
  RECIPERUN_TRY(addTo(args, call, &call.sums->d, out[5]));
  return addTo(args, call, &call.sums->dtBias, out[6]);
}

} // namespace

Status stateScanBackwardCudaKernel(const CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    return runBackward<T>(args);
  });
}

} // namespace reciperun::kernels
