// The gradient of the state space scan (StateScan.cpp has the formulas).
//
// With G_t the gradient of S_t, from the last token to the first:
//   G_t = dy_t c_t + a_{t+1} G_{t+1},   a_{t+1} = 0 where a document starts
//   dc_t = sum over channels of dy_t S_t,   db_t = sum of D_t x_t G_t
//   dx_t = D_t (G_t . b_t) + d dy_t,        dd = sum of dy_t x_t
//   da_t = G_t . S_{t-1}, summed over a head's channels
//   dD_t = sum of x_t (G_t . b_t) - exp(a_log) a_t da_t
//   ddt_t = dD_t sigmoid(dt_t + dt_bias), and ddt_bias is its sum
//   da_log = -exp(a_log) sum of D_t a_t da_t
//
// A thread processes a group of a sequence, chunk by chunk from the last:
//   1. For each channel recompute the states of the chunk from the state before
//      it.
//   2. Go back through them, and sum db and dc of the chunk over the channels.
//   3. Keep the gradient of the state before the chunk for the next chunk.
// Sums over tokens are in f64. Sums over sequences are computed last, in order.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/ssm/StateScan.h"

#include <utility>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

template <class T> class Backward {
public:
  using M = Math<T>;

  explicit Backward(const KernelArgs& args)
      : args(args),
        in(args.inputs.subspan(1),
           ops::StateScanBackwardAttributes(args.op.attributes).chunk),
        dy(args.inputs[0].as<T>()), states(args.inputs[9].as<M>()),
        dx(args.outputs[0].as<T>()), ddt(args.outputs[1].as<T>()),
        db(args.outputs[2].as<T>()), dc(args.outputs[3].as<T>()),
        sums(size_t(in.sequences * in.groups * in.heads)) {}

  void run() {
    device::parallelItems(args.context.threads(), in.sequences * in.groups,
                          [&](int64_t item, int thread) {
                            runGroup({item / in.groups, item % in.groups, 0},
                                     Scratch(args.context, thread, in));
                          });
    add(args.outputs[4], &Sums::aLog);
    add(args.outputs[5], &Sums::d);
    add(args.outputs[6], &Sums::dtBias);
  }

private:
  /// The contribution of a head of a sequence to the gradients of its
  /// parameters.
  struct Sums {
    double aLog = 0, d = 0, dtBias = 0;
  };

  /// A thread's buffers for one chunk of one group.
  struct Scratch {
    Scratch(device::CpuContext& context, int thread, const ScanInputs<T>& in) {
      const int64_t n = in.state, tokens = in.chunk;
      M* next = context.scratch<M>(
          thread, size_t((in.channels + 5 * tokens + 1) * n + 4 * tokens));
      auto take = [&](int64_t count) {
        return std::exchange(next, next + count);
      };
      owed = take(in.channels * n);
      for (M** matrix : {&b, &c, &db, &dc})
        *matrix = take(tokens * n);
      path = take((tokens + 1) * n);
      for (M** vector : {&step, &decay, &dstep, &ddecay})
        *vector = take(tokens);
    }

    M* owed;            // [channels, n]: gradient of the previous state
    M *b, *c, *db, *dc; // [chunk, n]
    M* path;            // [chunk + 1, n], one channel's states
    M *step, *decay, *dstep, *ddecay; // [chunk], one head's
  };

  /// Tokens [begin, begin + count) of a sequence.
  struct Chunk {
    int64_t number, begin, count;
  };

  void runGroup(const ScanHead& at, const Scratch& s) {
    std::fill_n(s.owed, in.channels * in.state, M(0));
    for (int64_t number = in.chunks() - 1; number >= 0; --number) {
      const int64_t begin = number * in.chunk;
      const Chunk chunk{number, begin, std::min(in.chunk, in.tokens - begin)};
      for (int64_t i = 0; i < chunk.count; ++i) {
        const int64_t row = in.row(at, begin + i) * in.state;
        widen(in.state, in.b + row, s.b + i * in.state);
        widen(in.state, in.c + row, s.c + i * in.state);
      }
      std::fill_n(s.db, chunk.count * in.state, M(0));
      std::fill_n(s.dc, chunk.count * in.state, M(0));
      for (int64_t head = 0; head < in.heads; ++head)
        runHead({at.sequence, at.group, head}, chunk, s);
      store(at, chunk, s.db, db);
      store(at, chunk, s.dc, dc);
    }
  }

  void runHead(const ScanHead& at, const Chunk& chunk, const Scratch& s) {
    const M rate = in.rate(at);
    for (int64_t i = 0; i < chunk.count; ++i) {
      s.step[i] = softplus(in.rawStep(at, chunk.begin + i));
      s.decay[i] = std::exp(-rate * s.step[i]);
      s.dstep[i] = s.ddecay[i] = 0;
    }
    for (int64_t p = 0; p < in.headWidth(); ++p) {
      retrace(at, p, chunk, s);
      runChannel(at, p, chunk, s);
    }
    Sums& sum = sumsOf(at);
    for (int64_t i = 0; i < chunk.count; ++i) {
      const int64_t token = chunk.begin + i;
      const M pull = in.isFirst(at, token) ? M(0) : s.decay[i] * s.ddecay[i];
      const M slope =
          (s.dstep[i] - rate * pull) * softplusSlope(in.rawStep(at, token));
      ddt[in.row(at, token) * in.heads + at.head] = T(slope);
      sum.dtBias += double(slope);
      sum.aLog -= double(rate * s.step[i] * pull);
    }
  }

  /// Step 1: recomputes path [count + 1, n].
  void retrace(const ScanHead& at, int64_t p, const Chunk& chunk,
               const Scratch& s) const {
    const int64_t n = in.state;
    std::copy_n(states + in.statesAt(at, chunk.number) + p * n, n, s.path);
    for (int64_t i = 0; i < chunk.count; ++i) {
      const int64_t token = chunk.begin + i;
      const M input = s.step[i] * M(in.x[in.channelAt(at, token) + p]);
      const M *before = s.path + i * n, *b = s.b + i * n;
      M* after = s.path + (i + 1) * n;
      if (in.isFirst(at, token)) {
#pragma omp simd
        for (int64_t j = 0; j < n; ++j)
          after[j] = input * b[j];
        continue;
      }
#pragma omp simd
      for (int64_t j = 0; j < n; ++j)
        after[j] = s.decay[i] * before[j] + input * b[j];
    }
  }

  /// Step 2 for one channel.
  void runChannel(const ScanHead& at, int64_t p, const Chunk& chunk,
                  const Scratch& s) {
    M* owed = s.owed + (at.head * in.headWidth() + p) * in.state;
    const M skip = in.skip(at);
    double products = 0;
    for (int64_t i = chunk.count - 1; i >= 0; --i) {
      const int64_t token = chunk.begin + i;
      const int64_t element = in.channelAt(at, token) + p;
      const M x = M(in.x[element]), slope = M(dy[element]);
      const M inward = pullBack(i, slope, s.step[i] * x, s, owed);
      s.dstep[i] += x * inward;
      products += double(slope * x);
      dx[element] = T(s.step[i] * inward + skip * slope);
      if (in.isFirst(at, token))
        std::fill_n(owed, in.state, M(0));
    }
    sumsOf(at).d += products;
  }

  /// Processes one token of one channel. Returns G . b.
  M pullBack(int64_t i, M slope, M input, const Scratch& s, M* owed) const {
    const int64_t n = in.state;
    const M *b = s.b + i * n, *c = s.c + i * n;
    const M *before = s.path + i * n, *after = before + n;
    M *db = s.db + i * n, *dc = s.dc + i * n;
    const M decay = s.decay[i];
    M inward = 0, across = 0;
#pragma omp simd reduction(+ : inward, across)
    for (int64_t j = 0; j < n; ++j) {
      const M g = owed[j] + slope * c[j];
      dc[j] += slope * after[j];
      db[j] += input * g;
      inward += g * b[j];
      across += g * before[j];
      owed[j] = decay * g;
    }
    s.ddecay[i] += across;
    return inward;
  }

  /// Stores the rows of a chunk, rounded.
  void store(const ScanHead& at, const Chunk& chunk, const M* from, T* to) {
    for (int64_t i = 0; i < chunk.count; ++i) {
      T* row = to + in.row(at, chunk.begin + i) * in.state;
#pragma omp simd
      for (int64_t j = 0; j < in.state; ++j)
        row[j] = T(from[i * in.state + j]);
    }
  }

  Sums& sumsOf(const ScanHead& at) {
    return sums[size_t(at.sequence * in.groups * in.heads +
                       in.parameterAt(at))];
  }

  /// total [groups, heads] += the sums of all sequences.
  void add(const Tensor& total, double Sums::*which) const {
    if (!total.present())
      return;
    const int64_t heads = in.groups * in.heads;
    withStored<M>(total.type, [&]<class G>(Type<G>) {
      G* to = total.as<G>();
      for (int64_t j = 0; j < heads; ++j) {
        double sum = double(M(to[j]));
        for (int64_t i = 0; i < in.sequences; ++i)
          sum += sums[size_t(i * heads + j)].*which;
        to[j] = G(sum);
      }
    });
  }

  const KernelArgs& args;
  const ScanInputs<T> in;
  const T* const dy;
  const M* const states;
  T *const dx, *const ddt, *const db, *const dc;
  std::vector<Sums> sums; // [sequences, groups, heads]
};

} // namespace

Status stateScanBackwardKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { Backward<T>(args).run(); });
}

} // namespace reciperun::kernels
