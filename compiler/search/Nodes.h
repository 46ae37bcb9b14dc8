// Nodes of the search: layouts without their pipeline, each with the costs of a
// layer. The costs predict every pipeline of a node.

#ifndef RECIPEC_SEARCH_NODES_H
#define RECIPEC_SEARCH_NODES_H

#include "compiler/search/Corrections.h"
#include "compiler/search/Facts.h"
#include "compiler/search/Layout.h"
#include "compiler/search/Outcome.h"
#include "compiler/search/StepModel.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recipec::search {

/// The pipeline fields of `layout` have no meaning: `pp`, `vp`, the split and
/// the numbers of layers in `activations`.
struct Node {
  Layout layout;
  std::optional<LayerCosts> costs; // none: the layout does not compile
  bool isExpanded = false;         // whether its neighbors are nodes, too
};

/// A layout with its prediction.
struct Candidate {
  Layout layout;
  size_t node = 0;
  Prediction prediction = {}; // by the step model
  Prediction corrected = {};  // corrected by the errors of similar layouts
  double capacity = 0;        // bytes
  bool fits() const { return corrected.bytes <= capacity; }
};

class Nodes {
public:
  Nodes(const Facts& facts, const WrittenLayout& written,
        const Compile& compile)
      : facts(facts), written(written), compile(compile) {}

  /// Adds nodes for the layouts that are new, and for the same layouts with all
  /// activations. Compiles their samples.
  void add(const std::vector<Layout>& layouts);

  /// Those of the choices for the layout's activations that no other choice
  /// replaces. A choice is replaced by another one that saves at least as much
  /// memory at no more time per byte, according to their nodes.
  std::vector<Activations>
  usefulActivations(const Layout& layout,
                    const std::vector<Activations>& choices) const;

  /// All candidates of a node: one for each legal pipeline.
  std::vector<Candidate> candidates(size_t node,
                                    const Corrections& corrections) const;

  /// The prediction of a layout; nullopt if its node is missing or has no
  /// costs.
  std::optional<Candidate> candidate(const Layout& layout) const;

  size_t size() const { return nodes.size(); }
  Node& operator[](size_t node) { return nodes[node]; }
  const Node& operator[](size_t node) const { return nodes[node]; }

  /// The number of samples compiled, and the effort (Outcome::effort).
  size_t samples() const { return sampleCount; }
  double effort() const { return sampledEffort; }
  /// The mean effort per node so far.
  double effortOfLayout() const {
    return sampledEffort / double(std::max<size_t>(1, nodes.size()));
  }

private:
  /// The samples of a node among the compilations of a call.
  struct Sampling {
    size_t node = 0;
    size_t firstTrial = 0;
    int64_t dp = 1;
    std::optional<LayerCosts> all; // of the layout with all activations
  };

  void addLayouts(const std::vector<Layout>& layouts);
  std::vector<Settings> sampleSettings(const Layout& layout, int64_t pp,
                                       bool onlyMany) const;
  std::optional<int64_t> samplePipeline(const Layout& layout) const;
  std::optional<size_t> find(const Layout& layout) const;
  void appendFitting(std::vector<Candidate>& list, Candidate candidate,
                     const Corrections& corrections) const;
  bool interleavesEvenly(int64_t pp) const;
  std::optional<LayerCosts> costsWithAllActivations(Layout layout) const;

  const Facts& facts;
  const WrittenLayout& written;
  const Compile& compile;
  std::vector<Node> nodes;
  std::map<std::string, size_t> byKey;
  size_t sampleCount = 0;
  double sampledEffort = 0;
};

} // namespace recipec::search

#endif // RECIPEC_SEARCH_NODES_H
