// Names a step's largest part, with a remedy for each kind of part.

#include "compiler/driver/StepLimit.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace recipec::driver {
namespace {

class Remedies {
public:
  explicit Remedies(const recipe::Recipe& recipe) : recipe(recipe) {}

  /// For communication that no kernel overlaps, given the axes of its group,
  /// such as `tp` or `dp+cp`.
  std::string ofCommunication(const std::string& axes) const {
    const std::string axis = axes.substr(0, axes.find('+'));
    if (axis == "ep" || axis == "tp")
      return ofLinks(axis);
    if (axis == "cp")
      return "a smaller `cp`, or another `cp_comm`";
    if (axis == "pp")
      return "fewer stages, or a smaller `vp`";
    if (recipe.string("parallel.shard") == "parameters")
      return "`shard = \"gradients\"` where it fits, or a larger "
             "`batch.global`";
    return "a larger `batch.global`, for fewer reductions a token";
  }

  std::string ofBubble() const {
    const std::string batch = "a larger `batch.global`, for more micro-batches";
    return recipe.integer("parallel.vp") == 1
               ? "interleaved stages (`vp`), or " + batch
               : batch + ", or fewer stages";
  }

  std::string ofWork(cost::Work work) const {
    if (recipe.string("memory.recompute") != "none")
      return "less recomputation (`memory`), where memory is left";
    if (work == cost::Work::matmuls &&
        recipe.string("precision.compute") != "fp8" &&
        recipe.real("cluster.hardware.flops_fp8") > 0)
      return "`precision.compute = \"fp8\"`";
    return "more ranks";
  }

private:
  /// For groups that communicate within the layers.
  std::string ofLinks(const std::string& axis) const {
    const int64_t degree = recipe.integer("parallel." + axis);
    const int64_t linked = recipe.integer("cluster.hardware.link_ranks");
    const std::string name = "`" + axis + "`";
    if (degree > linked)
      return name + " of at most " + std::to_string(linked) +
             ", the ranks that NVLink connects";
    return "a smaller " + name;
  }

  const recipe::Recipe& recipe;
};

} // namespace

StepLimit stepLimitOf(const cost::Estimate& estimate,
                      const recipe::Recipe& recipe) {
  const Remedies remedies(recipe);
  std::vector<StepLimit> limits;
  const auto add = [&](std::string part, double share, std::string remedy) {
    limits.push_back({std::move(part), share, std::move(remedy)});
  };
  for (const auto& [work, names] : workNames)
    if (const auto found = estimate.work.find(work);
        found != estimate.work.end())
      add(names.first, found->second, remedies.ofWork(work));
  for (const auto& [axes, share] : estimate.exposed)
    add("communication of `" + axes + "`", share,
        remedies.ofCommunication(axes));
  add("copies to the host", estimate.copies, "fewer `memory.offload_layers`");
  add("the pipeline's bubble", estimate.bubble, remedies.ofBubble());
  return *std::ranges::max_element(limits, {}, &StepLimit::share);
}

} // namespace recipec::driver
