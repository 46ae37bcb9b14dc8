// The product of two deterministic machines without calls: a state is a pair of
// states. In a difference, the second of a pair may be missing (-1), when the
// second machine can no longer accept.

#include "runtime/grammar/Limits.h"
#include "runtime/grammar/Machine.h"

#include <algorithm>
#include <map>

namespace reciperun::grammar {
namespace {

using Pair = std::pair<int32_t, int32_t>;
constexpr int32_t missing = -1;

bool isRegular(const Machine& machine) {
  return machine.isDeterministic &&
         std::all_of(
             machine.states.begin(), machine.states.end(),
             [](const Machine::State& state) { return state.calls.empty(); });
}

class Product {
public:
  Product(const Machine& first, const Machine& second, bool isDifference)
      : first(first), second(second), isDifference(isDifference) {}

  Expected<Machine> run() {
    idOf({0, 0});
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (pairs.size() > maxRegularStates)
        return Status::error("needs more than " +
                             std::to_string(maxRegularStates) + " states");
      const auto [a, b] = pairs[i];
      Machine::State state;
      const bool isSecondFinal =
          b != missing && second.states[size_t(b)].isFinal;
      state.isFinal =
          first.states[size_t(a)].isFinal && isSecondFinal != isDifference;
      addEdges(a, b, state);
      made.states.push_back(std::move(state));
    }
    return std::move(made);
  }

private:
  int32_t idOf(Pair pair) {
    const auto [place, isNew] =
        ids.emplace(pair, static_cast<int32_t>(pairs.size()));
    if (isNew)
      pairs.push_back(pair);
    return place->second;
  }

  void addEdges(int32_t a, int32_t b, Machine::State& state) {
    static const std::vector<Edge> none;
    const std::vector<Edge>& others =
        b == missing ? none : second.states[size_t(b)].edges;
    for (const Edge& edge : first.states[size_t(a)].edges) {
      int low = edge.low;
      for (const Edge& other : others) {
        if (other.high < low || other.low > edge.high)
          continue;
        addGap(edge, low, other.low - 1, state);
        low = std::max<int>(low, other.low);
        const int high = std::min(edge.high, other.high);
        state.edges.push_back({static_cast<uint8_t>(low),
                               static_cast<uint8_t>(high),
                               idOf({edge.target, other.target})});
        low = high + 1;
      }
      addGap(edge, low, edge.high, state);
    }
  }

  /// In a difference, keeps the bytes for which the second machine has no edge.
  void addGap(const Edge& edge, int low, int high, Machine::State& state) {
    if (isDifference && low <= high)
      state.edges.push_back({static_cast<uint8_t>(low),
                             static_cast<uint8_t>(high),
                             idOf({edge.target, missing})});
  }

  const Machine& first;
  const Machine& second;
  bool isDifference;
  Machine made;
  std::vector<Pair> pairs;
  std::map<Pair, int32_t> ids;
};

} // namespace

Expected<Machine> intersect(const Machine& first, const Machine& second,
                            bool isDifference) {
  if (!isRegular(first) || !isRegular(second))
    return Status::error("needs too many states");
  return Product(first, second, isDifference).run();
}

bool accepts(const Machine& machine, std::string_view text) {
  std::vector<int32_t> states = {0};
  for (const char each : text) {
    std::vector<int32_t> next;
    const uint8_t byte = static_cast<uint8_t>(each);
    for (const int32_t state : states)
      for (const Edge& edge : machine.states[size_t(state)].edges)
        if (edge.low <= byte && byte <= edge.high)
          next.push_back(edge.target);
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    states = std::move(next);
  }
  return std::any_of(states.begin(), states.end(), [&](int32_t state) {
    return machine.states[size_t(state)].isFinal;
  });
}

bool acceptsAny(const Machine& machine) {
  // Every state of a machine is reached from its first.
  return std::any_of(machine.states.begin(), machine.states.end(),
                     [](const Machine::State& state) { return state.isFinal; });
}

} // namespace reciperun::grammar
