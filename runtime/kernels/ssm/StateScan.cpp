// The state space of Mamba 2 (Dao & Gu 2024, arXiv 2405.21060, eq. 2), token by
// token. A head has D_t = softplus(dt_t + dt_bias) and a_t = exp(-exp(a_log)
// D_t). Each of its channels has a state S of n numbers:
//   S_t = a_t S_{t-1} + D_t x_t b_t
//   y_t = S_t . c_t + d x_t
// Each document starts with S = 0.
//
// A thread processes a head of a sequence from its first token to its last. It
// stores the state before each chunk for the gradient.

#include "runtime/kernels/ssm/StateScan.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"

namespace reciperun::kernels {
namespace {

using device::KernelArgs;

template <class T> class Forward {
public:
  using M = Math<T>;

  explicit Forward(const KernelArgs& args)
      : context(args.context),
        in(args.inputs, ops::StateScanAttributes(args.op.attributes).chunk),
        y(args.outputs[0].as<T>()), states(args.outputs[1].as<M>()) {}

  void run() {
    device::parallelItems(
        context.threads(), in.sequences * in.groups * in.heads,
        [&](int64_t item, int thread) {
          const int64_t row = item / in.heads;
          runHead({row / in.groups, row % in.groups, item % in.heads}, thread);
        });
  }

private:
  void runHead(const ScanHead& at, int thread) {
    const int64_t size = in.headWidth() * in.state;
    M* state = context.scratch<M>(thread, size_t(size) + HeadScan<T>::room(in));
    const HeadScan<T> scan(in, at, state + size);
    std::fill_n(state, size, M(0));
    for (int64_t t = 0; t < in.tokens; ++t) {
      if (states && t % in.chunk == 0)
        std::copy_n(state, size, states + in.statesAt(at, t / in.chunk));
      if (in.isFirst(at, t))
        std::fill_n(state, size, M(0));
      scan.advance(t, state, y);
    }
  }

  device::CpuContext& context;
  const ScanInputs<T> in;
  T* const y;      // null: only the states are computed
  M* const states; // null: only y is computed
};

} // namespace

Status stateScanKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { Forward<T>(args).run(); });
}

} // namespace reciperun::kernels
