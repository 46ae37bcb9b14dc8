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
      : context(args.context), in(args.op, args.inputs),
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
    const int64_t n = in.state, size = in.headWidth() * n;
    M* state = context.scratch<M>(thread, size_t(size + 2 * n));
    M *b = state + size, *c = b + n;
    const M rate = in.rate(at), skip = in.skip(at);
    std::fill_n(state, size, M(0));
    for (int64_t t = 0; t < in.tokens; ++t) {
      if (t % in.chunk == 0)
        std::copy_n(state, size, states + in.statesAt(at, t / in.chunk));
      if (in.isFirst(at, t))
        std::fill_n(state, size, M(0));
      widen(n, in.b + in.row(at, t) * n, b);
      widen(n, in.c + in.row(at, t) * n, c);
      const M step = softplus(in.rawStep(at, t));
      const M decay = std::exp(-rate * step);
      const T* x = in.x + in.channelAt(at, t);
      T* out = y + in.channelAt(at, t);
      for (int64_t p = 0; p < in.headWidth(); ++p)
        out[p] = T(advance(decay, step * M(x[p]), b, c, state + p * n) +
                   skip * M(x[p]));
    }
  }

  /// Advances one channel's state to the next token. Returns S . c.
  M advance(M decay, M input, const M* b, const M* c, M* state) const {
    M sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < in.state; ++i) {
      state[i] = decay * state[i] + input * b[i];
      sum += state[i] * c[i];
    }
    return sum;
  }

  device::CpuContext& context;
  const ScanInputs<T> in;
  T* const y;
  M* const states;
};

} // namespace

Status stateScanKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { Forward<T>(args).run(); });
}

} // namespace reciperun::kernels
