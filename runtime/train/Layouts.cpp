// See Layouts.h.

#include "runtime/train/Layouts.h"

#include "runtime/launch/HostFile.h"

#include <algorithm>
#include <optional>

namespace reciperun::train {
namespace {

/// A field that the plans of a run have in common.
struct Common {
  const char* name;
  std::string (*read)(const plan::Plan& plan);
};

constexpr Common commons[] = {
    {"train.dir", [](const plan::Plan& plan) { return plan.train.directory; }},
    {"checkpoint.dir",
     [](const plan::Plan& plan) { return plan.checkpoint.directory; }},
    {"batch.global",
     [](const plan::Plan& plan) {
       return std::to_string(plan.train.globalBatch);
     }},
};

Status differ(const Layout& first, const Layout& second, const char* field,
              const std::string& values, const std::string& remedy) {
  return Status::error("`" + first.path + "` and `" + second.path +
                       "` are no two layouts of one run: `" + field + "` is " +
                       values + "; " + remedy);
}

} // namespace

Status orderLayouts(std::vector<Layout>& layouts) {
  std::stable_sort(layouts.begin(), layouts.end(),
                   [](const Layout& left, const Layout& right) {
                     return left.plan.mesh.ranks > right.plan.mesh.ranks;
                   });
  const Layout& first = layouts.front();
  for (size_t i = 1; i < layouts.size(); ++i) {
    const Layout& each = layouts[i];
    for (const Common& common : commons)
      if (common.read(first.plan) != common.read(each.plan))
        return differ(first, each, common.name,
                      "`" + common.read(first.plan) + "` and `" +
                          common.read(each.plan) + "`",
                      "compile them from one recipe that sets `train.dir`, "
                      "with other `cluster.ranks`");
    if (layouts[i - 1].plan.mesh.ranks == each.plan.mesh.ranks)
      return differ(layouts[i - 1], each, "cluster.ranks",
                    std::to_string(each.plan.mesh.ranks) + " in both",
                    "leave one out");
  }
  return Status::ok();
}

std::string silenceText(const std::vector<std::string>& silent) {
  std::string names;
  for (size_t i = 0; i < silent.size(); ++i)
    names += (i == 0                  ? "`"
              : i + 1 < silent.size() ? ", `"
                                      : " and `") +
             silent[i] + "`";
  return names + (silent.size() == 1 ? " does not answer" : " do not answer");
}

Expected<const Layout*> widestLayout(const std::vector<Layout>& layouts,
                                     const std::string& hostfile,
                                     const std::vector<std::string>& silent) {
  if (hostfile.empty() || (layouts.size() == 1 && silent.empty()))
    return &layouts.front();
  auto hosts = launch::hostsOf(hostfile);
  if (hosts)
    hosts = launch::hostsWithout(*hosts, silent);
  std::optional<int> slots = hosts ? launch::slotsOf(*hosts) : std::nullopt;
  if (hosts && hosts->empty())
    slots = 0;
  if (!slots)
    return &layouts.front();
  for (const Layout& each : layouts)
    if (each.plan.mesh.ranks <= *slots)
      return &each;
  const Layout& narrowest = layouts.back();
  return Status::error("`" + hostfile + "` gives " + std::to_string(*slots) +
                       (*slots == 1 ? " slot" : " slots") +
                       (silent.empty() ? "" : ", as " + silenceText(silent)) +
                       ", and `" + narrowest.path + "` has " +
                       std::to_string(narrowest.plan.mesh.ranks) +
                       " ranks; add hosts, or a plan with fewer ranks");
}

} // namespace reciperun::train
