// 1. Parse, and list all nodes of the document.
// 2. Choose one: evenly among all, or by a walk from the top, which reaches the
//    few values outside the long lists more often.
// 3. Change it according to its type.

#include "test/fuzz/PlanMutator.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

namespace reciperun::fuzz {
namespace {

using Json = nlohmann::ordered_json;

/// Limits of the types in plans, and sizes near them.
constexpr int64_t notableIntegers[] = {
    0,
    1,
    -1,
    2,
    -2,
    3,
    63,
    64,
    65,
    std::numeric_limits<int32_t>::max(),
    std::numeric_limits<int32_t>::min(),
    int64_t(1) << 24,
    int64_t(1) << 31,
    int64_t(1) << 32,
    int64_t(1) << 61,
    int64_t(1) << 62,
    std::numeric_limits<int64_t>::max(),
    std::numeric_limits<int64_t>::max() - 63,
    std::numeric_limits<int64_t>::min(),
};
constexpr double notableFractions[] = {0.0,   -0.0,   1.0,   -1.0,
                                       1e308, -1e308, 5e-324};
constexpr const char* notableStrings[] = {"",
                                          "f64",
                                          "f32",
                                          "bf16",
                                          "i32",
                                          "i64",
                                          "dp",
                                          "tp",
                                          "world",
                                          "sum",
                                          "max",
                                          "pretrain",
                                          "sft",
                                          "generate",
                                          "serve",
                                          "cpu",
                                          "cuda",
                                          "train",
                                          "evaluate",
                                          "attention_paged",
                                          "state_scan_step",
                                          "take_rows",
                                          "guaranteed_no_evict",
                                          "max_utilization",
                                          "linear",
                                          "attention",
                                          "load",
                                          "run",
                                          "jsonl",
                                          "mock",
                                          "llama3",
                                          "none",
                                          "constant",
                                          "cosine",
                                          "zeros",
                                          "normal",
                                          "{role}",
                                          "a\nb",
                                          "\u00e4",
                                          "all_reduce"};

class Mutator {
public:
  Mutator(Json& document, uint32_t seed) : document(document), random(seed) {
    list(document);
  }

  void mutate() {
    for (size_t count = 1 + below(4); count > 0; --count) {
      change(choose());
      nodes.clear();
      list(document);
    }
  }

  /// Descends both documents in parallel while their structure agrees.
  void cross(const Json& other) {
    Json* mine = &document;
    const Json* theirs = &other;
    while (mine->is_structured() && mine->type() == theirs->type() &&
           !mine->empty() && !theirs->empty() && below(6) != 0) {
      auto at = std::next(mine->begin(), below(mine->size()));
      if (mine->is_array()) {
        theirs = &(*theirs)[below(theirs->size())];
      } else {
        auto found = theirs->find(at.key());
        if (found == theirs->end())
          break;
        theirs = &*found;
      }
      mine = &*at;
    }
    *mine = Json(*theirs);
  }

private:
  void list(Json& node) {
    nodes.push_back(&node);
    if (node.is_structured())
      for (Json& child : node)
        list(child);
  }

  size_t below(size_t bound) { return random() % bound; }
  template <class T, size_t count> const T& oneOf(const T (&values)[count]) {
    return values[below(count)];
  }

  Json& choose() {
    if (below(2))
      return *nodes[below(nodes.size())];
    Json* node = &document;
    while (node->is_structured() && !node->empty() && below(8) != 0)
      node = &*std::next(node->begin(), below(node->size()));
    return *node;
  }

  /// A random value of the document that `isRight` accepts, or null after some
  /// tries.
  template <class Predicate> const Json* another(Predicate isRight) {
    for (int turn = 0; turn < 32; ++turn)
      if (const Json* node = nodes[below(nodes.size())]; isRight(*node))
        return node;
    return nullptr;
  }

  void change(Json& node) {
    if (below(64) == 0) {
      Json copy = *nodes[below(nodes.size())];
      node = std::move(copy);
    } else if (node.is_array()) {
      changeList(node);
    } else if (node.is_object()) {
      changeRecord(node);
    } else if (node.is_boolean()) {
      node = !node.get<bool>();
    } else if (node.is_string()) {
      changeString(node);
    } else if (node.is_number_float()) {
      changeFraction(node);
    } else if (node.is_number()) {
      changeInteger(node);
    }
  }

  void changeInteger(Json& node) {
    // Unsigned arithmetic: overflow must not trap.
    auto value = static_cast<uint64_t>(node.get<int64_t>());
    switch (below(8)) {
    case 0:
      value = static_cast<uint64_t>(oneOf(notableIntegers));
      break;
    case 1:
      value += 1;
      break;
    case 2:
      value -= 1;
      break;
    case 3:
      value *= 2;
      break;
    case 4:
      value = static_cast<uint64_t>(static_cast<int64_t>(value) / 2);
      break;
    case 5:
      value += 64 * (1 + below(4));
      break;
    case 6:
      value = below(100);
      break;
    default:
      if (auto* other =
              another([](const Json& n) { return n.is_number_integer(); }))
        value = static_cast<uint64_t>(other->get<int64_t>());
    }
    node = static_cast<int64_t>(value);
  }

  void changeFraction(Json& node) {
    double value = node.get<double>();
    double changed = below(2) ? oneOf(notableFractions) : value * 2 - 0.5;
    if (std::isfinite(changed))
      node = changed;
  }

  void changeString(Json& node) {
    const Json* other = another([](const Json& n) { return n.is_string(); });
    if (other && below(2))
      node = other->get<std::string>();
    else
      node = oneOf(notableStrings);
  }

  void changeList(Json& node) {
    if (node.empty()) {
      Json copy = *nodes[below(nodes.size())];
      node.push_back(std::move(copy));
      return;
    }
    size_t at = below(node.size()), other = below(node.size());
    switch (below(6)) {
    case 0:
      node.erase(at);
      break;
    case 1:
      node.insert(node.begin() + ptrdiff_t(at), Json(node[other]));
      break;
    case 2:
      std::swap(node[at], node[other]);
      break;
    case 3:
      node[at] = Json(node[other]);
      break;
    case 4:
      node.erase(node.begin() + ptrdiff_t(at), node.end());
      break;
    default:
      change(node[at]);
    }
  }

  void changeRecord(Json& node) {
    if (node.empty())
      return;
    auto at = std::next(node.begin(), ptrdiff_t(below(node.size())));
    switch (below(8)) {
    case 0:
      node.erase(at);
      break;
    case 1: {
      const Json* other = another([](const Json& n) { return n.is_object(); });
      if (other) {
        Json copy = *other;
        node = std::move(copy);
      }
      break;
    }
    case 2:
      addField(node);
      break;
    default:
      change(*at);
    }
  }

  /// Adds a field that is omitted when it has its default.
  void addField(Json& node) {
    constexpr const char* names[] = {
        "slots",       "slot_stride", "shard_axis", "shard_stride", "group",
        "micro_batch", "workspace",   "attributes", "axis",         "dim",
        "gradient",    "lora_a",      "lora_b",     "trainable",    "tokens",
        "transfer",    "stages",      "value",      "param",        "unknown"};
    const char* name = oneOf(names);
    const Json* value = another([](const Json& n) { return n.is_primitive(); });
    Json added = value && below(2) ? *value : Json(oneOf(notableIntegers));
    node[name] = std::move(added);
  }

  Json& document;
  std::mt19937 random;
  std::vector<Json*> nodes;
};

} // namespace

std::string mutatePlan(std::string_view text, uint32_t seed) {
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded())
    return {};
  Mutator(document, seed).mutate();
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string crossPlans(std::string_view text, std::string_view other,
                       uint32_t seed) {
  Json document = Json::parse(text, nullptr, false);
  Json donor = Json::parse(other, nullptr, false);
  if (document.is_discarded() || donor.is_discarded())
    return {};
  Mutator(document, seed).cross(donor);
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace reciperun::fuzz
