// y_t = w[adapters[t]] x_t, on a GPU.
//
// A group of neighbouring lanes computes an element of y: as many as read a row
// of w with one access of 16 bytes each, up to a warp. A block computes
// elements of one token, whose row of x and matrix stay in the caches. The
// matrices are small (a rank of 16 of 4096 inputs is 128 KB), so that their
// tokens read them from the L2 cache.

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace reciperun::kernels {
namespace {

constexpr int blockThreads = 256;

/// x [tokens,in], w [count,out,in], y [tokens,out]. An adapter beyond the last
/// one, which the CPU rejects, ends the work on the GPU.
template <class T> struct AdapterRows {
  const T* x;
  const T* w;
  const int32_t* adapters;
  T* y;
  int64_t in, out, count;
  int lanes; // of an element of y
};

template <class T, int n>
__global__ void __launch_bounds__(blockThreads)
    multiplyAdapters(const AdapterRows<T> rows) {
  const int64_t token = blockIdx.y;
  const int adapter = rows.adapters[token];
  if (adapter >= rows.count) {
    printf("adapter_linear: adapter %d lies outside of %lld\n", adapter,
           static_cast<long long>(rows.count));
    __trap();
  }
  const int lane = int(threadIdx.x) % rows.lanes;
  const int64_t element = int64_t(blockIdx.x) * (blockThreads / rows.lanes) +
                          int(threadIdx.x) / rows.lanes;
  float sum = 0;
  if (adapter >= 0 && element < rows.out) {
    const T* const x = rows.x + token * rows.in;
    const T* const w = rows.w + (adapter * rows.out + element) * rows.in;
    for (int64_t at = lane * n; at < rows.in; at += int64_t(rows.lanes) * n) {
      const auto left = Vector<T, n>::load(x + at);
      const auto right = Vector<T, n>::load(w + at);
#pragma unroll
      for (int e = 0; e < n; ++e)
        sum += left[e] * right[e];
    }
  }
  sum = acrossLanes(sum, rows.lanes, Plus());
  if (lane == 0 && element < rows.out)
    rows.y[token * rows.out + element] = rounded<T>(sum);
}

} // namespace

Status adapterLinearCudaKernel(const device::CudaKernelArgs& args) {
  const device::Tensor &x = args.inputs[0], &w = args.inputs[1],
                       &adapters = args.inputs[2], &y = args.outputs[0];
  const int64_t tokens = adapters.elements();
  if (tokens == 0)
    return Status::ok();
  const int64_t in = x.elements() / tokens, out = y.elements() / tokens,
                count = w.elements() / (in * out);
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        in,
        [&](auto n) {
          const auto accesses = uint64_t((in + n.value - 1) / n.value);
          const int lanes =
              int(std::bit_ceil(std::min<uint64_t>(accesses, 32)));
          const int64_t elements = blockThreads / lanes;
          const dim3 blocks(unsigned((out + elements - 1) / elements),
                            unsigned(tokens));
          multiplyAdapters<T, n.value>
              <<<blocks, blockThreads, 0, args.context.stream()>>>(
                  AdapterRows<T>{x.as<T>(), w.as<T>(), adapters.as<int32_t>(),
                                 y.as<T>(), in, out, count, lanes});
        },
        x.data, w.data);
  });
}

} // namespace reciperun::kernels
