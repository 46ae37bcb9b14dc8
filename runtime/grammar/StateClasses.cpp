// Moore's partition refinement ("Gedanken-experiments on sequential machines",
// 1956), stopped after a round for each byte: two states are in one class after
// k rounds when k bytes or calls cannot tell them apart. A call reads at least
// a byte, so that k rounds cover k bytes. A round revisits only states with an
// edge to a state that changed its class.

#include "runtime/grammar/StateClasses.h"

#include <algorithm>
#include <map>

namespace reciperun::grammar {
namespace {

/// What a state does, in terms of the classes of its targets.
using Signature = std::vector<int64_t>;

Signature signatureOf(const Automaton& automaton, int32_t state,
                      const std::vector<int32_t>& classOf) {
  struct Part {
    int low, high;
    int32_t target;
  };
  std::vector<Part> parts;
  for (const Edge& edge : automaton.edges(state)) {
    const int32_t target = classOf[size_t(edge.target)];
    if (!parts.empty() && parts.back().target == target &&
        parts.back().high + 1 == edge.low)
      parts.back().high = edge.high;
    else if (parts.empty() || parts.back().low != edge.low ||
             parts.back().high != edge.high || parts.back().target != target)
      parts.push_back({edge.low, edge.high, target});
  }
  Signature signature = {automaton.isFinal(state), int64_t(parts.size())};
  for (const Part& part : parts) {
    signature.push_back(part.low << 8 | part.high);
    signature.push_back(part.target);
  }
  for (const Call& call : automaton.calls(state)) {
    signature.push_back(call.rule);
    signature.push_back(classOf[size_t(call.target)]);
  }
  return signature;
}

} // namespace

StateClasses classifyStates(const Automaton& automaton, size_t bytes) {
  const size_t count = automaton.size();
  std::vector<std::vector<int32_t>> before(count);
  std::vector<int32_t> dirty(count);
  for (size_t i = 0; i < count; ++i) {
    const int32_t state = dirty[i] = static_cast<int32_t>(i);
    for (const Edge& edge : automaton.edges(state))
      before[size_t(edge.target)].push_back(state);
    for (const Call& call : automaton.calls(state))
      before[size_t(call.target)].push_back(state);
  }

  StateClasses made;
  made.classOf.assign(count, 0);
  std::vector<Signature> signatures(1); // of a class, as of its last change
  for (size_t round = 0; round < bytes && !dirty.empty(); ++round) {
    std::map<std::pair<int32_t, Signature>, int32_t> split;
    std::vector<std::pair<int32_t, int32_t>> changes; // state, class
    for (const int32_t state : dirty) {
      const int32_t old = made.classOf[size_t(state)];
      Signature signature = signatureOf(automaton, state, made.classOf);
      if (signature == signatures[size_t(old)])
        continue;
      const auto [place, isNew] = split.try_emplace(
          {old, signature}, static_cast<int32_t>(signatures.size()));
      if (isNew)
        signatures.push_back(std::move(signature));
      changes.push_back({state, place->second});
    }
    dirty.clear();
    for (const auto& [state, newClass] : changes) {
      made.classOf[size_t(state)] = newClass;
      dirty.insert(dirty.end(), before[size_t(state)].begin(),
                   before[size_t(state)].end());
    }
    std::sort(dirty.begin(), dirty.end());
    dirty.erase(std::unique(dirty.begin(), dirty.end()), dirty.end());
  }

  made.representative.assign(signatures.size(), -1);
  for (size_t i = count; i-- > 0;)
    made.representative[size_t(made.classOf[i])] = static_cast<int32_t>(i);
  return made;
}

} // namespace reciperun::grammar
