// Checks the rows of shared tensors:
// 1. Group the parameters by the name of their tensor.
// 2. Check that each parameter lies in its tensor.
// 3. In row order, check that each parameter is of the same kind as the first
//    and begins where the previous one ends.

#include "runtime/plan/TensorRows.h"

#include "runtime/plan/ExpertNames.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace reciperun::plan {
namespace {

using Members = std::vector<const Parameter*>;

/// Each expert has a name. The limit keeps a damaged file from exhausting
/// memory.
constexpr int64_t mostExperts = 1 << 20;

bool isPart(const Parameter* parameter) {
  return parameter->hfRows.has_value();
}

int64_t endOf(const Parameter& parameter) {
  return parameter.hfRows->first + parameter.hfShape[0];
}

/// Whether the rows lie in the tensor. The whole tensor must also have fewer
/// than 2^63 elements.
bool isInRange(const Parameter& parameter) {
  if (parameter.hfShape.empty() || isByExpert(parameter))
    return false;
  auto [first, of] = *parameter.hfRows;
  int64_t elements = of, rows = parameter.hfShape[0];
  if (rows < 1 || of < rows || first < 0 || first > of - rows)
    return false;
  return std::all_of(parameter.hfShape.begin() + 1, parameter.hfShape.end(),
                     [&](int64_t size) {
                       return size > 0 && !__builtin_mul_overflow(
                                              elements, size, &elements);
                     });
}

bool areAlike(const Parameter& a, const Parameter& b) {
  return tensorShape(a) == tensorShape(b) && a.type == b.type &&
         a.trainable == b.trainable && a.adapter == b.adapter;
}

/// Checks a parameter on its own.
Status checkPart(const Parameter& part, const std::string& tensor) {
  std::string who = "parameter `" + part.name + "`";
  if (!isPart(&part))
    return Status::error(who + " is all of " + tensor +
                         ", of which others are rows");
  if (!isInRange(part))
    return Status::error(who + " begins at row " +
                         std::to_string(part.hfRows->first) + " of the " +
                         std::to_string(part.hfRows->of) + " of " + tensor +
                         ", which does not hold it");
  return Status::ok();
}

/// Checks that the parts, in row order, cover the tensor.
Status checkCover(const Members& parts, const std::string& tensor) {
  int64_t covered = 0;
  for (const Parameter* part : parts) {
    if (!areAlike(*part, *parts[0]))
      return Status::error("parameters `" + parts[0]->name + "` and `" +
                           part->name + "` are rows of " + tensor +
                           ", and not of one kind");
    if (part->hfRows->first != covered)
      return Status::error(tensor + " has parameters up to row " +
                           std::to_string(covered) + ", and the next, `" +
                           part->name + "`, begins at row " +
                           std::to_string(part->hfRows->first));
    covered = endOf(*part);
  }
  int64_t rows = parts[0]->hfRows->of;
  if (covered == rows)
    return Status::ok();
  return Status::error(tensor + " has " + std::to_string(rows) +
                       " rows, of which the first " + std::to_string(covered) +
                       " are parameters");
}

Status checkTensor(std::string_view name, Members parts) {
  std::string tensor = "tensor `" + std::string(name) + "`";
  for (const Parameter* part : parts)
    RECIPERUN_TRY(checkPart(*part, tensor));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Parameter* a, const Parameter* b) {
                     return a->hfRows->first < b->hfRows->first;
                   });
  return checkCover(parts, tensor);
}

/// Checks parameters without `hfRows`. A parameter without a name has no tensor
/// in the checkpoint.
Status checkWhole(std::string_view name, const Members& members) {
  const Parameter& first = *members[0];
  if (members.size() > 1 && !name.empty())
    return Status::error("parameters `" + first.name + "` and `" +
                         members[1]->name + "` are both tensor `" +
                         std::string(name) + "`");
  if (name == "__metadata__")
    return Status::error("parameter `" + first.name +
                         "` is tensor `__metadata__`, a name that safetensors "
                         "keeps for itself");
  if (isByExpert(first) &&
      (first.globalShape.empty() || first.globalShape[0] > mostExperts))
    return Status::error("parameter `" + first.name +
                         "` is a tensor for each expert, and has no dimension "
                         "of 1 to " +
                         std::to_string(mostExperts) + " experts");
  return Status::ok();
}

} // namespace

std::vector<int64_t> tensorShape(const Parameter& parameter) {
  std::vector<int64_t> shape = parameter.hfShape;
  if (parameter.hfRows)
    shape[0] = parameter.hfRows->of;
  return shape;
}

int64_t elementsBefore(const Parameter& parameter) {
  if (!parameter.hfRows)
    return 0;
  return parameter.hfRows->first *
         (elementCount(parameter.hfShape) / parameter.hfShape[0]);
}

Status checkTensorRows(const std::vector<Parameter>& parameters) {
  std::map<std::string_view, Members> byTensor;
  for (const Parameter& parameter : parameters)
    byTensor[parameter.hfName].push_back(&parameter);
  for (const auto& [name, members] : byTensor)
    RECIPERUN_TRY(std::any_of(members.begin(), members.end(), isPart)
                      ? checkTensor(name, members)
                      : checkWhole(name, members));
  return Status::ok();
}

} // namespace reciperun::plan
