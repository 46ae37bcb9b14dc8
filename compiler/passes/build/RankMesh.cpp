// 1. Each degree covers a span of the ranks of a stage, counted from the
//    innermost: `tp` from 1 to tp, `cp` from tp to tp * cp, and so on. The
//    degrees of the experts cover the same ranks with spans of their own.
// 2. The ends of all spans cut the ranks into axes. An axis is named after the
//    outer degree (`tp`, `cp`, `dp`) that it is a factor of.
// 3. A degree consists of the axes within its span.
//
// The schema ensures that each cut divides the next one.

#include "compiler/passes/build/RankMesh.h"

#include <algorithm>
#include <cassert>

namespace recipec::passes {
namespace {

/// A degree as ranks of a stage: from stride `begin` to stride `end`.
struct Span {
  std::string name;
  int64_t begin = 1;
  int64_t end = 1;
  SourceRange range;
};

class MeshBuilder {
public:
  explicit MeshBuilder(const recipe::Recipe& recipe) : recipe(recipe) {}

  RankMesh run() {
    lay({"tp", "cp", "dp"});
    size_t outer = spans.size();
    lay({"etp", "ep", "edp"});
    part("cp_a2a", spans[1].begin, spans[1].begin * degree("cp_a2a"));
    part("cp_ring", spans[1].begin * degree("cp_a2a"), spans[1].end);
    part("instances", spans[2].end / degree("shard_instances"), spans[2].end);
    addAxis("pp", degree("pp"), rangeOf("pp"));
    for (size_t i = outer; i-- > 0;)
      cut(spans[i]);
    for (const Span& span : spans)
      addDegree(span);
    mesh.degrees["pp"] = {ir::AxisSet(ir::AxisId(0)), rangeOf("pp")};
    return std::move(mesh);
  }

private:
  int64_t degree(const std::string& name) const {
    return recipe.integer("parallel." + name);
  }

  SourceRange rangeOf(const std::string& name) const {
    return recipe.at("parallel." + name).origin.range;
  }

  /// Adds the spans of degrees, from the innermost to the outermost.
  void lay(const std::vector<std::string>& names) {
    int64_t begin = 1;
    for (const std::string& name : names) {
      spans.push_back({name, begin, begin * degree(name), rangeOf(name)});
      begin = spans.back().end;
    }
  }

  void part(const std::string& name, int64_t begin, int64_t end) {
    spans.push_back({name, begin, end, {}});
  }

  /// Adds the axes that make up an outer degree, outermost first.
  void cut(const Span& span) {
    std::vector<int64_t> cuts = {span.begin, span.end};
    for (const Span& other : spans)
      for (int64_t end : {other.begin, other.end})
        if (end > span.begin && end < span.end)
          cuts.push_back(end);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin() + 1, cuts.end()), cuts.end());
    for (size_t i = cuts.size() - 1; i-- > 0;) {
      assert(cuts[i + 1] % cuts[i] == 0 && "the schema checks the cuts");
      std::string name = span.name;
      if (cuts.size() > 2)
        name += "." + std::to_string(cuts.size() - 2 - i);
      strides.push_back(cuts[i]);
      addAxis(name, cuts[i + 1] / cuts[i], span.range);
    }
  }

  void addAxis(std::string name, int64_t size, SourceRange range) {
    mesh.axes.push_back({std::move(name), int(size), range});
  }

  void addDegree(const Span& span) {
    ir::Degree& made = mesh.degrees[span.name];
    made.range = span.range;
    // Axis 0 is `pp`, which has no stride within a stage.
    for (size_t i = 1; i < mesh.axes.size(); ++i) {
      int64_t stride = strides[i - 1], size = mesh.axes[i].size;
      bool isWithin = stride >= span.begin && stride * size <= span.end;
      if (isWithin && (size > 1 || mesh.axes[i].name == span.name))
        made.axes = made.axes | ir::AxisSet(ir::AxisId(i));
    }
  }

  const recipe::Recipe& recipe;
  std::vector<Span> spans;
  std::vector<int64_t> strides; // of all axes except `pp`
  RankMesh mesh;
};

} // namespace

RankMesh meshOf(const recipe::Recipe& recipe) {
  return MeshBuilder(recipe).run();
}

} // namespace recipec::passes
