// Chooses the experts of each token, and their weights ("gates").
//
// Each sequence is routed independently, so no layout changes a result:
//   1. The scores of a token are the softmax or sigmoid of its logits. The
//      router chooses the largest values of score + bias. With groups it
//      chooses only from the best groups: those with the largest sums of their
//      few largest values (DeepSeek-V3, arXiv 2412.19437, 2.1.2).
//   2. A gate is the score, divided by the sum of the chosen scores if
//      normalised, times the scale. For equal values the expert with the lower
//      index wins.
//   3. An expert that more than `limit` tokens of the sequence chose keeps
//      those with the largest gates, and the first of equal gates. The others'
//      choice e becomes ~e and their gate 0. The remaining gates are not
//      normalised again.
//   4. With n tokens that are not padding, of which n_e chose expert e, p their
//      scores normalised to sum 1, and w the sequence's share of the loss:
//       aux_loss w experts sum_e (n_e / (k n)) (mean p_e) (Fedus 2021, eq. 4-6)
//       z_loss w mean (log sum exp logits)^2              (Zoph 2022, eq. 5)
//      w is the sum of the sequence's loss weights times loss_scale. Over a
//      global batch it adds up to 1, for any split into micro-batches.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/moe/RouterScores.h"
#include "runtime/ops/ExpertOps.h"

#include <limits>
#include <span>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

/// Step 1 for one token.
template <class M> class Choice {
public:
  Choice(const ops::RouteAttributes& attributes, const Routing& routing)
      : routing(routing), groups(attributes.groups),
        kept(attributes.topGroups) {}

  /// Stores the chosen experts in `indices`, the best first. It compares
  /// `values` [experts] and overwrites them.
  void run(M* values, int32_t* indices) const {
    if (kept < groups)
      dropGroups(values);
    for (int64_t j = 0; j < routing.choices; ++j) {
      const int64_t best =
          std::max_element(values, values + routing.experts) - values;
      indices[j] = int32_t(best);
      values[best] = taken;
    }
  }

private:
  // Less than all compared values, which the bias bounds.
  static constexpr M dropped = -std::numeric_limits<M>::max();
  static constexpr M taken = -std::numeric_limits<M>::infinity();

  int64_t width() const { return routing.experts / groups; }

  /// The sum of a group's largest values.
  M valueOf(const M* group) const {
    const int64_t count =
        std::min(width(), std::max<int64_t>(1, routing.choices / kept));
    M sum = 0, last = std::numeric_limits<M>::infinity();
    int64_t lastAt = -1;
    for (int64_t i = 0; i < count; ++i) {
      // The next in the order of (value descending, index ascending).
      int64_t best = -1;
      for (int64_t e = 0; e < width(); ++e) {
        const bool isBehind =
            group[e] < last || (group[e] == last && e > lastAt);
        if (isBehind && (best < 0 || group[e] > group[best]))
          best = e;
      }
      if (best < 0)
        break; // NaN
      last = group[best];
      lastAt = best;
      sum += last;
    }
    return sum;
  }

  /// Whether fewer than `kept` groups are better than this one.
  bool isKept(const M* values, int64_t group) const {
    const M own = valueOf(values + group * width());
    int64_t better = 0;
    for (int64_t other = 0; other < groups; ++other) {
      const M value = valueOf(values + other * width());
      better += value > own || (value == own && other < group);
    }
    return better < kept;
  }

  void dropGroups(M* values) const {
    uint64_t keeps = 0; // one bit per group, set before any group is dropped
    for (int64_t group = 0; group < groups; ++group)
      keeps |= uint64_t(isKept(values, group)) << group;
    for (int64_t group = 0; group < groups; ++group)
      if (!(keeps >> group & 1))
        std::fill_n(values + group * width(), width(), dropped);
  }

  const Routing& routing;
  int64_t groups, kept;
};

/// Steps 1 and 2 for one token. `scratch` is [experts].
template <class M>
void chooseExperts(const Routing& routing, const Choice<M>& choice,
                   const M* scores, const float* bias, M* scratch,
                   int32_t* indices, M* gates) {
  for (int64_t e = 0; e < routing.experts; ++e)
    scratch[e] = scores[e] + (bias ? M(bias[e]) : M(0));
  choice.run(scratch, indices);
  M sum = M(tinyScore);
  for (int64_t j = 0; j < routing.choices; ++j)
    sum += scores[indices[j]];
  const M factor = M(routing.scale) / (routing.isNormalized ? sum : M(1));
  for (int64_t j = 0; j < routing.choices; ++j)
    gates[j] = scores[indices[j]] * factor;
}

/// A token's choice of the current expert in step 3.
template <class M> struct Candidate {
  M gate;
  int64_t at; // index among the choices of the sequence

  /// Whether this choice is kept in preference to the other.
  bool operator<(const Candidate& other) const {
    return gate > other.gate || (gate == other.gate && at < other.at);
  }
};

/// Step 3 for one expert of a sequence. `scratch` is [sequence].
template <class M>
void dropBeyond(const Routing& routing, int64_t limit, int64_t expert,
                Candidate<M>* scratch, int32_t* indices, M* gates) {
  int64_t count = 0;
  for (int64_t i = 0; i < routing.sequence * routing.choices; ++i)
    if (indices[i] == expert)
      scratch[count++] = {gates[i], i};
  if (count <= limit)
    return;
  std::nth_element(scratch, scratch + limit, scratch + count);
  for (const Candidate<M>& each : std::span(scratch + limit, scratch + count)) {
    indices[each.at] = ~int32_t(expert);
    gates[each.at] = 0;
  }
}

/// The operands and results of one sequence of the batch.
template <class T> struct Sequence {
  const T* logits;
  const int32_t* segments;
  const float* weights; // null if there is no loss
  int32_t* indices;
  Math<T>* gates;
};

/// Steps 1 to 3. Padding tokens have choices of -1 and gates of 0.
template <class T>
void route(const KernelArgs& args, const Routing& routing,
           const Sequence<T>& row, int thread) {
  using M = Math<T>;
  const Tensor& bias = args.inputs[2];
  const ops::RouteAttributes attributes(args.op.attributes);
  const Choice<M> choice(attributes, routing);
  M* scores = args.context.scratch<M>(thread, size_t(2 * routing.experts));
  const int64_t k = routing.choices;
  for (int64_t t = 0; t < routing.sequence; ++t) {
    if (row.segments[t] < 0) {
      std::fill_n(row.indices + t * k, k, -1);
      std::fill_n(row.gates + t * k, k, M(0));
      continue;
    }
    scoresOf(routing, row.logits + t * routing.experts, scores);
    chooseExperts(
        routing, choice, scores, bias.present() ? bias.as<float>() : nullptr,
        scores + routing.experts, row.indices + t * k, row.gates + t * k);
  }
  const int64_t limit = attributes.limit;
  if (limit <= 0 || limit >= routing.sequence)
    return;
  auto* candidates =
      args.context.scratch<Candidate<M>>(thread, size_t(routing.sequence));
  for (int64_t e = 0; e < routing.experts; ++e)
    dropBeyond(routing, limit, e, candidates, row.indices, row.gates);
}

/// Step 4.
template <class T>
double lossOf(const KernelArgs& args, const Routing& routing,
              const Sequence<T>& row) {
  using M = Math<T>;
  const SequenceShare share(row.segments, row.weights,
                            *args.inputs[4].as<float>(), routing.sequence);
  if (share.tokens == 0)
    return 0;
  const size_t experts = size_t(routing.experts);
  auto* counts = args.context.scratch<int64_t>(0, 2 * experts);
  M* scores = reinterpret_cast<M*>(counts + experts);
  countChoices(routing, row.segments, row.indices, counts);
  double balance = 0, squares = 0;
  for (int64_t t = 0; t < routing.sequence; ++t) {
    if (row.segments[t] < 0)
      continue;
    const T* logits = row.logits + t * routing.experts;
    scoresOf(routing, logits, scores);
    const double sum = double(sumOfScores(routing, scores));
    for (int64_t e = 0; e < routing.experts; ++e)
      balance += double(counts[e]) * double(scores[e]) / sum;
    const double logSum = double(logSumOf(logits, routing.experts));
    squares += logSum * logSum;
  }
  const double tokens = double(share.tokens);
  return share.weight * (routing.balance * double(routing.experts) * balance /
                             (double(routing.choices) * tokens * tokens) +
                         routing.square * squares / tokens);
}

/// Adds a sequence's choices to the load of the experts and to the statistics
/// of dropped choices.
template <class T>
void count(const KernelArgs& args, const Routing& routing,
           const Sequence<T>& row) {
  const Tensor &load = args.outputs[3], &dropped = args.outputs[4];
  const size_t experts = size_t(routing.experts);
  auto* counts = args.context.scratch<int64_t>(0, experts);
  countChoices(routing, row.segments, row.indices, counts);
  if (load.present())
    for (size_t e = 0; e < experts; ++e)
      load.as<double>()[e] += double(counts[e]);
  if (!dropped.present())
    return;
  for (int64_t t = 0; t < routing.sequence; ++t)
    for (int64_t j = 0; row.segments[t] >= 0 && j < routing.choices; ++j) {
      dropped.as<double>()[0] += 1;
      dropped.as<double>()[1] += row.indices[t * routing.choices + j] < 0;
    }
}

template <class T> void routeForward(const KernelArgs& args) {
  const Tensor &indices = args.outputs[0], &loss = args.outputs[2];
  const Tensor& weights = args.inputs[3];
  const Routing routing(args.op, args.inputs[0], indices);
  auto rowOf = [&](int64_t b) {
    const int64_t tokens = b * routing.sequence;
    return Sequence<T>{
        args.inputs[0].as<T>() + tokens * routing.experts,
        args.inputs[1].as<int32_t>() + tokens,
        weights.present() ? weights.as<float>() + tokens : nullptr,
        indices.as<int32_t>() + tokens * routing.choices,
        args.outputs[1].as<Math<T>>() + tokens * routing.choices};
  };
  device::parallelItems(
      args.context.threads(), routing.batch,
      [&](int64_t b, int thread) { route(args, routing, rowOf(b), thread); });
  if (args.outputs[3].present() || args.outputs[4].present())
    for (int64_t b = 0; b < routing.batch; ++b)
      count(args, routing, rowOf(b));
  if (!loss.present() || !routing.hasLoss())
    return;
  double sum = 0;
  for (int64_t b = 0; b < routing.batch; ++b)
    sum += lossOf(args, routing, rowOf(b));
  *loss.as<double>() += sum * ops::RouteAttributes(args.op.attributes).share;
}

} // namespace

Status routeKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { routeForward<T>(args); });
}

} // namespace reciperun::kernels
