// Helps with wrong or missing quotation marks, braces or brackets: `"h100"` for
// `h100`, `bf16` for `"bf16"`, a string in place of a list of strings, or a
// field's value in place of the record that has the field.
//
// Each suggestion has been tried: its value has the expected type.

#include "compiler/sema/types/Quotation.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/modules/DataText.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Intent.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/types/SectionValues.h"
#include "compiler/sema/types/Types.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace recipec::sema {
namespace {

template <class T> std::optional<T> numberIn(std::string_view text) {
  T number{};
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  bool isAll = error == std::errc() && stop == end;
  return isAll ? std::optional<T>(number) : std::nullopt;
}

/// Parses the text of a string as another literal of the language; nullopt when
/// it is not one.
std::optional<Value> literalIn(const std::string& text) {
  if (text == "none")
    return Value{recipe::None{}, {}};
  if (text == "auto")
    return Value{recipe::Auto{}, {}};
  if (text == "true" || text == "false")
    return Value{text == "true", {}};
  if (text.empty() || !(text.front() >= '0' && text.front() <= '9'))
    return std::nullopt;
  if (auto whole = numberIn<int64_t>(text))
    return Value{*whole, {}};
  if (auto real = numberIn<double>(text))
    return Value{*real, {}};
  if (auto quantity = quantityOf(text))
    return Value{*quantity, {}};
  return std::nullopt;
}

/// The field that `what` names: `precision` for `` `base.precision` ``.
std::string fieldNamed(const std::string& what) {
  size_t last = what.find_last_of(".`", what.size() - 2);
  bool isPath = what.size() > 2 && what.front() == '`' && what.back() == '`' &&
                !what.ends_with("]`");
  return isPath ? what.substr(last + 1, what.size() - last - 2) : "";
}

std::optional<Value> namedIn(Evaluator& evaluator, std::string_view path,
                             SourceId source) {
  const std::initializer_list<Module*> places = {evaluator.modules.find(source),
                                                 evaluator.modules.prelude()};
  size_t dot = path.find('.');
  for (Module* module : places) {
    ModuleEntry* entry = module ? module->find(path.substr(0, dot)) : nullptr;
    for (size_t at = dot; entry && at != std::string_view::npos;) {
      bool isDone = entry->state == ModuleEntry::State::done;
      Module* const* inner = isDone ? entry->value.get<Module*>() : nullptr;
      size_t next = path.find('.', at + 1);
      module = inner ? *inner : module;
      entry =
          inner ? module->find(path.substr(at + 1, next - at - 1)) : nullptr;
      at = next;
    }
    // Do not start an evaluation while another name is being evaluated.
    bool isSafe = entry && (entry->state == ModuleEntry::State::done ||
                            !evaluator.modules.isEvaluating());
    if (isSafe)
      return evaluator.modules.entryValue(*module, *entry);
  }
  return std::nullopt;
}

/// The words of letters and digits in a text.
std::vector<std::string> wordsOf(const std::string& text) {
  std::vector<std::string> words(1);
  for (unsigned char c : text)
    if (std::isalnum(c))
      words.back() += char(c);
    else if (!words.back().empty())
      words.emplace_back();
  if (words.back().empty())
    words.pop_back();
  return words;
}

/// `[0.9, 0.98]` for the text `0.9,0.98`, where the type takes such a list.
std::string listIn(Evaluator& evaluator, std::string_view text,
                   const Type& type) {
  const Type* list = type.kind == Type::Kind::list ? &type : nullptr;
  for (const Type* member : type.members)
    if (type.kind == Type::Kind::unionOf && member->kind == Type::Kind::list)
      list = member;
  if (!list || text.find_first_of(", ") == text.npos)
    return {};
  std::string elements, part;
  auto add = [&] {
    if (part.empty())
      return true;
    const auto value = literalIn(part);
    const bool isFit = value && convert(evaluator, *value, *list->element);
    elements += (elements.empty() ? "" : ", ") + std::exchange(part, {});
    return isFit;
  };
  for (char c : text)
    if (std::string_view(", ()[]").find(c) == std::string_view::npos)
      part += c;
    else if (!add())
      return {};
  return add() && !elements.empty() ? "[" + elements + "]" : std::string();
}

std::optional<Suggestion> withoutQuotes(Evaluator& evaluator,
                                        const Value& value, const Type& type,
                                        SourceRange range) {
  const std::string* text = value.get<std::string>();
  bool isWritten = text && evaluator.sources.text(range) == "\"" + *text + "\"";
  if (!isWritten)
    return std::nullopt;
  if (std::string list = listIn(evaluator, *text, type); !list.empty())
    return Suggestion{"write `" + list + "`, without the quotation marks",
                      list};
  std::string name = *text;
  std::optional<Value> meant = literalIn(name);
  // `bias = "none"`, `pack = "yes"`, where a `bool` is due
  static constexpr std::pair<std::string_view, bool> switches[] = {
      {"none", false}, {"no", false}, {"off", false},   {"disabled", false},
      {"yes", true},   {"on", true},  {"enabled", true}};
  if (type.kind == Type::Kind::boolean)
    for (const auto& [word, isOn] : switches)
      if (*text == word) {
        name = isOn ? "true" : "false";
        return Suggestion{"write `" + name + "`", name};
      }
  if (!meant)
    meant = namedIn(evaluator, name, range.source);
  if (!meant) { // `"H100"`
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    meant = namedIn(evaluator, name, range.source);
  }
  // `"50"` where steps are due.
  const Type* count =
      meant && meant->is<int64_t>() ? onlyCountOf(type) : nullptr;
  if (count && !convert(evaluator, *meant, type)) {
    name += " " + nameOf(*count);
    return Suggestion{"write `" + name + "`, without the quotation marks",
                      name};
  }
  if (!meant && type.kind == Type::Kind::schema) // `"NVIDIA H100:8"`
    for (const std::string& word : wordsOf(name)) {
      std::optional<Value> named = namedIn(evaluator, word, range.source);
      if (!named || !named->is<Object*>() || !convert(evaluator, *named, type))
        continue;
      meant = named;
      name = word;
      break;
    }
  if (!meant || meant->isPoison() || !convert(evaluator, *meant, type))
    return std::nullopt;
  if (const Schema* const* schema = meant->get<const Schema*>()) {
    const std::string example = exampleOf(evaluator, **schema, name);
    return Suggestion{"write `" + example + "`", example};
  }
  return Suggestion{"write `" + name + "`, without the quotation marks", name};
}

/// Suggests a number or `bool` for a quoted one in a data file.
std::optional<Suggestion>
withoutDataQuotes(Evaluator& evaluator, const Value& value, const Type& type) {
  const std::string* text = value.get<std::string>();
  const auto meant = text ? literalIn(*text) : std::nullopt;
  const bool isPlain = meant && (meant->isNumber() || meant->is<bool>());
  if (!isPlain || !convert(evaluator, *meant, type))
    return std::nullopt;
  return Suggestion{"write `" + *text + "`, without the quotation marks", ""};
}

/// Suggests quotation marks: `"none"` for `none`, `"4"` for `4`.
std::optional<Suggestion> inQuotes(Evaluator& evaluator, const Value& value,
                                   const Type& type, SourceRange range) {
  std::string text(evaluator.sources.text(range));
  bool isPlain = (value.isScalar() || value.isNumber()) &&
                 !value.is<std::string>() && !text.empty() &&
                 text.find_first_of("\"\\{}\n (") == std::string::npos;
  if (!isPlain || !convert(evaluator, {text, {}}, type))
    return std::nullopt;
  // Quote a word only if it is a literal of the type: `true` is not meant as a
  // path.
  auto isLiteral = [&](const Type* member) {
    return member->kind == Type::Kind::literal && member->literal == text;
  };
  // Do not quote a number for a field with fixed choices: `resume = 100` does
  // not mean the path `"100"`.
  const bool isChoice = std::any_of(
      type.members.begin(), type.members.end(),
      [](const Type* member) { return member->kind == Type::Kind::literal; });
  if (value.isNumber() && isChoice)
    return std::nullopt;
  if (!value.isNumber() && !isLiteral(&type) &&
      std::none_of(type.members.begin(), type.members.end(), isLiteral))
    return std::nullopt;
  std::string quoted = "\"" + text + "\"";
  return Suggestion{"write `" + quoted + "`, in quotation marks", quoted};
}

/// Splits a string into the list elements that it was meant to be: at its
/// commas, or a pattern such as `M-M*` at each character. Otherwise the whole
/// string is one element.
std::string elementsIn(std::string_view text) {
  std::vector<std::string> parts(1);
  const bool hasCommas = text.find(',') != text.npos;
  bool hasWords = false;
  for (size_t i = 1; i < text.size(); ++i)
    hasWords |= std::isalnum(static_cast<unsigned char>(text[i - 1])) &&
                std::isalnum(static_cast<unsigned char>(text[i]));
  const bool isPattern = !hasCommas && !hasWords && text.size() > 2;
  for (char c : text) {
    if (hasCommas && c == ',')
      parts.emplace_back();
    else if (c != ' ' || !hasCommas || !parts.back().empty())
      parts.back() += c;
    if (isPattern)
      parts.emplace_back();
  }
  if (parts.size() > 1 && parts.back().empty())
    parts.pop_back();
  std::string list;
  for (const std::string& part : parts)
    list += (list.empty() ? "\"" : ", \"") + part + "\"";
  return list;
}

/// The text `, b, c` of the call `blend(a, b, c)` whose first argument is
/// wrong: the following arguments that could be further elements of the list.
std::string argumentsBehind(Evaluator& evaluator, const Type& element) {
  auto [object, slot] = evaluator.typing;
  std::string text;
  if (!object || !slot)
    return text;
  bool isBehind = false;
  for (const Slot& next : object->slots) {
    if (isBehind) {
      const Definition* given =
          next.chain.empty() ? nullptr : &next.chain.front();
      if (!given || !given->layer->isArguments || !given->isValue() ||
          given->member->given)
        break;
      const Env& env = *given->layer->env;
      if (!convert(evaluator, evaluator.evaluate(given->member->value, env),
                   element))
        break;
      text += ", ";
      text += evaluator.sources.text((*env.file)[given->member->value].range);
    }
    isBehind |= &next == slot;
  }
  return text;
}

/// A list with `written` as the first element, and the further elements of the
/// field's default. Empty if the default is not a constant list of several
/// elements, or begins with a string.
std::string asFirstElement(Evaluator& evaluator, const std::string& written) {
  auto [object, slot] = evaluator.typing;
  if (!object || !object->schema || !slot || !slot->field)
    return {};
  const ast::ExprId id = slot->field->declaration->defaultValue;
  const ast::File& file = *object->schema->layer.env->file;
  const auto* list = id == ast::ExprId::none
                         ? nullptr
                         : std::get_if<ast::ListExpr>(&file[id].node);
  if (!list || list->elements.size() < 2 || !Objects::isConstant(file, id) ||
      std::holds_alternative<ast::StringLiteral>(
          file[list->elements.front()].node))
    return {};
  std::string text = "[" + written;
  for (size_t i = 1; i < list->elements.size(); ++i) {
    text += ", ";
    text += evaluator.sources.text(file[list->elements[i]].range);
  }
  return text + "]";
}

/// A string that names a record: `"adamw_torch"`, `"lion"`, `"Cosine"`.
std::optional<Suggestion> recordNamed(Evaluator& evaluator, const Value& value,
                                      const Type& type) {
  const std::string* text = value.get<std::string>();
  if (!text)
    return std::nullopt;
  const auto known = evaluator.library.knownAs(*text);
  std::vector<const Type*> members{&type};
  if (type.kind == Type::Kind::unionOf)
    members = type.members;
  for (const Type* member : members) {
    if (member->kind != Type::Kind::schema)
      continue;
    const std::string name(member->schema->name);
    const bool isKnown = known && known->name == name;
    if (!isKnown && !isSameName(name, *text))
      continue;
    const std::string example = exampleOf(evaluator, *member->schema, name);
    return Suggestion{(isKnown && !known->values.empty()
                           ? known->values + ": write `"
                           : "write `") +
                          example + "`",
                      isKnown && !known->values.empty() ? "" : example};
  }
  return std::nullopt;
}

std::optional<Suggestion> inBrackets(Evaluator& evaluator, const Value& value,
                                     const Type& type, SourceRange range,
                                     const std::string& what) {
  std::string written(evaluator.sources.text(range));
  if (written.empty() || written.find('\n') != std::string::npos)
    return std::nullopt;
  if (const std::string* word = value.get<std::string>();
      word && written == *word) // written without quotation marks
    written = "\"" + written + "\"";
  std::vector<const Type*> members{&type};
  if (type.kind == Type::Kind::unionOf)
    members = type.members;
  for (const Type* member : members) {
    if (member->kind == Type::Kind::list &&
        convert(evaluator, value, *member->element)) {
      const std::string* text = value.get<std::string>();
      const std::string more = argumentsBehind(evaluator, *member->element);
      // `betas = 0.9`: take the further elements from the default.
      if (std::string whole = asFirstElement(evaluator, written);
          !text && more.empty() && !whole.empty())
        return Suggestion{"write `" + whole + "`", whole};
      const std::string list =
          "[" + (text && more.empty() ? elementsIn(*text) : written + more) +
          "]";
      return Suggestion{"write `" + list + "`", more.empty() ? list : ""};
    }
  }
  const Schema* const only = onlySchemaOf(type);
  std::string name = fieldNamed(what);
  // A type with named records in the library, such as a device, is not a
  // section.
  Object* const* record = value.get<Object*>();
  const bool isRecord = record && (*record)->schema;
  if (!only || name.empty() || !(value.isScalar() || isRecord) ||
      !evaluator.library.recordsOf(*only).empty())
    return std::nullopt;
  const Field* taking = nullptr;
  for (const Field& field : only->fields) {
    const Type* due =
        evaluator.types.resolve(*only->layer.env, field.declaration->type);
    // `true` does not say which boolean field is meant; assume the first.
    const bool isMeant = !value.is<bool>() || &field == &only->fields.front();
    if (field.declaration->isFixed || !isMeant ||
        !convert(evaluator, value, *due))
      continue;
    // The first field is the main one of its section, as in
    // `precision.compute`, if it takes only certain strings.
    bool isFirst =
        &field == &only->fields.front() && due->kind != Type::Kind::string;
    // A field of choices that also takes any string (`resume`) is skipped if an
    // earlier field takes the value.
    const bool isChoice = std::any_of(
        due->members.begin(), due->members.end(),
        [](const Type* member) { return member->kind == Type::Kind::literal; });
    if (taking && isChoice)
      continue;
    if (taking)
      return std::nullopt;
    taking = &field;
    if (isFirst)
      break;
  }
  if (!taking)
    if (auto other =
            sectionOfOtherTools(evaluator, value, *only, name, written))
      return other;
  if (!taking) {
    // Another program's spelling contains the choice: `"bf16-mixed"`.
    const std::string* text = value.get<std::string>();
    const Field& first = only->fields.front();
    const Type* due =
        evaluator.types.resolve(*only->layer.env, first.declaration->type);
    for (const Type* member : due->members)
      if (text && member->kind == Type::Kind::literal &&
          text->find(member->literal) != std::string::npos)
        return Suggestion{"write `" + name + " { " +
                              first.declaration->name.text + " = \"" +
                              member->literal + "\" }`",
                          ""};
    return std::nullopt;
  }
  return Suggestion{"write `" + name + " { " + taking->declaration->name.text +
                        " = " + written + othersAskedFor(*only, *taking) +
                        " }`",
                    ""};
}

} // namespace

std::optional<Suggestion> withoutNames(Evaluator& evaluator, const Value& value,
                                       const Type& type, SourceRange range) {
  Object* const* record = value.get<Object*>();
  if (!record || (*record)->schema || (*record)->slots.empty())
    return std::nullopt;
  const Type* list = type.kind == Type::Kind::list ? &type : nullptr;
  for (const Type* member : type.members)
    if (type.kind == Type::Kind::unionOf && member->kind == Type::Kind::list)
      list = member;
  if (!list)
    return std::nullopt;
  std::string elements;
  bool isOrdered = true; // whether the names are in alphabetical order
  std::string_view last;
  for (Slot& slot : (*record)->slots) {
    const Value element = evaluator.objects.force(**record, slot);
    if (element.isPoison() || !convert(evaluator, element, *list->element))
      return std::nullopt;
    isOrdered &= last < std::string_view(slot.name);
    last = slot.name;
    std::string text = describe(evaluator, element);
    if (element.is<Object*>()) {
      const Definition* given =
          slot.chain.empty() || !slot.chain.front().isValue()
              ? nullptr
              : &slot.chain.front();
      if (!given || given->member->given)
        return std::nullopt;
      text = evaluator.sources.text(
          (*given->layer->env->file)[given->member->value].range);
      if (text.find('\n') != text.npos)
        return std::nullopt;
    }
    elements += (elements.empty() ? "" : ", ") + text;
  }
  elements = "[" + elements + "]";
  // A section's braces have no `=` before them.
  const std::string_view before =
      evaluator.sources.text(range.source).substr(0, range.begin);
  const size_t sign = before.find_last_not_of(" \t\n");
  const bool isValue = sign != before.npos && before[sign] == '=';
  return Suggestion{"a list has no names: write `" + elements + "`",
                    isValue && isOrdered ? elements : std::string()};
}

/// The only element of a list, where the field takes no list.
static std::optional<Suggestion>
outOfList(Evaluator& evaluator, const Value& value, const Type& type) {
  const ListValue* const* list = value.get<const ListValue*>();
  if (!list || (*list)->elements.empty() ||
      std::any_of((*list)->elements.begin(), (*list)->elements.end(),
                  [&](const Value& element) {
                    return !convert(evaluator, element, type);
                  }))
    return std::nullopt;
  const Value& first = (*list)->elements.front();
  if ((*list)->elements.size() == 1 && first.isScalar()) {
    const std::string text = describe(evaluator, first);
    const std::string quoted = first.is<std::string>() && !text.starts_with('"')
                                   ? "\"" + text + "\""
                                   : text;
    return Suggestion{"write `" + quoted + "`, without the brackets", quoted};
  }
  return std::nullopt;
}

std::optional<Suggestion> correctionOf(Evaluator& evaluator, const Value& value,
                                       const Type& type, SourceRange range,
                                       const std::string& what) {
  if (!range.isValid() || evaluator.isLibrary(range))
    return std::nullopt;
  if (evaluator.isData(range.source))
    return withoutDataQuotes(evaluator, value, type);
  if (auto suggestion = valueOfOtherTools(evaluator, value, range))
    return suggestion;
  if (auto suggestion = withoutQuotes(evaluator, value, type, range))
    return suggestion;
  if (auto suggestion = recordNamed(evaluator, value, type))
    return suggestion;
  if (auto suggestion = evaluator.library.modelNamed(value, type, range))
    return suggestion;
  if (auto suggestion = inQuotes(evaluator, value, type, range))
    return suggestion;
  if (auto suggestion = withoutNames(evaluator, value, type, range))
    return suggestion;
  if (auto suggestion = outOfList(evaluator, value, type))
    return suggestion;
  return inBrackets(evaluator, value, type, range, what);
}

std::optional<std::string> bareLiteral(Evaluator& evaluator,
                                       const Object& object, const Slot& slot,
                                       SourceRange* place) {
  bool isWritten = !slot.chain.empty() && slot.chain.front().isValue();
  if (!isWritten || !slot.field)
    return std::nullopt;
  const Definition& definition = slot.chain.front();
  if (definition.member->given)
    return std::nullopt;
  const ast::Expr& expr =
      (*definition.layer->env->file)[definition.member->value];
  if (std::holds_alternative<ast::StringLiteral>(expr.node))
    return std::nullopt;
  std::string text;
  for (char c : evaluator.sources.text(expr.range)) // also `a2a + p2p`
    if (c != ' ')
      text += c;
  const Type* type = evaluator.objects.typeOf(object, slot);
  // A call such as `load("a/b")` is no path.
  const bool isPath =
      text.find('/') != text.npos && text.find('"') == text.npos;
  auto isMeant = [&](const Type* member) {
    return (member->kind == Type::Kind::literal && member->literal == text) ||
           (member->kind == Type::Kind::string && isPath);
  };
  bool isLiteral = isMeant(type) || std::any_of(type->members.begin(),
                                                type->members.end(), isMeant);
  if (!isLiteral)
    return std::nullopt;
  *place = expr.range;
  return text;
}

} // namespace recipec::sema
