// Maps over all elements of tensors of one shape, on a GPU.
//
// A block processes a run of vectors. Each thread loads all its vectors before
// it computes, so that enough bytes are in flight. Outputs may be inputs: the
// thread that writes an element has already read it.

#ifndef RECIPERUN_KERNELS_COMMON_ELEMENTWISE_CUH
#define RECIPERUN_KERNELS_COMMON_ELEMENTWISE_CUH

#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/common/OverlappedLaunch.cuh"

#include <algorithm>
#include <cassert>
#include <utility>

namespace reciperun::kernels {

/// The results for one element of a function with several outputs.
template <int outputs> struct Results { float values[outputs]; };

template <class From, int inputs, class To, int outputs> struct MapOperands {
  const From* x[inputs];
  To* y[outputs];
};

namespace map {

inline constexpr int threads = 256;

__device__ inline Results<1> results(float value) {
  return {{value}};
}
template <int outputs>
__device__ Results<outputs> results(Results<outputs> values) {
  return values;
}

template <class Function, class Input, size_t... i>
__device__ auto applied(const Function& function, const Input& input,
                        std::index_sequence<i...>) {
  return results(function(input(i)...));
}

/// y[at] = function(x[at]) for the n elements from `at` on.
template <int n, class Function, class From, int inputs, class To, int outputs>
__device__ void store(const MapOperands<From, inputs, To, outputs>& operands,
                      int64_t at, const Vector<From, n> (&x)[inputs],
                      const Function& function) {
  float y[outputs][n];
#pragma unroll
  for (int e = 0; e < n; ++e) {
    const auto values = applied(
        function, [&](size_t i) { return x[i][e]; },
        std::make_index_sequence<inputs>());
#pragma unroll
    for (int o = 0; o < outputs; ++o)
      y[o][e] = values.values[o];
  }
#pragma unroll
  for (int o = 0; o < outputs; ++o)
    rounded<To, n>(y[o]).store(operands.y[o] + at);
}

template <int n, class From, int inputs, class To, int outputs>
__device__ void load(const MapOperands<From, inputs, To, outputs>& operands,
                     int64_t at, Vector<From, n> (&x)[inputs]) {
#pragma unroll
  for (int i = 0; i < inputs; ++i)
    x[i] = Vector<From, n>::load(operands.x[i] + at);
}

template <int n, int unroll, class Function, class From, int inputs, class To,
          int outputs>
__global__ void __launch_bounds__(threads)
    run(int64_t count, MapOperands<From, inputs, To, outputs> operands,
        Function function) {
  startOverlapped();
  const int64_t vectors = count / n;
  const int64_t first = int64_t(blockIdx.x) * (threads * unroll) + threadIdx.x;
  Vector<From, n> x[unroll][inputs];
#pragma unroll
  for (int u = 0; u < unroll; ++u)
    if (const int64_t at = first + u * threads; at < vectors)
      load(operands, at * n, x[u]);
#pragma unroll
  for (int u = 0; u < unroll; ++u)
    if (const int64_t at = first + u * threads; at < vectors)
      store(operands, at * n, x[u], function);
  // The remaining elements, fewer than a vector.
  if (blockIdx.x == 0 && threadIdx.x < count - vectors * n) {
    Vector<From, 1> last[inputs];
    load(operands, vectors * n + threadIdx.x, last);
    store(operands, vectors * n + threadIdx.x, last, function);
  }
}

template <int n, class Function, class From, int inputs, class To, int outputs>
void launch(const device::CudaKernelArgs& args, int64_t count,
            const MapOperands<From, inputs, To, outputs>& operands,
            Function function) {
  constexpr int unroll = std::max(1, 4 / inputs);
  const int64_t blocks =
      std::max<int64_t>(1, ceilDivide(count / n, threads * unroll));
  launchOverlapped(args.context,
                   run<n, unroll, Function, From, inputs, To, outputs>,
                   unsigned(blocks), threads, 0, count, operands, function);
}

} // namespace map

/// y[o][i] = function(x[0][i], x[1][i], ...), computed in float. The function
/// returns a float, or Results if there are several outputs.
template <class Function, class From, int inputs, class To, int outputs>
void mapElements(const device::CudaKernelArgs& args, int64_t count,
                 const MapOperands<From, inputs, To, outputs>& operands,
                 Function function) {
  if (count == 0)
    return;
  // The widest operand type moves 16 bytes per access.
  constexpr int n = std::min(vectorLength<From>, vectorLength<To>);
  bool aligned = true;
  for (const From* x : operands.x)
    aligned = aligned && areAligned(n * int64_t(sizeof(From)), x);
  for (const To* y : operands.y)
    aligned = aligned && areAligned(n * int64_t(sizeof(To)), y);
  if (aligned)
    map::launch<n>(args, count, operands, function);
  else
    map::launch<1>(args, count, operands, function);
}

/// Runs an op that has one output and maps over all of its `inputs` inputs, all
/// of one type.
template <int inputs, class Function>
Status mapOp(const device::CudaKernelArgs& args, Function function) {
  const device::Tensor& y = args.outputs[0];
  return withDeviceType(args, y.type, [&]<class T>(DeviceType<T>) {
    MapOperands<T, inputs, T, 1> operands;
    operands.y[0] = y.as<T>();
    for (int i = 0; i < inputs; ++i) {
      assert(args.inputs[size_t(i)].elements() == y.elements() &&
             "an elementwise op keeps the shape");
      operands.x[i] = args.inputs[size_t(i)].as<T>();
    }
    mapElements(args, y.elements(), operands, function);
  });
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_ELEMENTWISE_CUH
