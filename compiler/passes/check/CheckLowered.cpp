// The one list of what the schema and the ops know and the passes do not.
//
// 1. Settings: each line of a table names a path, which of its values are
//    lowered, and what to write instead.
// 2. The model: what a call of an op asks for and the passes do not know is
//    reported once. The place is the setting that asks for it, the call where
//    it stands beside the recipe, else the recipe's `model`.
//
// A degree, an op or a feature that a pass learns to lower leaves this file.
// Attention whose values are wider than its keys is told by its dimensions, and
// reported where they are known (BuildSlices.cpp).

#include "compiler/passes/check/CheckLowered.h"

#include "compiler/recipe/Format.h"

#include <algorithm>
#include <set>
#include <string>

namespace recipec::passes {
namespace {

using recipe::Recipe;
using recipe::Value;

// ---- values

bool isText(const Value& value, std::string_view text) {
  const auto* held = std::get_if<std::string>(&value.data);
  return held && *held == text;
}

bool isNoEightBits(const Value& value, const Recipe&) {
  return !isText(value, "fp8");
}

// ---- tables

struct Setting {
  std::string_view path;
  bool (*isLowered)(const Value&, const Recipe&);
  std::string_view help;
};

constexpr Setting settings[] = {
    {"precision.moments", isNoEightBits, "write `moments = \"bf16\"`"},
};

bool isOfStates(const recipe::Call& call) {
  return call.op == "mamba2";
}

// ---- the check

class Check {
public:
  Check(const Recipe& recipe, diag::Engine& engine)
      : recipe(recipe), engine(engine) {}

  bool run() {
    for (const Setting& setting : settings)
      checkSetting(setting);
    for (const recipe::Call& call : recipe.model.calls)
      checkCall(call);
    return reported.empty();
  }

private:
  /// A record by its schema alone, which is what tells it from those lowered.
  std::string describe(const Value& value) const {
    if (const auto* record = std::get_if<recipe::Record>(&value.data))
      return "`" + record->schema + "`";
    return recipe::formatValue(value, recipe.model.dims);
  }

  void checkSetting(const Setting& setting) {
    const Value& value = recipe.at(setting.path);
    if (setting.isLowered(value, recipe))
      return;
    engine
        .report(diag::Kind::NotSupported, value.origin.range,
                "this version does not support `" + std::string(setting.path) +
                    "` = " + describe(value))
        .help(std::string(setting.help));
  }

  void checkCall(const recipe::Call& call) {
    if (isOfStates(call))
      checkStates(call);
  }

  /// A state goes through a sequence from its first token to its last.
  void checkStates(const recipe::Call& call) {
    std::string op = "`" + call.op + "`";
    const Value& ranks = recipe.at("parallel.cp");
    if (std::get<int64_t>(ranks.data) > 1)
      reportOnce(call, rangeOf("parallel.cp"),
                 op + " with `cp` = " + describe(ranks),
                 "`tp` splits the groups of " + op,
                 {"set `cp` to ", {{"1", {"parallel.cp=1"}}}, ""});
  }

  /// At a setting that asks for it.
  void reportOnce(const recipe::Call& call, SourceRange range,
                  const std::string& what, std::string help,
                  diag::Proposal proposal = {}) {
    if (!reported.insert(what).second)
      return;
    auto builder = engine.report(diag::Kind::NotSupported, range,
                                 "this version does not support " + what);
    if (range != call.range)
      builder.note("the model calls it here", call.range);
    builder.help(std::move(help)).propose(std::move(proposal));
  }

  SourceRange rangeOf(std::string_view path) const {
    return recipe.at(path).origin.range;
  }

  const Recipe& recipe;
  diag::Engine& engine;
  std::set<std::string> reported; // what was, of the model
};

} // namespace

bool checkLowered(const Recipe& recipe, diag::Engine& engine) {
  return Check(recipe, engine).run();
}

bool hasStates(const Recipe& recipe) {
  const std::vector<recipe::Call>& calls = recipe.model.calls;
  return std::any_of(calls.begin(), calls.end(), isOfStates);
}

} // namespace recipec::passes
