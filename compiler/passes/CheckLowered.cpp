// The one list of what the schema and the ops know and the passes do not.
//
// 1. Settings: each line of a table names a path, which of its values are
//    lowered, and what to write instead.
// 2. The model: each op in the list of those not lowered is reported once. The
//    place is the call where it stands beside the recipe, else the recipe's
//    `model`.
//
// A degree, an op or a feature that a pass learns to lower leaves these tables.
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

bool isLoweredParts(const Value& value, const Recipe&) {
  const auto& parts = std::get<recipe::List>(value.data);
  return std::none_of(parts.begin(), parts.end(),
                      [](const Value& part) { return isText(part, "mla_up"); });
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
    {"precision.compute", isNoEightBits, "write `compute = \"bf16\"`"},
    {"precision.moments", isNoEightBits, "write `moments = \"bf16\"`"},
    {"memory.recompute_modules", isLoweredParts,
     "compute again \"attention\", \"norm\", \"activation\", \"mlp\" or "
     "\"experts\""},
};

constexpr std::string_view opsNotLowered[] = {"mamba2"};

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
    bool isLowered =
        std::find(std::begin(opsNotLowered), std::end(opsNotLowered),
                  call.op) == std::end(opsNotLowered);
    if (!isLowered)
      return reportOnce(call, "the op `" + call.op + "`",
                        "choose or write a model without it");
    checkOverflow(call);
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
    if (!reported.insert(what).second)
      return;
    bool isBesideRecipe = call.range.source == recipe.range.source;
    auto builder = engine.report(
        diag::Kind::NotLowered,
        isBesideRecipe ? call.range : recipe.at("model").origin.range,
        "this version does not lower " + what);
    if (!isBesideRecipe)
      builder.note("the model calls it here", call.range);
    builder.help(std::move(help));
  }

  const Recipe& recipe;
  diag::Engine& engine;
  std::set<std::string> reported; // what was, of the model
};

} // namespace

bool checkLowered(const Recipe& recipe, diag::Engine& engine) {
  return Check(recipe, engine).run();
}

} // namespace recipec::passes
