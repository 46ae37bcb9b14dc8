// Messages about values that do not have the expected type.
//
// A message names both types. The wrong element of a list is reported, not the
// list. A missing or different unit has its own message. For a union of
// literals, the help lists the alternatives.

#include "compiler/sema/types/Mismatch.h"

#include "compiler/recipe/Format.h"
#include "compiler/recipe/Units.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/modules/DataText.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Counts.h"
#include "compiler/sema/types/ElasticInt.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Intent.h"
#include "compiler/sema/types/Namesakes.h"
#include "compiler/sema/types/Quotation.h"
#include "compiler/sema/types/Sources.h"
#include "compiler/sema/types/TriedValues.h"
#include "compiler/sema/types/TypeHelp.h"
#include "compiler/sema/values/BuiltinFunction.h"
#include "compiler/sema/values/Comments.h"
#include "compiler/sema/values/Lower.h"

#include <algorithm>
#include <cmath>

namespace recipec::sema {
namespace {

bool isLiteral(const Type& type) {
  return type.kind == Type::Kind::literal ||
         type.kind == Type::Kind::integerLiteral;
}

void offer(diag::Builder& builder, const Suggestion& suggestion,
           SourceRange range) {
  const auto applicability = suggestion.isSure ? diag::Applicability::safe
                                               : diag::Applicability::maybe;
  builder.help(suggestion.help);
  if (!suggestion.replacement.empty())
    builder.fixIt(range, suggestion.replacement, applicability);
  if (suggestion.also)
    builder.fixIt(suggestion.also->range, suggestion.also->replacement,
                  applicability);
}

bool isInside(SourceRange inner, SourceRange outer) {
  return inner.source == outer.source && inner.begin >= outer.begin &&
         inner.end <= outer.end;
}

/// `1_000`, `100,000`, `64Ki` or `10k` in a data file, where a number has
/// digits alone.
bool helpWithDigits(const Evaluator& evaluator, diag::Builder& builder,
                    const Value& value) {
  const auto number = numberIn(*value.get<std::string>());
  if (!number)
    return false;
  const std::string_view file =
      evaluator.sources.name(value.origin.range.source);
  builder.help(std::string(file.ends_with(".json") ? "JSON" : "YAML") +
               " has numbers of digits alone: write `" + *number + "`");
  return true;
}

/// One value that does not fit.
class Mismatch {
public:
  Mismatch(Evaluator& evaluator, const Value& value, const Type& type,
           SourceRange range, const std::string& what)
      : evaluator(evaluator), value(value), type(type), range(range),
        what(what) {}

  void report();

private:
  // Each function reports one kind of mistake; false when it is another kind.
  bool reportElement();
  bool reportUnit();
  bool reportLiteral();
  bool reportNumber();
  bool reportText();

  bool helpWithSibling(diag::Builder& builder);
  bool helpWithSteps(diag::Builder& builder, const recipe::Quantity& given);

  Evaluator& evaluator;
  const Value& value;
  const Type& type;
  SourceRange range;
  const std::string& what;
};

bool Mismatch::reportElement() {
  const ListValue* const* list = value.get<const ListValue*>();
  const Type* lists = findAlternative(type, [](const Type& candidate) {
    return candidate.kind == Type::Kind::list;
  });
  for (size_t i = 0; list && lists && i < (*list)->elements.size(); ++i) {
    const Value& element = (*list)->elements[i];
    if (convert(evaluator, element, *lists->element))
      continue;
    SourceRange place = element.origin.range;
    if (element.isNumber() && lists->element->kind != Type::Kind::quantity) {
      // Weights among sources are a matter of the whole list.
      diag::Diagnostic whole{};
      diag::Builder trial(whole);
      if (helpWithBlend(evaluator, trial, value)) {
        evaluator.messages
            .report(diag::Kind::WrongType, range,
                    what + " is of type `" + nameOf(*lists) +
                        "`, and element " + std::to_string(i) +
                        " is of type `" + typeNameOf(element) + "`")
            .help(whole.helps.front());
        return true;
      }
    }
    reportMismatch(evaluator, element, *lists->element,
                   isInside(place, range) ? place : range,
                   "element " + std::to_string(i) + " of " + what);
    return true;
  }
  return false;
}

bool Mismatch::reportUnit() {
  const Type* quantity = findAlternative(type, [](const Type& candidate) {
    return candidate.kind == Type::Kind::quantity;
  });
  const Type* number = findAlternative(type, [](const Type& candidate) {
    return candidate.kind == Type::Kind::integer ||
           candidate.kind == Type::Kind::real ||
           candidate.kind == Type::Kind::dim;
  });
  std::string start = what + " is of type `" + nameOf(type) + "`, and `" +
                      describe(evaluator, value) + "` ";
  if (auto* given = value.get<recipe::Quantity>()) {
    if (!quantity && !number)
      return false;
    auto builder = evaluator.messages.report(
        diag::Kind::WrongUnit, range,
        start + "is of type `" +
            std::string(recipe::unitTypeName(given->unit)) + "`");
    builder.otherwise("write a value of type `" + nameOf(type) + "`");
    bool isCount = given->unit != recipe::Unit::bytes &&
                   given->unit != recipe::Unit::seconds;
    if (!quantity && isCount) {
      std::string plain = describe(evaluator, value);
      plain.resize(plain.find(' '));
      if (!helpWithSibling(builder) &&
          !helpWithSequences(evaluator, builder, *given))
        builder.help("write `" + plain + "`, without a unit")
            .fixIt(range, plain, diag::Applicability::safe);
    } else if (!quantity) {
      bool isBytes = given->unit == recipe::Unit::bytes;
      std::string plain = recipe::formatReal(given->amount);
      builder
          .help("write the number of " +
                std::string(isBytes ? "bytes" : "seconds") + ", `" + plain +
                "`")
          .fixIt(range, plain);
    } else if (!helpWithSibling(builder) &&
               !helpWithCount(evaluator, builder, *given, type, range) &&
               !helpWithSteps(builder, *given)) {
      helpWithType(evaluator, builder, value, type, range);
    }
    return true;
  }
  if (!quantity || !value.isNumber())
    return false;
  const auto own = evaluator.isData(range.source) || !range.isValid()
                       ? std::nullopt
                       : valueOfOtherTools(evaluator, value, range);
  auto builder = evaluator.messages.report(diag::Kind::WrongUnit, range,
                                           start + "has no unit");
  bool isCount = quantity->unit != recipe::Unit::bytes &&
                 quantity->unit != recipe::Unit::seconds;
  const double* real = value.get<double>();
  if (own) {
    offer(builder, *own, range);
  } else if (isCount && real && *real != std::floor(*real) &&
             recipe::isWhole(quantity->unit)) {
    builder.help("write a whole number of " + nameOf(*quantity) + ", as in `" +
                 exampleOf(evaluator, *quantity) + "`");
  } else if (isCount) {
    std::string number(evaluator.sources.text(range));
    const bool isPlain =
        !number.empty() &&
        number.find_first_not_of("0123456789.eE_+-") == number.npos;
    std::string text = (isPlain ? number : describe(evaluator, value)) + " " +
                       nameOf(*quantity);
    auto units = std::count_if(type.members.begin(), type.members.end(),
                               [](const Type* member) {
                                 return member->kind == Type::Kind::quantity;
                               });
    units = type.kind == Type::Kind::quantity ? 1 : units;
    builder.help("write `" + text + "`")
        .fixIt(range, text,
               units == 1 ? diag::Applicability::safe
                          : diag::Applicability::maybe);
  } else if (!helpWithShare(evaluator, builder, value, range)) {
    helpWithUnit(evaluator, builder, *quantity, range);
  }
  return true;
}

bool Mismatch::reportLiteral() {
  auto* text = value.get<std::string>();
  auto* number = value.get<int64_t>();
  bool isWord = value.is<bool>() || value.is<recipe::None>() ||
                value.is<recipe::Auto>() || value.is<double>();
  std::vector<std::string> names;
  for (const Type* member : alternativesOf(type))
    if (isLiteral(*member))
      names.push_back(nameOf(*member));
  if ((!text && !number && !isWord) || names.empty())
    return false;
  std::string given = text ? "\"" + *text + "\"" : describe(evaluator, value);
  const std::string whyNone = whyNoValue(evaluator, given);
  auto correction = correctionOf(evaluator, value, type, range, what);
  auto builder =
      evaluator.messages.report(diag::Kind::WrongType, range,
                                what + " is of type `" + nameOf(type) +
                                    "`; it cannot be `" + given + "`");
  if (!whyNone.empty()) {
    builder.help(whyNone);
    return true;
  }
  if (correction) {
    offer(builder, *correction, range);
    return true;
  }
  std::vector<std::string> texts;
  for (const Type* member : alternativesOf(type))
    if (member->kind == Type::Kind::literal)
      texts.push_back(member->literal);
  // A choice or a text: `resume = 100`.
  const bool takesText = findAlternative(
      type, [](const Type& each) { return each.kind == Type::Kind::string; });
  const auto [object, slot] = evaluator.typing;
  if (takesText && object && slot)
    if (const std::string example = exampleFor(*object, *slot);
        !example.empty())
      names.push_back(example);
  if (!takesText && helpWithNamesake(evaluator, builder, value, type, range))
    return true;
  bool isSuggested = text && builder.suggest(range, *text, texts, "\"");
  const std::string otherwise = "write " + joinAlternatives(names);
  if (names.size() > listedAlternatives)
    builder.otherwise("write one of " +
                      diag::quotedList(names, listedAlternatives));
  if (!isSuggested && names.size() <= listedAlternatives &&
      !proposeChoices(evaluator, builder, names, type, otherwise))
    builder.help(otherwise);
  return true;
}

bool Mismatch::reportNumber() {
  const int64_t* whole = value.get<int64_t>();
  if (type.kind == Type::Kind::dim && whole) {
    evaluator.messages
        .report(diag::Kind::InvalidValue, range,
                what + " is " + std::to_string(*whole) +
                    "; a dimension is at least 1")
        .help("write 1 or more");
    return true;
  }
  // The unit is right, so the value must have a fraction.
  auto* quantity = value.get<recipe::Quantity>();
  const Type* counts = findAlternative(type, [&](const Type& candidate) {
    return quantity && candidate.kind == Type::Kind::quantity &&
           candidate.unit == quantity->unit;
  });
  if (counts) {
    std::string name = nameOf(*counts);
    std::string number = recipe::formatReal(quantity->amount);
    auto builder = evaluator.messages.report(
        diag::Kind::InvalidValue, range,
        what + " is a whole number of " + name + ", and this is " + number);
    if (!helpWithWhole(evaluator, builder, *quantity, type, range))
      builder.help("round it with `floor`, `round` or `ceil`");
    return true;
  }
  const double* real = value.get<double>();
  bool isWhole = findAlternative(type, [](const Type& candidate) {
    return candidate.kind == Type::Kind::integer ||
           candidate.kind == Type::Kind::dim;
  });
  if (!real || !isWhole)
    return false;
  auto builder = evaluator.messages.report(
      diag::Kind::WrongType, range,
      what + " is of type `" + nameOf(type) + "`, and " +
          recipe::formatReal(*real) + " is a `float`");
  bool isSmall = std::floor(*real) == *real && std::abs(*real) < 0x1p53;
  std::string_view written = evaluator.sources.text(range);
  bool isNumber =
      written.find_first_not_of("0123456789_.eE+-") == std::string_view::npos;
  if (isSmall && isNumber) {
    std::string whole = std::to_string(int64_t(*real));
    builder.help("write `" + whole + "`, which is an `int`")
        .fixIt(range, whole, diag::Applicability::safe);
  } else if (evaluator.isLibrary(range) || written.find('/') != written.npos) {
    helpWithFraction(evaluator, builder, *real, type, range);
  } else if (isNumber && std::abs(*real) < 0x1p53) {
    const auto below = int64_t(std::floor(*real));
    builder.help("write " +
                 (below > 0 ? "`" + std::to_string(below) + "` or " : "") +
                 "`" + std::to_string(below + 1) + "`");
  } else {
    builder.help("`floor`, `round` and `ceil` make an `int` of a `float`");
  }
  return true;
}

bool Mismatch::reportText() {
  const Type* quantity = findAlternative(type, [](const Type& candidate) {
    return candidate.kind == Type::Kind::quantity;
  });
  if (!quantity || !isDataText(evaluator, value))
    return false;
  if (auto other = quantityOf(*value.get<std::string>()))
    return Mismatch(evaluator, {*other, value.origin}, type, range, what)
        .reportUnit();
  auto builder = evaluator.messages.report(
      diag::Kind::WrongUnit, range,
      what + " is of type `" + nameOf(type) + "`, and `" +
          describe(evaluator, value) + "` is no number with a unit of it");
  if (!helpWithDigits(evaluator, builder, value))
    builder.help("write it as in a recipe, `" +
                 exampleOf(evaluator, *quantity) + "`");
  return true;
}

/// Suggests another field of the same record that takes a value of this unit,
/// when this field is named after its own unit: `epochs` for
/// `steps = 4 epochs`, but not for `validate_every = 4 epochs`.
bool Mismatch::helpWithSibling(diag::Builder& builder) {
  const Object* const object = evaluator.typing.first;
  const Slot* const slot = evaluator.typing.second;
  if (!object || !object->schema || !value.is<recipe::Quantity>())
    return false;
  const bool isNamedAfterUnit = findAlternative(
      *evaluator.objects.typeOf(*object, *slot), [&](const Type& candidate) {
        return candidate.kind == Type::Kind::quantity &&
               nameOf(candidate) == slot->name;
      });
  if (!isNamedAfterUnit)
    return false;
  for (const Field& field : object->schema->fields) {
    if (field.declaration->name.text == slot->name ||
        field.declaration->isFixed ||
        !convert(evaluator, value,
                 *evaluator.types.resolve(*object->schema->layer.env,
                                          field.declaration->type)))
      continue;
    const std::string& name = field.declaration->name.text;
    std::string text =
        name + " = " + std::string(evaluator.sources.text(range));
    builder.help("`" + name + "` takes them: write `" + text + "`");
    const Member* member =
        slot->chain.empty() ? nullptr : slot->chain.front().member;
    if (member && member->path.size() == 1 && member->path[0].range.isValid())
      builder.fixIt(member->path[0].range, name);
    return true;
  }
  return false;
}

/// Explains how to convert epochs, tokens or time to steps.
bool Mismatch::helpWithSteps(diag::Builder& builder,
                             const recipe::Quantity& given) {
  const Type* steps = findAlternative(type, [](const Type& candidate) {
    return candidate.kind == Type::Kind::quantity &&
           candidate.unit == recipe::Unit::steps;
  });
  auto [object, slot] = evaluator.typing;
  if (!steps || !slot)
    return false;
  std::string conversion;
  if (given.unit == recipe::Unit::epochs)
    conversion = "an epoch has as many as the data have sequences, divided by "
                 "the global batch, and a run prints their number at its start";
  else if (given.unit == recipe::Unit::tokens)
    conversion = "a step takes the tokens of a sequence times the global batch";
  else if (given.unit == recipe::Unit::seconds)
    conversion = "`recipec estimate` predicts the time of one";
  else
    return false;
  std::vector<std::string> examples;
  for (const Type* member : alternativesOf(type))
    if (member->kind == Type::Kind::quantity ||
        member->kind == Type::Kind::real)
      examples.push_back(exampleOf(evaluator, *member));
  builder.help("`" + std::string(slot->name) +
               "` is counted in steps: " + conversion +
               "; write, for example, " + joinAlternatives(examples));
  return true;
}

void Mismatch::report() {
  if (reportText() || reportElement() || reportNumber() || reportUnit() ||
      reportLiteral())
    return;
  auto correction = correctionOf(evaluator, value, type, range, what);
  std::string name = nameOf(type);
  std::string due =
      type.kind == Type::Kind::schema && what.ends_with(name + "`")
          ? " is a record of the schema `"
          : " is of type `";
  auto builder = evaluator.messages.report(
      diag::Kind::WrongType, range,
      what + due + name + "`, and this is of type `" +
          fullTypeNameOf(evaluator.sources, value) + "`");
  builder.otherwise("write a value of type `" + name + "`");
  // `validate_every = "epoch"`: the length is counted in steps.
  const std::string* text = value.get<std::string>();
  if (correction)
    offer(builder, *correction, range);
  else if (isDataText(evaluator, value) &&
           helpWithDigits(evaluator, builder, value))
    return;
  else if (text && text->starts_with("epoch") &&
           helpWithSteps(builder, {1, recipe::Unit::epochs}))
    return;
  else if (helpWithNamesake(evaluator, builder, value, type, range))
    return;
  else if (!value.is<Module*>() &&
           !helpWithSources(evaluator, builder, value, type, range))
    helpWithType(evaluator, builder, value, type, range);
  if (type.kind == Type::Kind::model)
    helpWithImport(evaluator, builder, value, range);
}

} // namespace

void reportMismatch(Evaluator& evaluator, const Value& value, const Type& type,
                    SourceRange range, const std::string& what) {
  // An error in a data file is reported there, not where the file is read.
  SourceRange origin = value.origin.range;
  if (origin.isValid() && evaluator.isData(origin.source) &&
      !isInside(origin, range)) {
    reportMismatch(evaluator, value, type, origin, what);
    return;
  }
  const ListValue* const* list = value.get<const ListValue*>();
  if (type.isElastic && list)
    reportCounts(evaluator, **list, range, what);
  else
    Mismatch(evaluator, value, type, range, what).report();
}

Value expect(Evaluator& evaluator, const Value& value, const Type& type,
             SourceRange range, const std::string& what) {
  if (std::optional<Value> converted = convert(evaluator, value, type))
    return *converted;
  reportMismatch(evaluator, value, type, range, what);
  return poison();
}

std::string describe(Evaluator& evaluator, const Value& value) {
  if (value.is<std::string>() || value.is<recipe::None>() ||
      value.is<recipe::Auto>() || value.is<bool>() || value.is<int64_t>() ||
      value.is<double>() || value.is<recipe::Quantity>() || value.is<DimRef>())
    return recipe::formatValue(lower(evaluator, value), {});
  if (const Range* range = value.get<Range>())
    return std::to_string(range->begin) + ".." + std::to_string(range->end);
  if (const Function* const* function = value.get<const Function*>())
    return (*function)->declaration->name.text;
  if (const Builtin* builtin = value.get<Builtin>())
    return std::string(builtin->function->name);
  if (const ListValue* const* list = value.get<const ListValue*>();
      list && (*list)->elements.size() <= 8) {
    std::string text = "[";
    for (const Value& element : (*list)->elements)
      text += (text.size() > 1 ? ", " : "") +
              (element.is<const ListValue*>() ? "a list"
                                              : describe(evaluator, element));
    return text + "]";
  }
  return "a " + typeNameOf(value);
}

} // namespace recipec::sema
