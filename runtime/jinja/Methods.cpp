// The methods of strings, lists and dictionaries.

#include "runtime/jinja/Arguments.h"
#include "runtime/jinja/Renderer.h"
#include "runtime/jinja/Strings.h"

#include <algorithm>
#include <span>

namespace reciperun::jinja {
namespace {

using Result = Expected<Value>;

struct Method {
  std::string_view name;
  Result (*call)(Renderer& renderer, const Value& base, ArgumentReader& reader);
};

/// A list of parts of a string, whose values are counted already.
Result listOf(const Expected<Parts>& parts, Budget& budget) {
  RECIPERUN_TRY(parts);
  List list;
  for (const std::string_view part : *parts) {
    RECIPERUN_TRY(budget.takeBytes(part.size()));
    list.emplace_back(part);
  }
  return Value(std::move(list));
}

// ---- strings

template <std::string (*function)(std::string_view)>
Result mapText(Renderer& renderer, const Value& base, ArgumentReader&) {
  return made(function(*base.string()), renderer.budget);
}

template <Side side>
Result stripText(Renderer& renderer, const Value& base,
                 ArgumentReader& reader) {
  Expected<std::string> removed =
      reader.stringOr("chars", std::string(whiteSpace));
  RECIPERUN_TRY(removed);
  return made(std::string(strip(*base.string(), *removed, side)),
              renderer.budget);
}

template <bool isFromRight>
Result splitText(Renderer& renderer, const Value& base,
                 ArgumentReader& reader) {
  const Value* given = reader.next("sep");
  Expected<int64_t> count = reader.integerOr("maxsplit", -1);
  RECIPERUN_TRY(count);
  const std::string& text = *base.string();
  Budget& budget = renderer.budget;
  if (!given || given->isNone()) {
    if (isFromRight && *count >= 0)
      return Status::error("`rsplit` with `maxsplit` needs a separator");
    return listOf(splitAtSpaces(text, *count, budget), budget);
  }
  const std::string* separator = given->string();
  if (!separator || separator->empty())
    return Status::error("`split` needs a separator that is not empty");
  return listOf(isFromRight ? splitFromRight(text, *separator, *count, budget)
                            : split(text, *separator, *count, budget),
                budget);
}

template <bool isAtEnd>
Result hasAffix(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> affix = reader.value(isAtEnd ? "suffix" : "prefix");
  RECIPERUN_TRY(affix);
  if (!affix->list())
    affix = Value(List{*affix});
  for (const Value& candidate : *affix->list()) {
    if (!candidate.string())
      return Status::error("the argument of `startswith` and `endswith` is a "
                           "string, and not of type `" +
                           std::string(candidate.typeName()) + "`");
    RECIPERUN_TRY(
        renderer.budget.takeReads(sizeof(Value) + candidate.string()->size()));
    if (isAtEnd ? base.string()->ends_with(*candidate.string())
                : base.string()->starts_with(*candidate.string()))
      return Value(true);
  }
  return Value(false);
}

template <bool isAtEnd>
Result removeAffix(Renderer& renderer, const Value& base,
                   ArgumentReader& reader) {
  Expected<std::string> affix = reader.string(isAtEnd ? "suffix" : "prefix");
  RECIPERUN_TRY(affix);
  std::string_view text = *base.string();
  if (isAtEnd && text.ends_with(*affix))
    text.remove_suffix(affix->size());
  if (!isAtEnd && text.starts_with(*affix))
    text.remove_prefix(affix->size());
  return made(std::string(text), renderer.budget);
}

Result replaceIn(Renderer& renderer, const Value& base,
                 ArgumentReader& reader) {
  return renderer.applyFilter("replace", base, reader.all());
}

/// The position in code points, or -1.
template <bool isFromRight>
Result findIn(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<std::string> wanted = reader.string("sub");
  RECIPERUN_TRY(wanted);
  const std::string_view text = *base.string();
  const size_t at =
      isFromRight ? lastPosition(text, *wanted) : firstPosition(text, *wanted);
  if (at == text.npos)
    return Value(int64_t(-1));
  return Value(int64_t(countPoints(text.substr(0, at))));
}

Result countIn(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<std::string> wanted = reader.string("sub");
  RECIPERUN_TRY(wanted);
  if (wanted->empty())
    return Value(int64_t(countPoints(*base.string())) + 1);
  return Value(int64_t(countOccurrences(*base.string(), *wanted)));
}

Result joinWith(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> iterable = reader.value("iterable");
  RECIPERUN_TRY(iterable);
  return renderer.applyFilter("join", *iterable, {{base}, {}});
}

Result linesOf(Renderer& renderer, const Value& base, ArgumentReader&) {
  Budget& budget = renderer.budget;
  return listOf(splitLines(*base.string(), budget), budget);
}

template <bool (*isWanted)(char)>
Result consistsOf(Renderer&, const Value& base, ArgumentReader&) {
  const std::string& text = *base.string();
  return Value(!text.empty() &&
               std::all_of(text.begin(), text.end(), isWanted));
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isSpace(char c) {
  return whiteSpace.find(c) != whiteSpace.npos;
}

constexpr Method stringMethods[] = {
    {"capitalize", mapText<capitalize>},
    {"count", countIn},
    {"endswith", hasAffix<true>},
    {"find", findIn<false>},
    {"isdigit", consistsOf<isDigit>},
    {"isspace", consistsOf<isSpace>},
    {"join", joinWith},
    {"lower", mapText<toLower>},
    {"lstrip", stripText<Side::left>},
    {"removeprefix", removeAffix<false>},
    {"removesuffix", removeAffix<true>},
    {"replace", replaceIn},
    {"rfind", findIn<true>},
    {"rsplit", splitText<true>},
    {"rstrip", stripText<Side::right>},
    {"split", splitText<false>},
    {"splitlines", linesOf},
    {"startswith", hasAffix<false>},
    {"strip", stripText<Side::both>},
    {"title", mapText<toTitle>},
    {"upper", mapText<toUpper>},
};

// ---- lists

Result append(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> element = reader.value("object");
  RECIPERUN_TRY(element);
  RECIPERUN_TRY(renderer.budget.takeBytes(sizeof(Value)));
  base.list()->push_back(*element);
  renderer.noteChange(base);
  return Value(None{});
}

Result extend(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> iterable = reader.value("iterable");
  RECIPERUN_TRY(iterable);
  Expected<List> elements = renderer.elementsOf(*iterable);
  RECIPERUN_TRY(elements);
  RECIPERUN_TRY(renderer.budget.takeBytes(elements->size() * sizeof(Value)));
  base.list()->insert(base.list()->end(), elements->begin(), elements->end());
  renderer.noteChange(base);
  return Value(None{});
}

Result popLast(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  List& list = *base.list();
  const int64_t count = int64_t(list.size());
  Expected<int64_t> given = reader.integerOr("index", -1);
  RECIPERUN_TRY(given);
  const int64_t at = *given < 0 ? *given + count : *given;
  if (at < 0 || at >= count)
    return Status::error("`pop` of element " + std::to_string(*given) +
                         " of a list of " + std::to_string(count));
  RECIPERUN_TRY(renderer.budget.takeReads(size_t(count - at) * sizeof(Value)));
  Value element = list[size_t(at)];
  list.erase(list.begin() + at);
  return element;
}

Result indexIn(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> wanted = reader.value("value");
  RECIPERUN_TRY(wanted);
  const List& list = *base.list();
  for (size_t i = 0; i < list.size(); ++i) {
    Expected<bool> isFound = isEqual(list[i], *wanted, renderer.budget);
    RECIPERUN_TRY(isFound);
    if (*isFound)
      return Value(int64_t(i));
  }
  Expected<std::string> text = wanted->repr(renderer.budget);
  RECIPERUN_TRY(text);
  return Status::error("the list has no element " + *text);
}

Result countInList(Renderer& renderer, const Value& base,
                   ArgumentReader& reader) {
  Expected<Value> wanted = reader.value("value");
  RECIPERUN_TRY(wanted);
  int64_t count = 0;
  for (const Value& element : *base.list()) {
    Expected<bool> isFound = isEqual(element, *wanted, renderer.budget);
    RECIPERUN_TRY(isFound);
    count += *isFound;
  }
  return Value(count);
}

constexpr Method listMethods[] = {
    {"append", append}, {"count", countInList}, {"extend", extend},
    {"index", indexIn}, {"pop", popLast},
};

// ---- dictionaries

Result get(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> key = reader.value("key");
  RECIPERUN_TRY(key);
  const Value* otherwise = reader.next("default");
  if (key->string()) {
    Expected<const Value*> entry =
        base.dict()->find(*key->string(), renderer.budget);
    RECIPERUN_TRY(entry);
    if (*entry)
      return **entry;
  }
  return otherwise ? *otherwise : Value(None{});
}

Result keysOf(Renderer& renderer, const Value& base, ArgumentReader&) {
  Expected<List> keys = renderer.elementsOf(base);
  RECIPERUN_TRY(keys);
  return Value(*std::move(keys));
}

Result valuesOf(Renderer& renderer, const Value& base, ArgumentReader&) {
  List values;
  for (const auto& [key, value] : base.dict()->entries)
    values.push_back(value);
  return made(std::move(values), renderer.budget);
}

Result itemsOf(Renderer& renderer, const Value& base, ArgumentReader&) {
  return renderer.applyFilter("items", base, {});
}

Result copyOf(Renderer& renderer, const Value& base, ArgumentReader&) {
  RECIPERUN_TRY(renderer.budget.takeBytes(base.dict()->bytes()));
  return Value(Dict(*base.dict()));
}

Result update(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> other = reader.value("other");
  RECIPERUN_TRY(other);
  if (!other->dict())
    return Status::error("`update` does not take a value of type `" +
                         std::string(other->typeName()) + "`");
  if (other->dict() == base.dict())
    return Value(None{});
  for (const auto& [key, value] : other->dict()->entries)
    RECIPERUN_TRY(base.dict()->set(key, value, renderer.budget));
  renderer.noteChange(base);
  return Value(None{});
}

constexpr Method dictMethods[] = {
    {"copy", copyOf}, {"get", get},       {"items", itemsOf},
    {"keys", keysOf}, {"update", update}, {"values", valuesOf},
};

} // namespace

Value methodOf(Renderer& renderer, const Value& base, std::string_view name) {
  std::span<const Method> methods;
  if (base.string())
    methods = stringMethods;
  else if (base.list())
    methods = listMethods;
  else if (base.dict())
    methods = dictMethods;
  for (const Method& method : methods)
    if (method.name == name)
      return Function{
          std::string(name),
          [&renderer, base, &method](const Arguments& arguments) -> Result {
            RECIPERUN_TRY(renderer.readStrings(base, arguments));
            ArgumentReader reader(method.name, arguments);
            return method.call(renderer, base, reader);
          }};
  return Undefined{};
}

} // namespace reciperun::jinja
