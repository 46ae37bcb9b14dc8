// The functions that every template can call: Jinja's own, and those that
// transformers adds.

#include "runtime/jinja/Arguments.h"
#include "runtime/jinja/Renderer.h"

#include <ctime>

namespace reciperun::jinja {
namespace {

using Result = Expected<Value>;

Result range(Renderer& renderer, const Arguments& arguments) {
  int64_t bounds[3] = {0, 0, 1};
  const size_t count = arguments.positional.size();
  if (count == 0 || count > 3)
    return Status::error("`range` takes 1 to 3 arguments");
  for (size_t i = 0; i < count; ++i) {
    if (!arguments.positional[i].isInteger())
      return Status::error("an argument of `range` is of type `" +
                           std::string(arguments.positional[i].typeName()) +
                           "`");
    bounds[count == 1 ? 1 : i] = arguments.positional[i].integer();
  }
  const auto [first, last, step] = bounds;
  if (step == 0)
    return Status::error("the step of `range` is 0");
  List list;
  for (int64_t i = first; step > 0 ? i < last : i > last;) {
    RECIPERUN_TRY(renderer.budget.takeBytes(sizeof(Value)));
    list.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i))
      break;
  }
  return Value(std::move(list));
}

Expected<Dict> dictOf(const Arguments& arguments, Budget& budget) {
  Dict dict;
  for (const Value& value : arguments.positional)
    if (value.dict())
      for (const auto& [key, element] : value.dict()->entries)
        RECIPERUN_TRY(dict.set(key, element, budget));
  for (const auto& [name, value] : arguments.named)
    RECIPERUN_TRY(dict.set(name, value, budget));
  return dict;
}

Result makeNamespace(Renderer& renderer, const Arguments& arguments) {
  Expected<Dict> dict = dictOf(arguments, renderer.budget);
  RECIPERUN_TRY(dict);
  dict->isNamespace = true;
  return Value(*std::move(dict));
}

Result makeDict(Renderer& renderer, const Arguments& arguments) {
  Expected<Dict> dict = dictOf(arguments, renderer.budget);
  RECIPERUN_TRY(dict);
  return Value(*std::move(dict));
}

Result raise(Renderer& renderer, const Arguments& arguments) {
  std::string message = "the template raised: ";
  if (const Value* given = arguments.find(0, "message"))
    RECIPERUN_TRY(given->appendTo(message, renderer.budget));
  else
    message += "an exception";
  return Status::error(std::move(message));
}

Result formattedTime(Renderer& renderer, const Arguments& arguments) {
  ArgumentReader reader("strftime_now", arguments);
  Expected<std::string> format = reader.string("format");
  RECIPERUN_TRY(format);
  RECIPERUN_TRY(renderer.budget.takeReads(format->size()));
  const std::time_t now = renderer.time();
  std::tm parts{};
  gmtime_r(&now, &parts);
  if (format->empty())
    return Value("");
  // The result of `strftime` is 0 both when it is empty and when it is long.
  const std::string marked = *format + ".";
  char text[1024];
  const size_t size = std::strftime(text, sizeof text, marked.c_str(), &parts);
  if (size == 0)
    return Status::error("the format of `strftime_now` is too long");
  return Value(std::string(text, size - 1));
}

struct Definition {
  const char* name;
  Result (*call)(Renderer& renderer, const Arguments& arguments);
};

constexpr Definition functions[] = {
    {"range", range},
    {"namespace", makeNamespace},
    {"dict", makeDict},
    {"raise_exception", raise},
    {"strftime_now", formattedTime},
};

} // namespace

void declareFunctions(Renderer& renderer, Scope& scope) {
  for (const Definition& definition : functions)
    scope.set(definition.name,
              Function{definition.name,
                       [&renderer, &definition](const Arguments& arguments) {
                         return definition.call(renderer, arguments);
                       }});
}

} // namespace reciperun::jinja
