// 1. The subset construction: a state of the result is the set of states that a
//    text leads to. The bounds of all edges of a set divide the bytes into
//    ranges; all bytes of a range lead to the same set.
// 2. If there are too many sets or they become too large, only the empty edges
//    are removed: each state gets the edges of the states that its empty edges
//    lead to.

#include "runtime/grammar/Limits.h"
#include "runtime/grammar/Machine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace reciperun::grammar {
namespace {

using Subset = std::vector<int32_t>; // sorted

/// The construction gives up when it has this many times more sets than states.
constexpr size_t growth = 8;
constexpr size_t smallestLimit = 4096;

class SubsetConstruction {
public:
  explicit SubsetConstruction(const EmptyEdgeMachine& from)
      : from(from), seen(from.states.size(), 0) {}

  /// Nullopt when the result grows too much.
  std::optional<Machine> run() {
    const size_t limit =
        std::min(maxStates, growth * from.states.size() + smallestLimit);
    idOf(closure({from.start}));
    for (size_t i = 0; i < subsets.size(); ++i) {
      if (subsets.size() > limit || members > maxEdges)
        return std::nullopt;
      const Subset subset = subsets[i];
      Machine::State state;
      state.isFinal =
          std::binary_search(subset.begin(), subset.end(), from.end);
      addEdges(subset, state);
      addCalls(subset, state);
      made.states.push_back(std::move(state));
    }
    return std::move(made);
  }

  /// The states that empty edges lead to, except those without edges and calls
  /// that are not the end.
  Subset closure(std::vector<int32_t> open) {
    ++round;
    Subset reached;
    for (const int32_t each : open)
      seen[size_t(each)] = round;
    while (!open.empty()) {
      const int32_t at = open.back();
      open.pop_back();
      const EmptyEdgeMachine::State& state = from.states[size_t(at)];
      if (!state.edges.empty() || !state.calls.empty() || at == from.end)
        reached.push_back(at);
      for (const int32_t next : state.empty)
        if (seen[size_t(next)] != round) {
          seen[size_t(next)] = round;
          open.push_back(next);
        }
    }
    std::sort(reached.begin(), reached.end());
    return reached;
  }

private:
  int32_t idOf(Subset subset) {
    const auto [place, isNew] =
        ids.emplace(subset, static_cast<int32_t>(subsets.size()));
    if (isNew) {
      members += subset.size() + 1;
      subsets.push_back(std::move(subset));
    }
    return place->second;
  }

  int32_t targetOf(std::vector<int32_t> targets) {
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    const auto known = reachedFrom.find(targets);
    if (known != reachedFrom.end())
      return known->second;
    const int32_t id = idOf(closure(targets));
    reachedFrom.emplace(std::move(targets), id);
    return id;
  }

  void addEdges(const Subset& subset, Machine::State& state) {
    std::vector<Edge> edges;
    std::set<int> bounds; // first bytes of ranges
    for (const int32_t member : subset)
      for (const Edge& edge : from.states[size_t(member)].edges) {
        edges.push_back(edge);
        bounds.insert(edge.low);
        bounds.insert(edge.high + 1);
      }
    std::sort(edges.begin(), edges.end(),
              [](const Edge& a, const Edge& b) { return a.low < b.low; });
    std::vector<Edge> active;
    size_t next = 0;
    for (auto bound = bounds.begin(); bound != bounds.end(); ++bound) {
      const int low = *bound;
      while (next < edges.size() && edges[next].low <= low)
        active.push_back(edges[next++]);
      std::erase_if(active, [&](const Edge& edge) { return edge.high < low; });
      if (active.empty())
        continue;
      std::vector<int32_t> targets;
      for (const Edge& edge : active)
        targets.push_back(edge.target);
      members += targets.size();
      const int high = *std::next(bound) - 1;
      append(state.edges, {static_cast<uint8_t>(low),
                           static_cast<uint8_t>(high), targetOf(targets)});
    }
  }

  static void append(std::vector<Edge>& edges, const Edge& edge) {
    if (!edges.empty() && edges.back().target == edge.target &&
        edges.back().high + 1 == edge.low)
      edges.back().high = edge.high;
    else
      edges.push_back(edge);
  }

  void addCalls(const Subset& subset, Machine::State& state) {
    std::map<RuleId, std::vector<int32_t>> targets;
    for (const int32_t member : subset)
      for (const Call& call : from.states[size_t(member)].calls)
        targets[call.rule].push_back(call.target);
    for (const auto& [rule, states] : targets)
      state.calls.push_back({rule, targetOf(states)});
  }

  const EmptyEdgeMachine& from;
  Machine made;
  std::vector<Subset> subsets;
  std::map<Subset, int32_t> ids, reachedFrom;
  std::vector<int64_t> seen; // the round of closure() that reached a state
  int64_t round = 0;
  size_t members = 0;
};

/// Keeps the states. Each gets the edges of the states that its empty edges
/// lead to.
Expected<Machine> withoutEmptyEdges(const EmptyEdgeMachine& from) {
  SubsetConstruction subsets(from);
  Machine made;
  made.isDeterministic = false;
  std::vector<int32_t> idOf(from.states.size(), -1);
  std::vector<int32_t> order;
  auto numberOf = [&](int32_t state) {
    if (idOf[size_t(state)] < 0) {
      idOf[size_t(state)] = static_cast<int32_t>(order.size());
      order.push_back(state);
    }
    return idOf[size_t(state)];
  };
  numberOf(from.start);
  size_t edges = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    Machine::State state;
    for (const int32_t member : subsets.closure({order[i]})) {
      state.isFinal |= member == from.end;
      for (const Edge& edge : from.states[size_t(member)].edges)
        state.edges.push_back({edge.low, edge.high, numberOf(edge.target)});
      for (const Call& call : from.states[size_t(member)].calls)
        state.calls.push_back({call.rule, numberOf(call.target)});
    }
    edges += state.edges.size() + state.calls.size();
    if (edges > maxEdges)
      return Status::error("a rule needs more than " +
                           std::to_string(maxEdges) +
                           " edges; write shorter repetitions");
    std::sort(state.edges.begin(), state.edges.end(),
              [](const Edge& a, const Edge& b) {
                return std::tie(a.low, a.high, a.target) <
                       std::tie(b.low, b.high, b.target);
              });
    made.states.push_back(std::move(state));
  }
  return made;
}

} // namespace

Expected<Machine> determinize(const EmptyEdgeMachine& machine) {
  if (std::optional<Machine> made = SubsetConstruction(machine).run())
    return std::move(*made);
  return withoutEmptyEdges(machine);
}

} // namespace reciperun::grammar
