// Helps with an axis that is not a list, or is a list of the wrong values.

#include "compiler/sema/recipes/AxisHelp.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/recipes/Sweep.h"
#include "compiler/sema/types/Convert.h"

#include <algorithm>
#include <span>

namespace recipec::sema {
namespace {

/// The text of the only list in a record, `[1e-5, 1e-3]` of `{ values = [1e-5,
/// 1e-3] }`; empty when there is none, or several.
std::string listInRecord(Evaluator& evaluator, const Value& value) {
  Object* const* record = value.get<Object*>();
  if (!record)
    return {};
  std::string list;
  for (Slot& slot : (*record)->slots) {
    const Value element = evaluator.objects.force(**record, slot);
    if (!element.is<const ListValue*>())
      continue;
    const Definition& last = slot.chain.back();
    if (!list.empty() || !last.isValue() || last.member->given)
      return {};
    list = evaluator.sources.text(
        (*last.layer->env->file)[last.member->value].range);
  }
  return list;
}

std::string joinedPath(const std::vector<ast::Name>& path) {
  std::string name;
  for (const ast::Name& each : path)
    name += (name.empty() ? "" : ".") + each.text;
  return name;
}

/// The type of the field at a path; null when the recipe has no such field.
const Type* typeAt(Evaluator& evaluator, Object& settings,
                   const std::vector<ast::Name>& path) {
  Object* object = &settings;
  for (size_t i = 0; i < path.size(); ++i) {
    Slot* slot = object->find(path[i].text);
    if (!slot)
      return nullptr;
    if (i + 1 == path.size())
      return evaluator.objects.typeOf(*object, *slot);
    Object* const* inner =
        evaluator.objects.force(*object, *slot).get<Object*>();
    if (!inner)
      return nullptr;
    object = *inner;
  }
  return nullptr;
}

/// The values of an axis in another program's notation, as a list; empty if the
/// text has no such notation.
std::string valuesIn(std::string_view written) {
  // `"none, optimizer"`
  if (written.starts_with('"') && written.find(',') != written.npos) {
    std::string list;
    for (char c : written)
      if (c == ',')
        list += "\", \"";
      else if (c != ' ')
        list += c;
    return "[" + list + "]";
  }
  std::string values;
  if (written.starts_with('{'))
    for (size_t at = written.find('='); at != written.npos;
         at = written.find('=', at + 1)) {
      const size_t begin = written.find_first_not_of("= ", at);
      if (begin == written.npos)
        break;
      const std::string_view value =
          written.substr(begin, written.find_first_of(",} \n", begin) - begin);
      const bool isNumber =
          value.find_first_not_of("0123456789.eE+-_") == value.npos;
      if (isNumber && !value.empty())
        values += (values.empty() ? "" : ", ") + std::string(value);
    }
  return values.empty() ? std::string() : "[" + values + "]";
}

/// Adds what to write for an axis that is not a list. Other programs describe
/// an axis by its bounds, `{ min = 1e-5, max = 1e-3 }`, or by a record with the
/// list, `{ values = [1e-5, 1e-3] }`.
void helpWithAxis(Evaluator& evaluator, diag::Builder& builder,
                  const Value& value, SourceRange range) {
  const std::string written(evaluator.sources.text(range));
  if (const std::string list = listInRecord(evaluator, value); !list.empty()) {
    builder.help("an axis is the list alone: write `" + list + "`")
        .fixIt(range, list);
    return;
  }
  const std::string values = valuesIn(written);
  const bool isText = value.is<std::string>();
  const bool areBounds = written.find("min") != written.npos ||
                         written.find("max") != written.npos ||
                         written.find("low") != written.npos ||
                         written.find("high") != written.npos;
  if (isText && !values.empty())
    builder.help("write `" + values + "`");
  else if (areBounds && !values.empty())
    builder.help("an axis lists each value: write `" + values +
                 "`, with those between that are to run");
  else
    builder.help("write `[" + written + "]`").fixIt(range, "[" + written + "]");
}

/// Reports an axis `[0.9, 0.95]` of a field that is a list itself, where the
/// list was meant as one value.
bool reportListAsAxis(Evaluator& evaluator, Object& settings,
                      const std::vector<ast::Name>& path, const Value& axis,
                      SourceRange range) {
  const ListValue* const* list = axis.get<const ListValue*>();
  if (!list || (*list)->elements.empty())
    return false;
  {
    // The points of the sweep report the errors of the recipe.
    Messages::Muted muted(evaluator.messages);
    const Type* type = typeAt(evaluator, settings, path);
    const bool isOneValue =
        type && convert(evaluator, axis, *type) &&
        std::none_of((*list)->elements.begin(), (*list)->elements.end(),
                     [&](const Value& element) {
                       return convert(evaluator, element, *type).has_value();
                     });
    if (!isOneValue)
      return false;
  }
  const std::string name = joinedPath(path);
  const std::string own =
      "[" + std::string(evaluator.sources.text(range)) + "]";
  evaluator.messages
      .report(diag::Kind::WrongType, range,
              "an axis is a list of values, and each value of `" + name +
                  "` is a list itself")
      .help("write `" + own + "`, with an inner list for each point")
      .fixIt(range, own);
  return true;
}

/// Functions of other programs for an axis: of its values, or of its bounds.
constexpr std::string_view choices[] = {
    "choice",  "choices",     "categorical", "suggest_categorical",
    "options", "grid_search", "values",      "sample_from",
};
constexpr std::string_view distributions[] = {
    "uniform",       "loguniform",      "log_uniform",
    "quniform",      "qloguniform",     "randint",
    "lograndint",    "qrandint",        "normal",
    "qnormal",       "lognormal",       "linspace",
    "logspace",      "geomspace",       "arange",
    "int_range",     "float_range",     "suggest_int",
    "suggest_float", "suggest_uniform", "suggest_loguniform",
};

bool isAmong(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Whether other programs describe an axis by this key.
bool isKeyOfAxis(std::string_view key) {
  constexpr std::string_view keys[] = {
      "values",       "value", "choices", "choice",      "grid", "grid_search",
      "parameters",   "list",  "options", "categorical", "min",  "max",
      "distribution", "low",   "high",    "lower",       "upper"};
  return std::ranges::find(keys, key) != std::end(keys);
}

} // namespace

bool reportAxisInBraces(Evaluator& evaluator, Object& settings,
                        const std::vector<ast::Name>& path,
                        const ast::Body& body, const ast::File& file,
                        SourceRange item) {
  std::vector<ast::Name> field = path;
  std::string listed;
  for (const ast::Item& each : body.items) {
    const auto* node = std::get_if<ast::Assignment>(&each.node);
    if (!node || node->path.size() != 1 || node->value == ast::ExprId::none ||
        !isKeyOfAxis(node->path[0].text))
      return false;
    field.push_back(node->path[0]);
    Messages::Muted muted(evaluator.messages);
    if (typeAt(evaluator, settings, field))
      return false;
    field.pop_back();
    if (std::holds_alternative<ast::ListExpr>(file[node->value].node))
      listed = evaluator.sources.text(file[node->value].range);
  }
  if (body.items.empty())
    return false;
  const std::string name = joinedPath(path);
  const std::string bounds = valuesIn(evaluator.sources.text(body.range));
  auto builder = evaluator.messages.report(
      diag::Kind::WrongType, item,
      "an axis of a sweep is a list of values, and has no fields");
  if (!listed.empty())
    builder.help("write `" + name + " = " + listed + "`")
        .fixIt(item, name + " = " + listed);
  else
    builder.help("write `" + name + " = " +
                 (bounds.empty() ? "[...]" : bounds) +
                 "`, with each value that is to run");
  return true;
}

bool reportDistribution(Evaluator& evaluator,
                        const std::vector<ast::Name>& path, ast::ExprId value,
                        const Env& env) {
  const ast::File& file = *env.file;
  const auto* call = std::get_if<ast::Call>(&file[value].node);
  if (!call)
    return false;
  auto textOf = [&](ast::ExprId id) {
    return evaluator.sources.text(file[id].range);
  };
  const std::string_view callee = textOf(call->callee);
  const std::string_view name = callee.substr(callee.rfind('.') + 1);
  const bool areChoices = isAmong(choices, name);
  if (!areChoices && !isAmong(distributions, name))
    return false;
  {
    Messages::Muted muted(evaluator.messages);
    const Value function = evaluator.evaluate(call->callee, env);
    if (!function.isPoison() && !function.is<const Schema*>())
      return false; // one of the user's
  }
  constexpr size_t bounds = 2; // further numbers are a count or a step
  std::vector<std::string> texts;
  for (const ast::Argument& each : call->arguments)
    if (const std::string_view text = textOf(each.value);
        areChoices || (!text.starts_with('"') && texts.size() < bounds))
      texts.emplace_back(text);
  std::string list;
  for (const std::string& each : texts)
    list += (list.empty() ? "" : ", ") + each;
  const bool isList = texts.size() == 1 && list.starts_with('[');
  const std::string setting =
      joinedPath(path) + " = " + (isList ? list : "[" + list + "]");
  evaluator.messages
      .report(diag::Kind::WrongType, file[value].range,
              "an axis of a sweep is a list of values, and no value is drawn "
              "at random: `" +
                  std::string(name) + "` makes none")
      .help("write `" + setting + "`" +
            (areChoices ? "" : ", with those between that are to run"));
  return true;
}

bool reportAxis(Evaluator& evaluator, Object& settings,
                const std::vector<ast::Name>& path, const Value& axis,
                SourceRange range) {
  if (axis.is<const ListValue*>() || axis.is<Range>())
    return reportListAsAxis(evaluator, settings, path, axis, range);
  auto builder = evaluator.messages.report(
      diag::Kind::WrongType, range,
      "an axis of a sweep is a list of values, and this is of type `" +
          typeNameOf(axis) + "`");
  helpWithAxis(evaluator, builder, axis, range);
  return true;
}

std::string helpWithEqual(const SourceMap& sources, const Axis& axis) {
  std::vector<std::string> texts;
  bool areSmall = true; // single digits, as seeds are
  int largest = 0;
  for (const AxisValue& value : axis.values) {
    const std::string text(sources.text(value.range));
    const bool isDigit = text.size() == 1 && text[0] >= '0' && text[0] <= '9';
    areSmall &= isDigit;
    largest = std::max(largest, isDigit ? text[0] - '0' : 0);
    const bool isNew = std::count(texts.begin(), texts.end(), text) == 0;
    if (isNew)
      texts.push_back(text);
  }
  const std::string start = "equal points give equal results: ";
  const bool isSeed = areSmall && axis.path.ends_with("seed");
  while (isSeed && texts.size() < axis.values.size())
    texts.push_back(std::to_string(++largest));
  std::string list;
  for (const std::string& text : texts)
    list += (list.empty() ? "" : ", ") + text;
  if (isSeed)
    return start + "write different values, such as `[" + list + "]`";
  return start +
         (texts.size() == 1 ? "write different values, or `[" : "write `[") +
         list + "]`";
}

} // namespace recipec::sema
