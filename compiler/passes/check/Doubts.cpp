// One function per warning. None of them keeps a recipe from running.

#include "compiler/passes/check/Doubts.h"

#include "compiler/recipe/Format.h"
#include "compiler/recipe/Task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

const recipe::Record* recordIn(const recipe::Value& value) {
  return std::get_if<recipe::Record>(&value.data);
}

/// Whether a source is one stream of tokens, without prompts and answers.
bool isStream(const recipe::Value& source) {
  const recipe::Record* record = recordIn(source);
  return record && (record->schema == "text" || record->schema == "token_file");
}

/// Warns about `sft` on streams of tokens: the loss covers all tokens of a
/// stream, whatever the task.
void doubtAnswers(const recipe::Recipe& recipe, diag::Engine& engine) {
  if (recipe.string("task") != "sft")
    return;
  const recipe::Value& train = recipe.at("data.train");
  const recipe::Record* record = recordIn(train);
  const recipe::Value* sources = record ? record->find("sources") : nullptr;
  const auto* blended =
      sources ? std::get_if<recipe::List>(&sources->data) : nullptr;
  // A blend of streams and samples is deliberate.
  const bool hasNoAnswers =
      blended ? std::all_of(blended->begin(), blended->end(), isStream)
              : isStream(train);
  if (!hasNoAnswers)
    return;
  engine
      .report(diag::Kind::UnlikelySetting, train.origin.range,
              "`task` = \"sft\" puts the loss on the answers alone, and "
              "`data.train` does not tell prompts from answers: the model "
              "learns on the whole text")
      .label(recipe.at("task").origin.range, "the task is given here")
      .help(
          "name the prompts, which then carry no loss: `jsonl(\"train.jsonl\""
          ", prompt = \"prompt\", completion = \"completion\")` or "
          "`jsonl(\"train.jsonl\", messages = \"messages\")`; to learn on the "
          "whole text, write `task = \"pretrain\"`");
}

void doubtValidation(const recipe::Recipe& recipe, diag::Engine& engine) {
  const recipe::Value& every = recipe.at("train.validate_every");
  if (every.isNone() || !recipe.at("data.valid").isNone())
    return;
  engine
      .report(diag::Kind::UnlikelySetting, every.origin.range,
              "`validate_every` = " + recipe::formatValue(every, {}) +
                  ", and `data.valid` is `none`: nothing is validated")
      .help("give `data.valid`, or leave `validate_every` out");
}

/// The length of a part of a learning-rate schedule, in steps of the run.
double stepsOf(const recipe::Value& length, double total) {
  if (const auto* quantity = std::get_if<recipe::Quantity>(&length.data))
    return quantity->amount;
  const auto* fraction = std::get_if<double>(&length.data);
  return fraction ? *fraction * total : 0;
}

/// The steps of the run; nullopt when they depend on the data.
std::optional<double> totalSteps(const recipe::Recipe& recipe) {
  const recipe::Value& total = recipe.at("train.total_steps");
  if (const auto* whole = std::get_if<int64_t>(&total.data))
    return double(*whole);
  const auto* quantity = std::get_if<recipe::Quantity>(&total.data);
  return quantity ? std::optional<double>(quantity->amount) : std::nullopt;
}

/// The setting that determines the length of the run.
const recipe::Value& lengthOfRun(const recipe::Recipe& recipe) {
  const recipe::Value& tokens = recipe.at("train.tokens");
  return tokens.isNone() ? recipe.at("train.steps") : tokens;
}

std::string counted(double steps) {
  return recipe::formatQuantity({steps, recipe::Unit::steps});
}

void doubtSchedule(const recipe::Recipe& recipe, diag::Engine& engine) {
  const recipe::Record* schedule = recordIn(recipe.at("optimizer.lr"));
  const std::optional<double> total = totalSteps(recipe);
  const recipe::Value* warmup = schedule ? schedule->find("warmup") : nullptr;
  if (!warmup || !total)
    return;
  const double rise = stepsOf(*warmup, *total);
  const std::string written = recipe::formatValue(*warmup, {});
  if (rise > *total) {
    engine
        .report(diag::Kind::UnlikelySetting, warmup->origin.range,
                "`warmup` = " + written + " is longer than the run of " +
                    counted(*total) +
                    ": the learning rate does not reach its `peak`")
        .label(lengthOfRun(recipe).origin.range,
               "the run has " + counted(*total))
        .help("shorten it, say to a tenth of the run, `warmup = 0.1`");
    return;
  }
  const recipe::Value* decay = schedule->find("decay");
  if (!decay || rise + stepsOf(*decay, *total) <= *total)
    return;
  engine
      .report(diag::Kind::UnlikelySetting, decay->origin.range,
              "`warmup` = " + written +
                  " and `decay` = " + recipe::formatValue(*decay, {}) +
                  " are longer than the run of " + counted(*total) +
                  ": the learning rate does not reach its `peak`")
      .label(lengthOfRun(recipe).origin.range, "the run has " + counted(*total))
      .help("shorten one of them, say to a tenth of the run, `decay = 0.1`");
}

/// Warns about an interval that is longer than the run.
void doubtInterval(const recipe::Recipe& recipe, const std::string& section,
                   const std::string& name, std::string_view effect,
                   diag::Engine& engine) {
  const recipe::Value& every = recipe.at(section + "." + name);
  const auto* length = std::get_if<recipe::Quantity>(&every.data);
  const std::optional<double> total = totalSteps(recipe);
  const bool isWritten = every.origin.kind == recipe::Origin::Kind::written ||
                         every.origin.kind == recipe::Origin::Kind::commandLine;
  if (!length || !total || !isWritten || length->unit != recipe::Unit::steps ||
      length->amount <= *total)
    return;
  const double tenth = std::max(1.0, std::floor(*total / 10));
  engine
      .report(diag::Kind::UnlikelySetting, every.origin.range,
              "`" + name + "` = " + recipe::formatValue(every, {}) +
                  " is longer than the run of " + counted(*total) + ": " +
                  std::string(effect))
      .label(lengthOfRun(recipe).origin.range, "the run has " + counted(*total))
      .help("shorten it, say to `" + name + " = " + counted(tenth) + "`");
}

/// Learning rates from this one on get a warning: they are too large for every
/// optimizer here.
constexpr double mostRate = 1;

/// The number with a negative exponent, whose sign was perhaps forgotten: for
/// 1500 it is `1.5e-3`. Empty for a number below 10.
std::string withNegativeExponent(double rate) {
  const int exponent = int(std::floor(std::log10(rate)));
  if (exponent < 1)
    return {};
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6ge-%d",
                rate / std::pow(10, exponent), exponent);
  return text.data();
}

void doubtRate(const recipe::Recipe& recipe, diag::Engine& engine) {
  const recipe::Value& given = recipe.at("optimizer.lr");
  const recipe::Record* schedule = recordIn(given);
  const recipe::Value* rate = schedule ? schedule->find("peak") : &given;
  const auto* number = rate ? std::get_if<double>(&rate->data) : nullptr;
  if (!number || *number < mostRate)
    return;
  const std::string meant = withNegativeExponent(*number);
  engine
      .report(diag::Kind::UnlikelySetting, rate->origin.range,
              "a learning rate of " + recipe::formatReal(*number) +
                  " makes each step change a weight by about as much: the loss "
                  "will not fall")
      .help(meant.empty() ? "write a rate such as `1e-3`"
                          : "was `" + meant + "` meant?");
}

/// A setting that has no effect while a degree of parallelism is 1.
struct Idle {
  const char* setting;
  const char* degree;
  const char* effect; // what the setting does
};

constexpr Idle idleSettings[] = {
    {"sequence", "tp", "shards the sequence over the ranks of `tp`"},
    {"cp_comm", "cp", "says how the ranks of `cp` exchange the sequence"},
    {"schedule", "pp", "orders the micro-batches of a pipeline"},
    {"embedding_as_layer", "pp", "balances the stages of a pipeline"},
    {"loss_as_layer", "pp", "balances the stages of a pipeline"},
};

bool isGiven(const recipe::Value& value) {
  using Kind = recipe::Origin::Kind;
  return value.origin.kind == Kind::written ||
         value.origin.kind == Kind::commandLine;
}

/// Warns about settings of parallelism that the user gives although their
/// degree is 1.
void doubtLayout(const recipe::Recipe& recipe, diag::Engine& engine) {
  for (const Idle& idle : idleSettings) {
    const std::string path = std::string("parallel.") + idle.setting;
    const recipe::Value& setting = recipe.at(path);
    const recipe::Value& degree =
        recipe.at(std::string("parallel.") + idle.degree);
    const auto* ranks = std::get_if<int64_t>(&degree.data);
    const auto* isOn = std::get_if<bool>(&setting.data);
    const bool isOff = isOn && !*isOn;
    if (!ranks || *ranks != 1 || isOff || !isGiven(setting))
      continue;
    auto builder = engine.report(
        diag::Kind::UnlikelySetting, setting.origin.range,
        std::string("`") + idle.setting + "` " + idle.effect + ", and `" +
            idle.degree + "` is 1" + (isGiven(degree) ? "" : " by default") +
            ": it has no effect");
    if (isGiven(degree))
      builder.label(degree.origin.range,
                    std::string("`") + idle.degree + "` is 1");
    builder.help(std::string("set `parallel.") + idle.degree +
                 "` to 2 or more, or leave `" + idle.setting + "` out");
  }
}

/// Warns about training an adapter beside random weights.
void doubtAdapter(const recipe::Recipe& recipe, diag::Engine& engine) {
  const recipe::Value& adapter = recipe.at("adapter");
  const recipe::Record* train = recordIn(recipe.at("data.train"));
  const std::string resume = recipe.string("checkpoint.resume");
  const bool goesOn = resume != "auto" && resume != "never";
  if (adapter.isNone() || !recipe.at("weights").isNone() || goesOn ||
      (train && train->schema == "mock"))
    return;
  engine
      .report(diag::Kind::UnlikelySetting, adapter.origin.range,
              "`adapter` is trained beside a frozen model, whose weights are "
              "random: `weights` is `none`")
      .help("name the model to adapt, as in `weights = "
            "\"models/Meta-Llama-3-8B\"`, or leave `adapter` out");
}

/// The placeholders in a text, such as `\{from}`, except `\{role}`.
std::vector<std::string> strangeHoles(const std::string& text) {
  std::vector<std::string> names;
  for (size_t at = text.find('{'); at != text.npos;
       at = text.find('{', at + 1)) {
    const size_t end = text.find_first_not_of(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", at + 1);
    const std::string name =
        end == text.npos ? "" : text.substr(at + 1, end - at - 1);
    if (!name.empty() && text[end] == '}' && name != "role")
      names.push_back("\\{" + name + "}");
  }
  return names;
}

bool hasMessages(const recipe::Value& source) {
  const recipe::Record* record = recordIn(source);
  const recipe::Value* sources = record ? record->find("sources") : nullptr;
  if (const auto* blended =
          sources ? std::get_if<recipe::List>(&sources->data) : nullptr)
    return std::any_of(blended->begin(), blended->end(), hasMessages);
  const recipe::Value* messages = record ? record->find("messages") : nullptr;
  return messages && !messages->isNone();
}

/// The setting `chat` that a user probably meant by a placeholder for the text
/// of a message, such as `\{content}`, in `before` or `after`; empty for other
/// placeholders.
std::string formAround(const std::string& hole, const std::string& before,
                       const std::string& after) {
  constexpr std::string_view names[] = {"content", "message", "text", "value",
                                        "input"};
  const std::string name = hole.substr(2, hole.size() - 3);
  if (std::find(std::begin(names), std::end(names), name) == std::end(names))
    return {};
  const std::string whole = before + after, place = "{" + name + "}";
  const size_t at = whole.find(place);
  const auto shown = [](std::string text) {
    return recipe::formatValue({std::move(text), {}}, {});
  };
  return "chat { before = " + shown(whole.substr(0, at)) +
         ", after = " + shown(whole.substr(at + place.size())) + " }";
}

/// Warns about chat texts that do not state the role of a message.
void doubtChat(const recipe::Recipe& recipe, diag::Engine& engine) {
  if (!hasMessages(recipe.at("data.train")))
    return;
  const std::string before = recipe.string("data.chat.before");
  const std::string after = recipe.string("data.chat.after");
  for (const auto& [name, text] : {std::pair("data.chat.before", &before),
                                   std::pair("data.chat.after", &after)}) {
    const std::vector<std::string> strange = strangeHoles(*text);
    if (strange.empty())
      continue;
    const std::string form = formAround(strange[0], before, after);
    engine
        .report(diag::Kind::UnlikelySetting, recipe.at(name).origin.range,
                "`" + strange[0] + "` of `" + name +
                    "` stays as it is: the one placeholder is `\\{role}`")
        .help(form.empty()
                  ? "write `\\{role}` for the role of a message, and leave `" +
                        strange[0] + "` out"
                  : "a message's text stands between `before` and `after`: "
                    "write `" +
                        form + "`");
    return;
  }
  if (before.find("{role}") == before.npos &&
      after.find("{role}") == after.npos)
    engine
        .report(diag::Kind::UnlikelySetting,
                recipe.at("data.chat.before").origin.range,
                "neither `before` nor `after` of `data.chat` has `\\{role}`: "
                "messages of all roles look alike")
        .help("write `\\{role}` where the role of a message belongs");
}

} // namespace

void findDoubts(const recipe::Recipe& recipe, diag::Engine& engine) {
  if (recipe::serves(recipe))
    return;
  doubtAnswers(recipe, engine);
  doubtAdapter(recipe, engine);
  doubtChat(recipe, engine);
  doubtValidation(recipe, engine);
  doubtSchedule(recipe, engine);
  doubtRate(recipe, engine);
  doubtLayout(recipe, engine);
  if (!recipe.at("data.valid").isNone())
    doubtInterval(recipe, "train", "validate_every",
                  "it is validated at the end alone", engine);
  doubtInterval(recipe, "train", "log_every", "the log has no line of a step",
                engine);
}

} // namespace recipec::passes
