// Help for a value of the wrong type that keeps the user's intent: the number
// as written, or the value that another tool uses for the same choice.

#include "compiler/sema/types/Intent.h"

#include "compiler/recipe/Units.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/types/TriedValues.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cmath>

namespace recipec::sema {
namespace {

/// The neighbours of larger numbers are not written out in a help.
constexpr double largestRounded = 1e15;

template <class Test> const Type* findMember(const Type& type, Test test) {
  if (test(type))
    return &type;
  for (const Type* member : type.members)
    if (test(*member))
      return member;
  return nullptr;
}

bool isCount(const Type& type) {
  return type.kind == Type::Kind::quantity &&
         type.unit != recipe::Unit::bytes && type.unit != recipe::Unit::seconds;
}

/// Reads a byte count as the count that was probably meant: `2G` for `2B`,
/// `300M` for `300MB`. Empty for any other text.
std::string countOfBytes(std::string_view written) {
  const size_t end = written.find_first_not_of("0123456789_.");
  if (end == 0 || end == written.npos || !written.ends_with('B'))
    return {};
  const std::string_view prefix = written.substr(end, written.size() - end - 1);
  const std::string number(written.substr(0, end));
  if (prefix.empty())
    return number + "G"; // a billion
  constexpr std::string_view prefixes = "kMGT";
  const bool isPrefix =
      prefix.size() == 1 && prefixes.find(prefix[0]) != prefixes.npos;
  return isPrefix ? number + std::string(prefix) : std::string();
}

/// The comments of the field that is being set; null if there is none.
const ast::Comments* commentsOfField(const Evaluator& evaluator) {
  const auto [object, slot] = evaluator.typing;
  return object && object->schema && slot
             ? commentsOf(*object->schema, slot->name)
             : nullptr;
}

} // namespace

std::string whyNoValue(const Evaluator& evaluator, const std::string& given) {
  const ast::Comments* comments = commentsOfField(evaluator);
  return comments ? whyNoValue(*comments, given) : std::string();
}

std::optional<Suggestion>
valueOfOtherTools(Evaluator& evaluator, const Value& value, SourceRange range) {
  auto [object, slot] = evaluator.typing;
  if (!object || !object->schema || !slot)
    return std::nullopt;
  const ast::Comments* comments = commentsOf(*object->schema, slot->name);
  auto own = comments ? valueListedAs(*comments, evaluator.sources.text(range))
                      : std::nullopt;
  if (!own && comments && value.is<std::string>())
    own = valueListedAs(*comments, "\"" + *value.get<std::string>() + "\"");
  if (!own && comments && value.is<std::string>())
    own = valueListedAs(*comments, *value.get<std::string>());
  if (!own)
    return std::nullopt;
  const bool isSetting = own->find(" = ") != own->npos;
  if (!isSetting)
    return Suggestion{"write `" + *own + "`", *own};
  const std::string name(slot->name);
  const std::string target = own->substr(0, own->find(' '));
  const bool isOwn = target == name; // `shard = "parameters", ...`
  const bool isSet =
      !isOwn && std::any_of(object->slots.begin(), object->slots.end(),
                            [&](const Slot& each) {
                              return each.name == target && !each.chain.empty();
                            });
  if (isSet)
    return Suggestion{"change `" + target + "` to `" +
                          own->substr(own->find("= ") + 2) + "` and leave `" +
                          name + "` out",
                      ""};
  Suggestion suggestion{
      "write `" + *own + "`" + (isOwn ? "" : " instead of `" + name + "`"), ""};
  suggestion.isSure = !isOwn; // the number of replicas is the user's to say
  const Member* member =
      slot->chain.empty() ? nullptr : slot->chain.front().member;
  if (member && !member->given && member->path.size() == 1 &&
      evaluator.sources.kind(range.source) == SourceKind::file)
    suggestion.also = diag::FixIt{.range = member->range, .replacement = *own};
  return suggestion;
}

bool helpWithCount(Evaluator& evaluator, diag::Builder& builder,
                   const recipe::Quantity& given, const Type& type,
                   SourceRange range) {
  const Type* counts = findMember(type, isCount);
  if (!counts || given.unit != recipe::Unit::bytes)
    return false;
  const std::string number = countOfBytes(evaluator.sources.text(range));
  if (number.empty())
    return false;
  const std::string text = number + " " + nameOf(*counts);
  builder.help("`B` is bytes: write `" + text + "`")
      .fixIt(range, text, diag::Applicability::safe);
  return true;
}

bool helpWithWhole(Evaluator& evaluator, diag::Builder& builder,
                   const recipe::Quantity& given, const Type& type,
                   SourceRange range) {
  const std::string_view written = evaluator.sources.text(range);
  const size_t space = written.find(' ');
  const bool isLiteral = space != written.npos &&
                         written.find_first_not_of("0123456789._") == space &&
                         written.find_first_not_of("abcdefghijklmnopqrstuvwxyz",
                                                   space + 1) == written.npos &&
                         given.amount < largestRounded;
  if (!isLiteral)
    return false;
  const Type* real = findMember(
      type, [](const Type& each) { return each.kind == Type::Kind::real; });
  const std::string number(written.substr(0, space));
  const std::string unit(written.substr(space));
  if (real && given.amount > 0 && given.amount < 1) {
    builder.help("write `" + number + "`, without the unit, for that fraction")
        .fixIt(range, number);
    return true;
  }
  const auto below = int64_t(std::floor(given.amount));
  builder.help("write " +
               (below > 0 ? "`" + std::to_string(below) + unit + "` or " : "") +
               "`" + std::to_string(below + 1) + unit + "`");
  return true;
}

bool helpWithSeveral(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value, const Type& type, SourceRange range) {
  const ListValue* const* list = value.get<const ListValue*>();
  const ast::Comments* comments = commentsOfField(evaluator);
  const std::string where = comments ? whereSeveral(*comments) : std::string();
  if (!list || (*list)->elements.empty() || where.empty())
    return false;
  const Value& first = (*list)->elements.front();
  if (!convert(evaluator, first, type))
    return false;
  const std::string one = describe(evaluator, first);
  builder
      .help("`" + std::string(evaluator.typing.second->name) +
            "` is one: write `" + one + "`; several " + where)
      .fixIt(range, one);
  return true;
}

bool helpWithSweep(Evaluator& evaluator, diag::Builder& builder,
                   const Value& value, const Type& type, SourceRange range) {
  const ListValue* const* list = value.get<const ListValue*>();
  const std::string path = pathBeingSet(evaluator);
  const std::string written(evaluator.sources.text(range));
  if (!list || (*list)->elements.size() < 2 || path.empty() ||
      written.find('\n') != written.npos || !written.starts_with('['))
    return false;
  Messages::Muted muted(evaluator.messages);
  auto isChoice = [&](const Value& text) {
    return findMember(type, [&](const Type& each) {
      return each.kind == Type::Kind::literal && convert(evaluator, text, each);
    });
  };
  // A list of names or paths is not meant as a sweep.
  for (const Value& element : (*list)->elements)
    if (!convert(evaluator, element, type) ||
        (element.is<std::string>() && !isChoice(element)))
      return false;
  const bool isArgument =
      evaluator.sources.kind(range.source) == SourceKind::commandLine;
  const std::string sweep =
      isArgument
          ? "`--set 'sweep." + path + "=" + written + "'`"
          : "`sweep { " + path + " = " + written + " }` in the recipe's braces";
  // A list of devices may be meant for the ranks of one run.
  const Value& first = (*list)->elements.front();
  const std::string one(evaluator.sources.text(first.origin.range));
  const bool isRecord = first.is<Object*>() && !isArgument && !one.empty() &&
                        one.find('\n') == one.npos &&
                        one.size() < written.size();
  const std::string name(evaluator.typing.second->name);
  builder.help(isRecord ? "a run has one `" + name + "`: write `" + name +
                              " = " + one +
                              "`; to compare several in runs of their own, "
                              "write " +
                              sweep
                        : "several values are a sweep: write " + sweep);
  return true;
}

bool helpWithoutAuto(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value) {
  const std::string* text = value.get<std::string>();
  auto [object, slot] = evaluator.typing;
  const bool isAuto = value.is<recipe::Auto>() || (text && *text == "auto");
  if (!isAuto || !object || !object->schema || !slot || !slot->field)
    return false;
  const ast::ExprId id = slot->field->declaration->defaultValue;
  const std::string name(slot->name);
  if (id != ast::ExprId::none) {
    const ast::Expr& expr = (*object->schema->layer.env->file)[id];
    builder.help("`" + name +
                 "` is not derived: leave it out for its default, `" +
                 std::string(evaluator.sources.text(expr.range)) +
                 "`, or write a value");
    return true;
  }
  const std::string summary = summaryOf(*object->schema, slot->name);
  const std::string start =
      "`" + name + "` is not derived and has no default: write a value";
  const std::string what = summary.empty() ? "" : " (" + summary + ")";
  if (!proposeNumbers(evaluator, builder, start + what + ", say ",
                      start + what))
    builder.help(start + what);
  return true;
}

bool helpWithoutSign(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value, SourceRange range) {
  Object* const* map = value.get<Object*>();
  const Object* const object = evaluator.typing.first;
  const Slot* const slot = evaluator.typing.second;
  if (!map || (*map)->schema || !object || !slot || slot->chain.empty())
    return false;
  const Definition& definition = slot->chain.front();
  const ast::Name& name = definition.member->path.back();
  const auto setsSlot = [&field = slot->name](const Member& member) {
    return member.path.front().text == field;
  };
  const bool isSetBefore = std::any_of(
      object->layers.begin(), object->layers.end(), [&](const Layer* layer) {
        return layer != definition.layer &&
               std::any_of(layer->members.begin(), layer->members.end(),
                           setsSlot);
      });
  const std::string written(evaluator.sources.text(range));
  if (!isSetBefore || name.range.source != range.source ||
      name.range.end > range.begin)
    return false;
  const bool isLine = written.find('\n') == written.npos;
  builder
      .help("amend the one that is set before, without `=`: write `" +
            name.text + " " + (isLine ? written : std::string("{ ... }")) + "`")
      .fixIt({range.source, name.range.end, range.begin}, " ");
  return true;
}

void helpWithFraction(Evaluator& evaluator, diag::Builder& builder,
                      double value, const Type& type, SourceRange range) {
  const std::string written(evaluator.sources.text(range));
  const auto operands = evaluator.messages.noteComputed(builder, range);
  const bool isOfSizes = type.kind == Type::Kind::dim &&
                         written.find_first_of("0123456789") == written.npos;
  const std::string choice = "choose " + operands.value_or("them") +
                             " so that `" + written + "` is a whole number";
  if (isOfSizes)
    proposeSizes(evaluator, builder, written, choice);
  else if (!operands)
    builder.help(choice);
  else
    proposeWhole(
        evaluator, builder, value, range,
        written.find('\n') == written.npos
            ? choice
            : "`floor`, `round` and `ceil` make an `int` of a `float`");
}

} // namespace recipec::sema
