// 1. Several ranks may hold the same range of a parameter's moments. The rank
//    that writes the range to checkpoints also counts the range's gradient. The
//    gradient's buffer is found through the optimizer's op, which reads the
//    gradient together with the moments.
// 2. Each rank sums the squares in f64, in the order of the elements. An
//    all-reduce then adds the sums in rank order.

#include "runtime/train/GradientNorms.h"

#include "runtime/checkpoint/StateShards.h"
#include "runtime/device/BFloat16.h"
#include "runtime/device/HostCopy.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace reciperun::train {
namespace {

/// Maps the moment buffer of each optimizer op to its gradient buffer.
std::map<int, int> gradientsByMoment(const plan::Stage& stage) {
  std::map<int, int> found;
  for (const plan::Function& function : stage.functions)
    for (const plan::Op& op : function.ops)
      if (op.kind == plan::OpKind::AdamW)
        found[op.outputs[2]] = op.inputs[0];
  return found;
}

/// `layers.3` of `layers.3.q.weight`; `embed` of `embed.weight`.
std::string layerOf(const std::string& parameter) {
  size_t begin = 0;
  for (size_t end; (end = parameter.find('.', begin)) != parameter.npos;
       begin = end + 1)
    if (parameter.find_first_not_of("0123456789", begin) == end && end > begin)
      return parameter.substr(0, end);
  return parameter.substr(0, parameter.rfind('.'));
}

template <class T> double sumSquares(const exec::Tensor& tensor, double sum) {
  const T* end = tensor.as<T>() + tensor.elements();
  for (const T* at = tensor.as<T>(); at != end; ++at)
    sum += double(*at) * double(*at);
  return sum;
}

/// `sum` plus the squares of a tensor that the host can address.
double addSquares(double sum, const exec::Tensor& tensor) {
  switch (tensor.type) {
  case plan::DType::f64:
    return sumSquares<double>(tensor, sum);
  case plan::DType::bf16:
    return sumSquares<device::bf16>(tensor, sum);
  default:
    return sumSquares<float>(tensor, sum);
  }
}

} // namespace

GradientNorms::GradientNorms(const plan::Plan& plan, int rank,
                             const std::string& groups) {
  std::vector<int> groupOf; // by parameter; -1 when it is frozen
  for (const plan::Parameter& parameter : plan.parameters) {
    groupOf.push_back(-1);
    if (!parameter.trainable)
      continue;
    std::string name =
        groups == "layers" ? layerOf(parameter.name) : parameter.name;
    auto known = std::find(names.begin(), names.end(), name);
    groupOf.back() = int(known - names.begin());
    if (known == names.end())
      names.push_back(std::move(name));
  }
  const std::map<int, int> gradients =
      gradientsByMoment(plan::stageOf(plan, rank));
  for (const checkpoint::StateShard& part :
       checkpoint::writtenShards(plan, rank)) {
    auto gradient = gradients.find(part.buffer);
    if (part.kind == checkpoint::StateKind::momentM &&
        gradient != gradients.end())
      parts.push_back({groupOf[size_t(part.parameter)], gradient->second,
                       part.element, part.count});
  }
}

Expected<double> GradientNorms::squaresOf(const exec::Executor& executor,
                                          const Part& part) const {
  const exec::Tensor whole = executor.tensor(part.buffer);
  const int64_t shape[] = {part.count};
  const exec::Tensor run{whole.as<std::byte>() +
                             part.first * plan::byteSize(whole.type),
                         whole.type, shape};
  double sum = 0;
  RECIPERUN_TRY(device::readPieces(executor.device(), run,
                                   [&](const exec::Tensor& piece, int64_t) {
                                     sum = addSquares(sum, piece);
                                     return Status::ok();
                                   }));
  return sum;
}

Expected<std::vector<GradientNorms::Norm>>
GradientNorms::measure(const exec::Executor& executor,
                       comm::Communicator& communicator) const {
  std::vector<double> sums(names.size());
  for (const Part& part : parts) {
    Expected<double> squares = squaresOf(executor, part);
    RECIPERUN_TRY(squares);
    sums[size_t(part.group)] += *squares;
  }
  const int64_t shape[] = {int64_t(sums.size())};
  exec::Tensor view{sums.data(), plan::DType::f64, shape};
  RECIPERUN_TRY(communicator.host().allReduce(comm::world, view, view,
                                              comm::Reduction::sum));
  std::vector<Norm> norms;
  for (size_t i = 0; i < names.size(); ++i)
    norms.push_back({names[i], std::sqrt(sums[i])});
  return norms;
}

} // namespace reciperun::train
