// Filters of lists and dictionaries.

#include "runtime/jinja/Arguments.h"
#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Strings.h"

#include <algorithm>

namespace reciperun::jinja {
namespace {

using Result = Expected<Value>;

/// The value of a path of attributes, `function.name`, of an element.
Result attributeAt(Renderer& renderer, Value value, std::string_view path) {
  while (true) {
    RECIPERUN_TRY(renderer.budget.takeStep());
    const std::string_view name = path.substr(0, path.find('.'));
    Result next = renderer.elementAt(value, Value(name));
    RECIPERUN_TRY(next);
    if (name.size() == path.size())
      return next;
    value = *std::move(next);
    path.remove_prefix(name.size() + 1);
  }
}

Result length(Renderer& renderer, const Value& operand, const Arguments&) {
  if (operand.list())
    return Value(int64_t(operand.list()->size()));
  if (operand.string())
    return Value(int64_t(countPoints(*operand.string())));
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  return Value(int64_t(elements->size()));
}

Result first(Renderer& renderer, const Value& operand, const Arguments&) {
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  return elements->empty() ? Value(Undefined{"the first element"})
                           : elements->front();
}

Result last(Renderer& renderer, const Value& operand, const Arguments&) {
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  return elements->empty() ? Value(Undefined{"the last element"})
                           : elements->back();
}

Result toList(Renderer& renderer, const Value& operand, const Arguments&) {
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  return Value(*std::move(elements));
}

Result reverse(Renderer& renderer, const Value& operand, const Arguments&) {
  return sliceOf(operand, None{}, None{}, int64_t(-1), renderer.budget);
}

Result join(Renderer& renderer, const Value& operand,
            const Arguments& arguments) {
  ArgumentReader reader("join", arguments);
  Expected<std::string> separator = reader.stringOr("d", "");
  RECIPERUN_TRY(separator);
  Expected<std::string> attribute = reader.stringOr("attribute", "");
  RECIPERUN_TRY(attribute);
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  std::string text;
  for (size_t i = 0; i < elements->size(); ++i) {
    Result element = (*elements)[i];
    if (!attribute->empty())
      element = attributeAt(renderer, (*elements)[i], *attribute);
    RECIPERUN_TRY(element);
    if (i > 0) {
      RECIPERUN_TRY(renderer.budget.takeBytes(separator->size()));
      text += *separator;
    }
    RECIPERUN_TRY(element->appendTo(text, renderer.budget));
  }
  return Value(std::move(text));
}

Result items(Renderer& renderer, const Value& operand, const Arguments&) {
  if (operand.isUndefined())
    return Value(List{});
  const Dict* dict = operand.dict();
  if (!dict)
    return Status::error("`items` does not take a value of type `" +
                         std::string(operand.typeName()) + "`");
  RECIPERUN_TRY(renderer.budget.takeBytes(
      dict->bytes() + 2 * dict->entries.size() * sizeof(Value)));
  List pairs;
  for (const auto& [key, value] : dict->entries)
    pairs.push_back(List{Value(key), value});
  return Value(std::move(pairs));
}

/// Sorts by keys, which are made first, so that a failure is no exception of
/// the comparison.
Result sortBy(List elements, const List& keys, bool isReversed,
              Budget& budget) {
  std::vector<size_t> order(elements.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  Status failure;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (!failure.isOk())
      return false;
    Expected<int> result = isReversed ? compare(keys[b], keys[a], budget)
                                      : compare(keys[a], keys[b], budget);
    failure = result.status();
    return failure.isOk() && *result < 0;
  });
  RECIPERUN_TRY(failure);
  List sorted;
  for (const size_t i : order)
    sorted.push_back(elements[i]);
  return Value(std::move(sorted));
}

Result folded(const Value& key, bool isCaseSensitive, Budget& budget) {
  return key.string() && !isCaseSensitive ? made(toLower(*key.string()), budget)
                                          : Result(key);
}

/// The keys of elements: themselves, or an attribute of each.
Expected<List> keysOf(Renderer& renderer, const List& elements,
                      const std::string& attribute, bool isCaseSensitive) {
  List keys;
  for (const Value& element : elements) {
    Result key = attribute.empty() ? Result(element)
                                   : attributeAt(renderer, element, attribute);
    RECIPERUN_TRY(key);
    key = folded(*key, isCaseSensitive, renderer.budget);
    RECIPERUN_TRY(key);
    keys.push_back(*std::move(key));
  }
  return keys;
}

Result sort(Renderer& renderer, const Value& operand,
            const Arguments& arguments) {
  ArgumentReader reader("sort", arguments);
  const bool isReversed = reader.flag("reverse");
  const bool isCaseSensitive = reader.flag("case_sensitive");
  Expected<std::string> attribute = reader.stringOr("attribute", "");
  RECIPERUN_TRY(attribute);
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  Expected<List> keys =
      keysOf(renderer, *elements, *attribute, isCaseSensitive);
  RECIPERUN_TRY(keys);
  return sortBy(*std::move(elements), *keys, isReversed, renderer.budget);
}

Result sortDictionary(Renderer& renderer, const Value& operand,
                      const Arguments& arguments) {
  ArgumentReader reader("dictsort", arguments);
  const bool isCaseSensitive = reader.flag("case_sensitive");
  Expected<std::string> by = reader.stringOr("by", "key");
  RECIPERUN_TRY(by);
  const bool isReversed = reader.flag("reverse");
  Result pairs = items(renderer, operand, arguments);
  RECIPERUN_TRY(pairs);
  List keys;
  for (const Value& pair : *pairs->list())
    keys.push_back((*pair.list())[*by == "value"]);
  Expected<List> foldedKeys = keysOf(renderer, keys, "", isCaseSensitive);
  RECIPERUN_TRY(foldedKeys);
  return sortBy(*pairs->list(), *foldedKeys, isReversed, renderer.budget);
}

Result unique(Renderer& renderer, const Value& operand,
              const Arguments& arguments) {
  ArgumentReader reader("unique", arguments);
  const bool isCaseSensitive = reader.flag("case_sensitive");
  Expected<std::string> attribute = reader.stringOr("attribute", "");
  RECIPERUN_TRY(attribute);
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  Expected<List> keys =
      keysOf(renderer, *elements, *attribute, isCaseSensitive);
  RECIPERUN_TRY(keys);
  List result;
  Value seen(List{});
  for (size_t i = 0; i < elements->size(); ++i) {
    const Value& key = (*keys)[i];
    Expected<bool> isKnown =
        holds(ast::CompareOp::in, key, seen, renderer.budget);
    RECIPERUN_TRY(isKnown);
    if (*isKnown)
      continue;
    seen.list()->push_back(key);
    result.push_back((*elements)[i]);
  }
  return Value(std::move(result));
}

Result sum(Renderer& renderer, const Value& operand,
           const Arguments& arguments) {
  ArgumentReader reader("sum", arguments);
  Expected<std::string> attribute = reader.stringOr("attribute", "");
  RECIPERUN_TRY(attribute);
  const Value* start = reader.next("start");
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  Expected<List> terms = keysOf(renderer, *elements, *attribute, true);
  RECIPERUN_TRY(terms);
  Value total = start ? *start : Value(int64_t(0));
  for (const Value& term : *terms) {
    Result next = apply(ast::BinaryOp::add, total, term, renderer.budget);
    RECIPERUN_TRY(next);
    total = *std::move(next);
  }
  return total;
}

Result extreme(Renderer& renderer, const Value& operand, int wanted) {
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  if (elements->empty())
    return Value(Undefined{"an element of an empty list"});
  Expected<List> keys = keysOf(renderer, *elements, "", false);
  RECIPERUN_TRY(keys);
  size_t best = 0;
  for (size_t i = 0; i < keys->size(); ++i) {
    Expected<int> order = compare((*keys)[i], (*keys)[best], renderer.budget);
    RECIPERUN_TRY(order);
    if (*order * wanted > 0)
      best = i;
  }
  return (*elements)[best];
}
Result minimum(Renderer& renderer, const Value& operand, const Arguments&) {
  return extreme(renderer, operand, -1);
}
Result maximum(Renderer& renderer, const Value& operand, const Arguments&) {
  return extreme(renderer, operand, 1);
}

// ---- filters that take filters and tests

/// The arguments without the first `count` ones, which name an attribute,
/// filter or test.
Expected<Arguments> behindFirst(const Arguments& arguments, size_t count,
                                Budget& budget) {
  const List& all = arguments.positional;
  count = std::min(count, all.size());
  RECIPERUN_TRY(
      budget.takeReads((all.size() + arguments.named.size()) * sizeof(Value)));
  return Arguments{List(all.begin() + long(count), all.end()), arguments.named};
}

Result map(Renderer& renderer, const Value& operand,
           const Arguments& arguments) {
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  Arguments named{{}, arguments.named};
  ArgumentReader names("map", named);
  Expected<std::string> attribute = names.stringOr("attribute", "");
  RECIPERUN_TRY(attribute);
  const Value* otherwise = names.next("default");
  Expected<Arguments> rest = behindFirst(arguments, 1, renderer.budget);
  RECIPERUN_TRY(rest);
  List result;
  for (const Value& element : *elements) {
    Result value = element;
    if (!attribute->empty()) {
      value = attributeAt(renderer, element, *attribute);
      if (value && value->isUndefined() && otherwise)
        value = *otherwise;
    } else {
      ArgumentReader positional("map", arguments);
      Expected<std::string> filter = positional.string("filter");
      RECIPERUN_TRY(filter);
      value = renderer.applyFilter(*filter, element, *rest);
    }
    RECIPERUN_TRY(value);
    result.push_back(*std::move(value));
  }
  return Value(std::move(result));
}

/// `select('test')` and `selectattr('attribute', 'test')`; without a test, the
/// truth of the value.
Result selected(Renderer& renderer, const Value& operand,
                const Arguments& arguments, bool hasAttribute, bool wanted) {
  Expected<List> elements = renderer.elementsOf(operand);
  RECIPERUN_TRY(elements);
  ArgumentReader reader(hasAttribute ? "selectattr" : "select", arguments);
  Expected<std::string> attribute = std::string();
  if (hasAttribute)
    attribute = reader.string("attribute");
  RECIPERUN_TRY(attribute);
  Expected<std::string> test = reader.stringOr("test", "");
  RECIPERUN_TRY(test);
  Expected<Arguments> rest =
      behindFirst(arguments, hasAttribute ? 2 : 1, renderer.budget);
  RECIPERUN_TRY(rest);
  List result;
  for (const Value& element : *elements) {
    RECIPERUN_TRY(renderer.budget.takeStep());
    Result value = hasAttribute ? attributeAt(renderer, element, *attribute)
                                : Result(element);
    RECIPERUN_TRY(value);
    if (!test->empty())
      value = renderer.applyTest(*test, *value, *rest);
    RECIPERUN_TRY(value);
    if (value->isTrue() == wanted)
      result.push_back(element);
  }
  return Value(std::move(result));
}

template <bool hasAttribute, bool wanted>
Result select(Renderer& renderer, const Value& operand,
              const Arguments& arguments) {
  return selected(renderer, operand, arguments, hasAttribute, wanted);
}

constexpr FilterDefinition filtersOfLists[] = {
    {"count", length},
    {"dictsort", sortDictionary},
    {"first", first},
    {"items", items},
    {"join", join},
    {"last", last},
    {"length", length},
    {"list", toList},
    {"map", map},
    {"max", maximum},
    {"min", minimum},
    {"reject", select<false, false>},
    {"rejectattr", select<true, false>},
    {"reverse", reverse},
    {"select", select<false, true>},
    {"selectattr", select<true, true>},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
};

} // namespace

std::span<const FilterDefinition> listFilters() {
  return filtersOfLists;
}

} // namespace reciperun::jinja
