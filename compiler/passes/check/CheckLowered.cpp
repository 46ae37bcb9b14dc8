// Everything that the schema and the ops accept and no pass lowers.
//
// 1. Settings: each row of a table has a path, the check of its value and the
//    proposed value.
// 2. The model: each unsupported request of an op's call is reported once, at
//    the setting that asks for it.
//
// When a pass learns to lower an entry, the entry is deleted. Attention with
// values wider than its keys is reported once its dimensions are known
// (BuildSlices.cpp).

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
  /// A record is described only by the name of its schema, which is what is not
  /// supported.
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

  /// State spaces need whole sequences: a state passes from the first token to
  /// the last.
  void checkStates(const recipe::Call& call) {
    std::string op = "`" + call.op + "`";
    const Value& ranks = recipe.at("parallel.cp");
    if (std::get<int64_t>(ranks.data) > 1)
      reportOnce(call, rangeOf("parallel.cp"),
                 op + " with `cp` = " + describe(ranks),
                 "`tp` splits the groups of " + op,
                 {"set `cp` to ", {{"1", {"parallel.cp=1"}}}, ""});
  }

  /// Reports an unsupported request once, at the setting that asks for it.
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
  std::set<std::string> reported; // findings about the model
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
