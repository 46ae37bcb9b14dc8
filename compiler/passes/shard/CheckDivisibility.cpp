// Divisibility; see CheckDivisibility.h.
//
// 1. For each degree, list the dimensions that it splits and that some value
//    has.
// 2. If the degree does not divide one of them, report the first one at the
//    degree in the user's text. The other dimensions and the places where sizes
//    are given are labels. The help proposes degrees that divide all of the
//    dimensions.

#include "compiler/passes/shard/CheckDivisibility.h"

#include "compiler/passes/build/StateSpaceDims.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace recipec::passes {

namespace {

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
    for (const auto& [name, degree] : graph.degrees) {
      // One message per degree: checks the residual stream only when everything
      // else fits.
      if (check(name))
        checkResidual(name);
    }
    if (!engine.hasErrors())
      checkExchange();
    if (!engine.hasErrors() && layout.residual.empty())
      checkDispatch();
    if (!engine.hasErrors() && size("etp") > 1)
      checkExperts();
  }

private:
  std::vector<DimId> splitBy(
      const std::string& degree,
      const std::vector<std::pair<std::string, std::string>>& entries) const {
    std::vector<DimId> dims = splitDims(graph, entries, degree);
    std::erase_if(dims, [this](DimId dim) { return !isUsed[size_t(dim)]; });
    return dims;
  }

  int64_t size(const std::string& degree) const {
    return ir::sizeOf(graph, ir::axesOf(graph, degree));
  }

  SourceRange range(const std::string& degree) const {
    return graph.degrees.at(degree).range;
  }

  std::string sized(const std::string& degree) const {
    return "`" + degree + "` = " + std::to_string(size(degree));
  }

  /// Uses the name in the user's text, where the groups of `mamba2` may have
  /// any name.
  std::string sized(DimId dim) const {
    const auto& [name, size, range] = graph[dim];
    if (name.starts_with(mambaGroupsDim))
      return "`groups` = " + std::to_string(size) + " of `mamba2`";
    return "`" + name + "` = " + std::to_string(size);
  }

  bool divides(const std::string& degree, DimId dim) const {
    return graph[dim].size % size(degree) == 0;
  }

  bool check(const std::string& degree) {
    std::vector<DimId> dims = splitBy(degree, layout.dims);
    std::vector<DimId> failing;
    for (DimId dim : dims)
      if (!divides(degree, dim))
        failing.push_back(dim);
    if (failing.empty())
      return true;
    diag::Builder report = engine.report(diag::Kind::Indivisible, range(degree),
                                         sized(degree) + " does not divide " +
                                             sized(failing.front()));
    report.label(graph[failing.front()].range,
                 sized(failing.front()) + " is given here");
    for (size_t i = 1; i < failing.size(); ++i)
      report.label(graph[failing[i]].range,
                   "nor does it divide " + sized(failing[i]));
    if (failing.size() == 1 && graph[failing[0]].name == "vocab")
      report.propose(proposePadding(graph[failing[0]].size, size(degree)));
    proposeDegrees(report, degree, dims);
    report.otherwise("choose a `" + degree + "` that divides " +
                     std::to_string(graph[failing.front()].size));
    return false;
  }

  void checkResidual(const std::string& degree) {
    for (DimId dim : splitBy(degree, layout.residual)) {
      if (divides(degree, dim))
        continue;
      engine
          .report(diag::Kind::Indivisible, range(degree),
                  sized(degree) + " does not divide " + sized(dim))
          .label(graph[dim].range, sized(dim) + " is given here")
          .note("sequence parallelism shards the sequence of the residual "
                "stream over `" +
                degree + "`")
          .propose(proposeLengths(graph[dim].size, size(degree)))
          .propose({"set `parallel.sequence` to ",
                    {{"`false`", {"parallel.sequence=false"}}},
                    ""})
          .otherwise(otherLength(size(degree)));
    }
  }

  /// Checks that the heads of each attention divide over the ranks that
  /// exchange heads for tokens, whatever the name of that dimension.
  void checkExchange() {
    for (const ir::Op& op : graph.functions[0].ops)
      if (op.kind == ir::OpKind::Attention && !checkExchange(op))
        return;
  }

  bool checkExchange(const ir::Op& attention) {
    if (!layout.hasExchange(attention.layer))
      return reportUnlisted(attention);
    int64_t ranks = size(layout.exchangeOf(attention.layer).heads);
    return ranks == 1 ||
           (checkHeads(graph[attention.operands[0]].dims[2], ranks) &&
            checkHeads(graph[attention.operands[1]].dims[2], ranks));
  }

  /// Reports a layer without an entry in the list `cp_comm`: a model may have
  /// more layers than its field `layers` says.
  bool reportUnlisted(const ir::Op& attention) {
    engine
        .report(diag::Kind::InvalidValue, layout.exchangesRange,
                "`cp_comm` lists " + std::to_string(layout.exchanges.size()) +
                    " layers, and `" + attention.name + "` is in none of them")
        .note("the model attends here", attention.range)
        .help("write one way for all layers");
    return false;
  }

  bool checkHeads(DimId heads, int64_t ranks) {
    std::vector<DimId> split = splitBy("tp", layout.dims);
    bool isSplit = std::find(split.begin(), split.end(), heads) != split.end();
    int64_t parts = ranks * (isSplit ? size("tp") : 1);
    if (graph[heads].size % parts == 0)
      return true;
    engine
        .report(diag::Kind::Indivisible, range("cp"),
                "`cp_comm` exchanges heads among " + std::to_string(parts) +
                    " ranks, which do not divide " + sized(heads))
        .label(graph[heads].range, sized(heads) + " is given here")
        .propose({"set `parallel.cp_comm` to ",
                  {{"`\"p2p\"`", {"parallel.cp_comm=\"p2p\""}}},
                  ", which exchanges no heads"})
        .otherwise("choose a `cp` so that the ranks divide the heads");
    return false;
  }

  /// Checks the sequence: every rank, those of `tp` included, sends its own
  /// tokens to the experts.
  void checkDispatch() {
    const std::vector<ir::Op>& ops = graph.functions[0].ops;
    auto sends = [](const ir::Op& op) {
      return op.kind == ir::OpKind::Dispatch;
    };
    auto dispatch = std::find_if(ops.begin(), ops.end(), sends);
    if (dispatch == ops.end())
      return;
    DimId sequence = graph[dispatch->operands[0]].dims[1];
    int64_t parts = size("cp") * size("tp");
    if (graph[sequence].size % parts == 0)
      return;
    engine
        .report(diag::Kind::Indivisible, range("tp"),
                "`cp` * `tp` = " + std::to_string(parts) + " does not divide " +
                    sized(sequence))
        .label(graph[sequence].range, sized(sequence) + " is given here")
        .note("each rank sends its own part of a sequence to the experts")
        .propose(proposeLengths(graph[sequence].size, parts))
        .otherwise(otherLength(parts));
  }

  /// Checks that `etp` splits at least one weight of each expert.
  void checkExperts() {
    std::vector<DimId> split = splitBy("etp", layout.dims);
    std::map<int, const ir::Op*> whole; // the first expert_linear of each layer
    std::set<int> shared;               // layers that `etp` splits
    for (const ir::Op& op : graph.functions[0].ops) {
      if (op.kind != ir::OpKind::ExpertLinear)
        continue;
      whole.emplace(op.layer, &op);
      for (DimId dim : graph[op.operands[1]].dims)
        if (std::find(split.begin(), split.end(), dim) != split.end())
          shared.insert(op.layer);
    }
    for (const auto& [layer, op] : whole) {
      if (shared.contains(layer))
        continue;
      engine
          .report(diag::Kind::InvalidValue, range("etp"),
                  sized("etp") + " splits no dimension of the experts' `" +
                      graph[op->operands[1]].name + "`")
          .note("the weight is made here", op->range)
          .help("call a dimension of it `expert_ffn`")
          .propose({"set `etp` to ", {{"1", {"parallel.etp=1"}}}, ""});
      return;
    }
  }

  /// Proposes to pad the vocabulary with unused rows, so that its shards are
  /// equal and consist of whole tiles.
  static diag::Proposal proposePadding(int64_t vocab, int64_t parts) {
    const int64_t tile = vocab < 1024 ? 1 : 128;
    const int64_t unit = std::lcm(tile, parts);
    const std::string padded = std::to_string((vocab + unit - 1) / unit * unit);
    return {"pad the vocabulary: set `model.vocab` to ",
            {{padded, {"model.vocab=" + padded}}},
            ""};
  }

  /// Proposes the degrees that divide all of the sizes, closest to the recipe's
  /// first: `change `tp` to 1, 2, 4 or 8`. Also proposes them together with a
  /// number of ranks that fits.
  void proposeDegrees(diag::Builder& report, const std::string& degree,
                      const std::vector<DimId>& dims) const {
    int64_t common = 0, now = size(degree), ranks = 1;
    for (DimId dim : dims)
      common = std::gcd(common, graph[dim].size);
    for (const ir::Axis& axis : graph.axes)
      ranks *= axis.size;
    std::vector<int64_t> degrees;
    for (int64_t d = 1; d <= std::min<int64_t>(common, maxListedDegree); ++d)
      if (common % d == 0)
        degrees.push_back(d);
    std::stable_sort(degrees.begin(), degrees.end(), [&](int64_t a, int64_t b) {
      return std::abs(a - now) < std::abs(b - now);
    });
    diag::Proposal alone{"change `" + degree + "` to ", {}, "", 4};
    diag::Proposal with{"change ", {}, "", 1};
    for (int64_t d : degrees) {
      std::string setting = "parallel." + degree + "=" + std::to_string(d);
      std::string others = std::to_string(ranks / now * d);
      alone.ways.push_back({std::to_string(d), {setting}});
      with.ways.push_back({"`" + degree + "` to " + std::to_string(d) +
                               " and `cluster.ranks` to " + others,
                           {setting, "cluster.ranks=" + others}});
    }
    report.propose(std::move(alone)).propose(std::move(with));
  }

  static std::string otherLength(int64_t parts) {
    return "choose a multiple of " + std::to_string(parts) +
           " for `data.sequence`";
  }

  /// Proposes sequence lengths near the recipe's that `parts` divides.
  static diag::Proposal proposeLengths(int64_t length, int64_t parts) {
    diag::Proposal proposal{"change `data.sequence` to ", {}, ""};
    int64_t above = (length + parts - 1) / parts * parts;
    for (int64_t near : {above, above - parts})
      if (std::string text = std::to_string(near); near > 0)
        proposal.ways.push_back({text, {"data.sequence=" + text}});
    return proposal;
  }

  // More ranks than this rarely share a tensor, and a longer list does not
  // help.
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
