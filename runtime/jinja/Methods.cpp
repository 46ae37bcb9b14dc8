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

List listOf(const std::vector<std::string_view>& parts) {
  List list;
  for (const std::string_view part : parts)
    list.emplace_back(part);
  return list;
}

// ---- strings

template <std::string (*function)(std::string_view)>
Result mapText(Renderer&, const Value& base, ArgumentReader&) {
  return Value(function(*base.string()));
}

template <Side side>
Result stripText(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<std::string> removed =
      reader.stringOr("chars", std::string(whiteSpace));
  RECIPERUN_TRY(removed);
  return Value(strip(*base.string(), *removed, side));
}

template <bool isFromRight>
Result splitText(Renderer&, const Value& base, ArgumentReader& reader) {
  const Value* given = reader.next("sep");
  Expected<int64_t> count = reader.integerOr("maxsplit", -1);
  RECIPERUN_TRY(count);
  const std::string& text = *base.string();
  if (!given || given->isNone()) {
    if (isFromRight && *count >= 0)
      return Status::error("`rsplit` with `maxsplit` needs a separator");
    return Value(listOf(splitAtSpaces(text, *count)));
  }
  if (!given->string() || given->string()->empty())
    return Status::error("`split` needs a separator that is not empty");
  return Value(listOf(isFromRight
                          ? splitFromRight(text, *given->string(), *count)
                          : split(text, *given->string(), *count)));
}

template <bool isAtEnd>
Result hasAffix(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<Value> affix = reader.value(isAtEnd ? "suffix" : "prefix");
  RECIPERUN_TRY(affix);
  List candidates = affix->list() ? *affix->list() : List{*affix};
  for (const Value& candidate : candidates) {
    if (!candidate.string())
      return Status::error("the argument of `startswith` and `endswith` is a "
                           "string, and not of type `" +
                           std::string(candidate.typeName()) + "`");
    if (isAtEnd ? base.string()->ends_with(*candidate.string())
                : base.string()->starts_with(*candidate.string()))
      return Value(true);
  }
  return Value(false);
}

template <bool isAtEnd>
Result removeAffix(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<std::string> affix = reader.string(isAtEnd ? "suffix" : "prefix");
  RECIPERUN_TRY(affix);
  std::string_view text = *base.string();
  if (isAtEnd && text.ends_with(*affix))
    text.remove_suffix(affix->size());
  if (!isAtEnd && text.starts_with(*affix))
    text.remove_prefix(affix->size());
  return Value(text);
}

Result replaceIn(Renderer& renderer, const Value& base,
                 ArgumentReader& reader) {
  Expected<std::string> from = reader.string("old");
  RECIPERUN_TRY(from);
  Expected<std::string> to = reader.string("new");
  RECIPERUN_TRY(to);
  Expected<int64_t> count = reader.integerOr("count", -1);
  RECIPERUN_TRY(count);
  std::string text = replace(*base.string(), *from, *to, *count);
  RECIPERUN_TRY(renderer.takeBytes(text.size()));
  return Value(std::move(text));
}

/// The position in code points, or -1.
template <bool isFromRight>
Result findIn(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<std::string> wanted = reader.string("sub");
  RECIPERUN_TRY(wanted);
  const std::string_view text = *base.string();
  const size_t at = isFromRight ? text.rfind(*wanted) : text.find(*wanted);
  if (at == text.npos)
    return Value(int64_t(-1));
  return Value(int64_t(codePoints(text.substr(0, at)).size()));
}

Result countIn(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<std::string> wanted = reader.string("sub");
  RECIPERUN_TRY(wanted);
  if (wanted->empty())
    return Value(int64_t(codePoints(*base.string()).size()) + 1);
  return Value(int64_t(split(*base.string(), *wanted).size()) - 1);
}

Result joinWith(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> iterable = reader.value("iterable");
  RECIPERUN_TRY(iterable);
  return renderer.applyFilter("join", *iterable, {{base}, {}});
}

Result linesOf(Renderer&, const Value& base, ArgumentReader&) {
  return Value(listOf(splitLines(*base.string())));
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
  RECIPERUN_TRY(renderer.takeBytes(sizeof(Value)));
  base.list()->push_back(*element);
  renderer.noteChange(base);
  return Value(None{});
}

Result extend(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> iterable = reader.value("iterable");
  RECIPERUN_TRY(iterable);
  Expected<List> elements = Renderer::elementsOf(*iterable);
  RECIPERUN_TRY(elements);
  RECIPERUN_TRY(renderer.takeBytes(elements->size() * sizeof(Value)));
  base.list()->insert(base.list()->end(), elements->begin(), elements->end());
  renderer.noteChange(base);
  return Value(None{});
}

Result popLast(Renderer&, const Value& base, ArgumentReader& reader) {
  List& list = *base.list();
  const int64_t count = int64_t(list.size());
  Expected<int64_t> given = reader.integerOr("index", -1);
  RECIPERUN_TRY(given);
  const int64_t at = *given < 0 ? *given + count : *given;
  if (at < 0 || at >= count)
    return Status::error("`pop` of element " + std::to_string(*given) +
                         " of a list of " + std::to_string(count));
  Value element = list[size_t(at)];
  list.erase(list.begin() + at);
  return element;
}

Result indexIn(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<Value> wanted = reader.value("value");
  RECIPERUN_TRY(wanted);
  const List& list = *base.list();
  for (size_t i = 0; i < list.size(); ++i)
    if (isEqual(list[i], *wanted))
      return Value(int64_t(i));
  return Status::error("the list has no element " + wanted->repr());
}

Result countInList(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<Value> wanted = reader.value("value");
  RECIPERUN_TRY(wanted);
  return Value(int64_t(std::count_if(
      base.list()->begin(), base.list()->end(),
      [&](const Value& each) { return isEqual(each, *wanted); })));
}

constexpr Method listMethods[] = {
    {"append", append}, {"count", countInList}, {"extend", extend},
    {"index", indexIn}, {"pop", popLast},
};

// ---- dictionaries

Result get(Renderer&, const Value& base, ArgumentReader& reader) {
  Expected<Value> key = reader.value("key");
  RECIPERUN_TRY(key);
  const Value* otherwise = reader.next("default");
  if (key->string())
    if (const Value* entry = base.dict()->find(*key->string()))
      return *entry;
  return otherwise ? *otherwise : Value(None{});
}

Result keysOf(Renderer&, const Value& base, ArgumentReader&) {
  Expected<List> keys = Renderer::elementsOf(base);
  RECIPERUN_TRY(keys);
  return Value(*std::move(keys));
}

Result valuesOf(Renderer&, const Value& base, ArgumentReader&) {
  List values;
  for (const auto& [key, value] : base.dict()->entries)
    values.push_back(value);
  return Value(std::move(values));
}

Result itemsOf(Renderer& renderer, const Value& base, ArgumentReader&) {
  return renderer.applyFilter("items", base, {});
}

Result copyOf(Renderer&, const Value& base, ArgumentReader&) {
  return Value(Dict(*base.dict()));
}

Result update(Renderer& renderer, const Value& base, ArgumentReader& reader) {
  Expected<Value> other = reader.value("other");
  RECIPERUN_TRY(other);
  if (!other->dict())
    return Status::error("`update` does not take a value of type `" +
                         std::string(other->typeName()) + "`");
  const Dict added = *other->dict();
  RECIPERUN_TRY(renderer.takeBytes(added.entries.size() * sizeof(Value)));
  for (const auto& [key, value] : added.entries)
    base.dict()->set(key, value);
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
      return Function{std::string(name),
                      [&renderer, base, &method](const Arguments& arguments) {
                        ArgumentReader reader(method.name, arguments);
                        return method.call(renderer, base, reader);
                      }};
  return Undefined{std::string(name)};
}

} // namespace reciperun::jinja
