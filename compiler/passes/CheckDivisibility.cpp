// Divisibility; see CheckDivisibility.h.
//
// 1. For each axis list the dimensions that it splits and that some value has.
// 2. Where it does not divide one or more of them, report the first at the
//    degree in the user's text; the others and the origins of the sizes are
//    notes, the degrees that divide all of them are the help.

#include "compiler/passes/CheckDivisibility.h"

#include <algorithm>
#include <numeric>

namespace recipec::passes {

namespace {

using ir::AxisId;
using ir::DimId;

class Check {
public:
  Check(const ir::Module& graph, const Layout& layout, diag::Engine& engine)
      : graph(graph), layout(layout), engine(engine),
        isUsed(graph.dims.size()) {
    for (const ir::Value& value : graph.values)
      for (DimId dim : value.dims)
        isUsed[size_t(dim)] = true;
  }

  void run() {
    for (size_t i = 0; i < graph.axes.size(); ++i) {
      // One message an axis: the layout of the residual stream only where all
      // else fits.
      if (check(AxisId(i)))
        checkResidual(AxisId(i));
    }
  }

private:
  std::vector<DimId> splitBy(
      AxisId axis,
      const std::vector<std::pair<std::string, std::string>>& entries) const {
    std::vector<DimId> dims = splitDims(graph, entries, axis);
    std::erase_if(dims, [this](DimId dim) { return !isUsed[size_t(dim)]; });
    return dims;
  }

  std::string degree(AxisId axis) const {
    return "`" + graph[axis].name + "` = " + std::to_string(graph[axis].size);
  }

  std::string sized(DimId dim) const {
    return "`" + graph[dim].name + "` = " + std::to_string(graph[dim].size);
  }

  bool divides(AxisId axis, DimId dim) const {
    return graph[dim].size % graph[axis].size == 0;
  }

  bool check(AxisId axis) {
    std::vector<DimId> dims = splitBy(axis, layout.dims);
    std::vector<DimId> failing;
    for (DimId dim : dims)
      if (!divides(axis, dim))
        failing.push_back(dim);
    if (failing.empty())
      return true;
    diag::Builder report = engine.report(
        diag::Kind::Indivisible, graph[axis].range,
        degree(axis) + " does not divide " + sized(failing.front()));
    report.label(graph[failing.front()].range,
                 sized(failing.front()) + " is given here");
    for (size_t i = 1; i < failing.size(); ++i)
      report.label(graph[failing[i]].range,
                   "nor does it divide " + sized(failing[i]));
    report.help(degreesText(axis, dims));
    return false;
  }

  void checkResidual(AxisId axis) {
    for (DimId dim : splitBy(axis, layout.residual)) {
      if (divides(axis, dim))
        continue;
      engine
          .report(diag::Kind::Indivisible, graph[axis].range,
                  degree(axis) + " does not divide " + sized(dim))
          .label(graph[dim].range, sized(dim) + " is given here")
          .note("sequence parallelism shards the sequence of the residual "
                "stream over `" +
                graph[axis].name + "`")
          .help("make `data.sequence` a multiple of " +
                std::to_string(graph[axis].size) +
                ", or set `parallel.sequence = false`");
    }
  }

  /// `change `tp` to 1, 2, 4 or 8`: the degrees that divide all of the sizes.
  std::string degreesText(AxisId axis, const std::vector<DimId>& dims) const {
    int64_t common = 0;
    for (DimId dim : dims)
      common = std::gcd(common, graph[dim].size);
    std::vector<int64_t> degrees;
    for (int64_t d = 1; d <= std::min<int64_t>(common, maxListedDegree); ++d)
      if (common % d == 0)
        degrees.push_back(d);
    std::string text = "change `" + graph[axis].name + "` to ";
    for (size_t i = 0; i < degrees.size(); ++i) {
      if (i > 0)
        text += i + 1 == degrees.size() ? " or " : ", ";
      text += std::to_string(degrees[i]);
    }
    return text;
  }

  // More ranks than this share no tensor in practice; a longer list helps
  // nobody.
  static constexpr int64_t maxListedDegree = 64;

  const ir::Module& graph;
  const Layout& layout;
  diag::Engine& engine;
  std::vector<bool> isUsed;
};

} // namespace

void checkDivisibility(const ir::Module& graph, const Layout& layout,
                       diag::Engine& engine) {
  Check(graph, layout, engine).run();
}

} // namespace recipec::passes
