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
// reported where they are known (BuildParts.cpp).

#include "compiler/passes/CheckLowered.h"

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

bool isReadSource(const Value& value, const Recipe&) {
  const auto* record = std::get_if<recipe::Record>(&value.data);
  return !record || record->schema != "blend";
}

// ---- tables

struct Setting {
  std::string_view path;
  bool (*isLowered)(const Value&, const Recipe&);
  std::string_view help;
};

constexpr std::string_view sourcesHelp =
    "read one source; `text` and `tokens` take lists of files";

constexpr Setting settings[] = {
    {"data.train", isReadSource, sourcesHelp},
    {"data.valid", isReadSource, sourcesHelp},
    {"precision.moments", isNoEightBits, "write `moments = \"bf16\"`"},
};

/// Generation keeps the keys and values of attention, and no other states.
bool hasStates(const recipe::Call& call) {
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
        .report(diag::Kind::NotLowered, value.origin.range,
                "this version does not lower `" + std::string(setting.path) +
                    "` = " + describe(value))
        .help(std::string(setting.help));
  }

  void checkCall(const recipe::Call& call) {
    if (hasStates(call))
      checkStates(call);
    checkOverflow(call);
  }

  /// A state goes through a sequence from its first token to its last.
  void checkStates(const recipe::Call& call) {
    std::string op = "`" + call.op + "`";
    const Value& ranks = recipe.at("parallel.cp");
    if (std::get<int64_t>(ranks.data) > 1)
      reportOnce(call, rangeOf("parallel.cp"),
                 op + " with `cp` = " + describe(ranks),
                 "set `cp` to 1; `tp` splits the groups of " + op);
    const Value& prompts = recipe.at("train.prompts");
    bool isAsked = !std::get<recipe::List>(prompts.data).empty();
    std::string help = "generate with a program that reads the folder of "
                       "`export.hf`";
    if (recipe.string("task") == "generate")
      reportOnce(call, "generation with " + op, help);
    else if (isAsked)
      reportOnce(call, rangeOf("train.prompts"), "generation with " + op,
                 "leave `train.prompts` out; " + help);
  }

  /// Tokens beyond a bound are dropped, or there is none.
  void checkOverflow(const recipe::Call& call) {
    const Value *capacity = call.find("capacity"),
                *overflow = call.find("overflow");
    if (!capacity || !overflow || isText(*overflow, "drop"))
      return;
    const Value& rows = recipe.at("memory.expert_rows");
    std::string rule = " and `overflow` = " + describe(*overflow);
    if (!capacity->isNone())
      reportOnce(call,
                 "`" + call.op + "` with `capacity` = " + describe(*capacity) +
                     rule,
                 "write `overflow = \"drop\"`, or `capacity = none`, which has "
                 "places for all tokens");
    else if (!rows.isNone())
      reportOnce(call,
                 "`" + call.op +
                     "` with `memory.expert_rows` = " + describe(rows) + rule,
                 "write `overflow = \"drop\"`, or `expert_rows = none`, which "
                 "has places for all rows");
  }

  void reportOnce(const recipe::Call& call, const std::string& what,
                  std::string help) {
    bool isBesideRecipe = call.range.source == recipe.range.source;
    reportOnce(call, isBesideRecipe ? call.range : rangeOf("model"), what,
               std::move(help));
  }

  /// At a setting that asks for it.
  void reportOnce(const recipe::Call& call, SourceRange range,
                  const std::string& what, std::string help) {
    if (!reported.insert(what).second)
      return;
    auto builder = engine.report(diag::Kind::NotLowered, range,
                                 "this version does not lower " + what);
    if (range != call.range)
      builder.note("the model calls it here", call.range);
    builder.help(std::move(help));
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

bool lowersGeneration(const Recipe& recipe) {
  return std::none_of(recipe.model.calls.begin(), recipe.model.calls.end(),
                      hasStates);
}

} // namespace recipec::passes
