// The gradient of route with respect to the logits, through the gates and the
// balancing losses (Route.cpp has the formulas and names).
//
// With g = scale s_c / Z for the chosen c and Z the sum of their scores:
//   ds_c = scale (dg_c - sum_i dg_i s_i / Z) / Z          normalised
//   ds_c = scale dg_c                                     otherwise
// A choice without capacity has a gate of 0 for any score, so dg = 0.
//   ds_e += aux_loss w experts n_e / (k n^2) / S
// S is 1 for softmax. For the sigmoid p_e = s_e / S, and the derivative of this
// normalisation subtracts the mean.
//   dlogit = s (ds - sum_i ds_i s_i)                      softmax
//   dlogit = s (1 - s) ds                                 sigmoid
//   dlogit += z_loss w 2 / n log sum exp (softmax)

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/moe/RouterScores.h"

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

/// Adds ds of one token's gates to `slopes` [experts].
template <class M>
void addGates(const Routing& routing, const M* scores, const int32_t* indices,
              const M* dgates, M* slopes) {
  M sum = M(tinyScore), pull = 0;
  for (int64_t j = 0; j < routing.choices; ++j) {
    const M score = scores[routing.expertOf(indices[j])];
    sum += score;
    pull += indices[j] < 0 ? M(0) : dgates[j] * score;
  }
  for (int64_t j = 0; j < routing.choices; ++j) {
    const M own = indices[j] < 0 ? M(0) : dgates[j];
    slopes[routing.expertOf(indices[j])] +=
        M(routing.scale) *
        (routing.isNormalized ? (own - pull / sum) / sum : own);
  }
}

/// Adds ds of one token's balancing loss: `factor` n_e for each normalised
/// score.
template <class M>
void addBalance(const Routing& routing, const M* scores, const int64_t* counts,
                double factor, M* slopes) {
  const M sum = sumOfScores(routing, scores);
  M mean = 0;
  for (int64_t e = 0; routing.isSigmoid && e < routing.experts; ++e)
    mean += M(counts[e]) * scores[e] / sum;
  for (int64_t e = 0; e < routing.experts; ++e)
    slopes[e] += M(factor) * (M(counts[e]) - mean) / sum;
}

/// Converts ds to the gradient of one token's logits, and adds `pressure` times
/// the log of the sum of their exponentials times the softmax.
template <class T>
void toLogits(const Routing& routing, const T* logits, const Math<T>* scores,
              const Math<T>* slopes, double pressure, T* dlogits) {
  using M = Math<T>;
  M pull = 0;
  for (int64_t e = 0; !routing.isSigmoid && e < routing.experts; ++e)
    pull += slopes[e] * scores[e];
  const M logSum = pressure == 0 ? M(0) : logSumOf(logits, routing.experts);
  for (int64_t e = 0; e < routing.experts; ++e) {
    const M rest = routing.isSigmoid ? M(1) - scores[e] : M(1);
    const M square =
        pressure == 0 ? M(0)
                      : M(pressure) * logSum * std::exp(M(logits[e]) - logSum);
    dlogits[e] = T(scores[e] * rest * (slopes[e] - pull) + square);
  }
}

template <class T> class Backward {
public:
  using M = Math<T>;

  explicit Backward(const KernelArgs& args)
      : args(args), routing(args.op, args.inputs[1], args.inputs[3]) {}

  void run() {
    device::parallelItems(
        args.context.threads(), routing.batch,
        [this](int64_t b, int thread) { sequence(b, thread); });
  }

private:
  void sequence(int64_t b, int thread) const {
    const size_t experts = size_t(routing.experts);
    auto* counts = args.context.scratch<int64_t>(thread, 3 * experts);
    M* scores = reinterpret_cast<M*>(counts + experts);
    M* slopes = reinterpret_cast<M*>(counts + 2 * experts);
    const int64_t first = b * routing.sequence, k = routing.choices;
    const int32_t* segments = args.inputs[2].as<int32_t>() + first;
    const int32_t* indices = args.inputs[3].as<int32_t>() + first * k;
    countChoices(routing, segments, indices, counts);
    double balance = 0, square = 0;
    factors(first, segments, balance, square);
    for (int64_t t = 0; t < routing.sequence; ++t) {
      const int64_t at = (first + t) * routing.experts;
      const T* logits = args.inputs[1].as<T>() + at;
      T* dlogits = args.outputs[0].as<T>() + at;
      if (segments[t] < 0) {
        std::fill_n(dlogits, experts, T());
        continue;
      }
      scoresOf(routing, logits, scores);
      std::fill_n(slopes, experts, M(0));
      if (args.inputs[0].present())
        addGates(routing, scores, indices + t * k,
                 args.inputs[0].as<M>() + (first + t) * k, slopes);
      if (balance != 0)
        addBalance(routing, scores, counts, balance, slopes);
      toLogits<T>(routing, logits, scores, slopes, 2 * square, dlogits);
    }
  }

  /// The factors of a token's losses.
  void factors(int64_t first, const int32_t* segments, double& balance,
               double& square) const {
    if (!routing.hasLoss() || !args.inputs[4].present())
      return;
    const SequenceShare share(segments, args.inputs[4].as<float>() + first,
                              *args.inputs[5].as<float>(), routing.sequence);
    if (share.tokens == 0)
      return;
    const double n = double(share.tokens);
    balance = share.weight * routing.balance * double(routing.experts) /
              (double(routing.choices) * n * n);
    square = share.weight * routing.square / n;
  }

  const KernelArgs& args;
  Routing routing;
};

} // namespace

Status routeBackwardKernel(const KernelArgs& args) {
  return withType(args, args.inputs[1].type,
                  [&]<class T>(Type<T>) { Backward<T>(args).run(); });
}

} // namespace reciperun::kernels
