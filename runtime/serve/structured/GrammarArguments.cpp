// Declares the options and compiles the one that is given.

#include "runtime/serve/structured/GrammarArguments.h"

#include "runtime/base/InputFile.h"
#include "runtime/cli/Options.h"
#include "runtime/grammar/Choices.h"
#include "runtime/grammar/Gbnf.h"
#include "runtime/grammar/Limits.h"
#include "runtime/grammar/Regex.h"
#include "runtime/grammar/schema/JsonSchema.h"

#include <algorithm>

namespace reciperun::serve {
namespace {

Expected<std::string> readGrammarFile(const std::string& path) {
  return readTextFile(path, int64_t(grammar::maxTextBytes));
}

/// Whether the value of `--json-schema` is a schema rather than a path.
bool isSchemaText(const std::string& value) {
  const size_t first = value.find_first_not_of(" \t\r\n");
  return value == "true" || value == "false" ||
         (first != value.npos && value[first] == '{');
}

Expected<grammar::Rules> schemaRules(const std::string& value) {
  if (isSchemaText(value))
    return grammar::rulesOfJsonSchema(value);
  Expected<std::string> text = readGrammarFile(value);
  RECIPERUN_TRY(text);
  Expected<grammar::Rules> rules = grammar::rulesOfJsonSchema(*text);
  if (!rules)
    return rules.status().withContext("`" + value + "`");
  return rules;
}

Expected<grammar::Rules> gbnfRules(const std::string& path) {
  Expected<std::string> text = readGrammarFile(path);
  RECIPERUN_TRY(text);
  Expected<grammar::Rules> rules = grammar::rulesOfGbnf(*text);
  if (!rules)
    return rules.status().withContext("`" + path + "`");
  return rules;
}

/// The name of the option that is given, and its rules.
std::pair<std::string, Expected<grammar::Rules>>
givenRules(const GrammarArguments& arguments) {
  if (!arguments.jsonSchema.empty())
    return {"--json-schema", schemaRules(arguments.jsonSchema)};
  if (!arguments.regex.empty())
    return {"--regex", grammar::rulesOfRegex(arguments.regex)};
  if (!arguments.choices.empty())
    return {"--choice", grammar::rulesOfChoices(arguments.choices)};
  return {"--grammar", gbnfRules(arguments.grammarPath)};
}

} // namespace

bool GrammarArguments::isGiven() const {
  return !jsonSchema.empty() || !regex.empty() || !choices.empty() ||
         !grammarPath.empty();
}

std::vector<cli::Option> describeGrammar(GrammarArguments& arguments) {
  std::vector<cli::Option> options = {
      cli::text("--json-schema", "FILE|TEXT",
                "answer with JSON that a JSON Schema accepts",
                arguments.jsonSchema),
      cli::text("--regex", "TEXT",
                "answer with a text that a regular expression matches as a "
                "whole",
                arguments.regex),
      {.name = "--choice",
       .valueName = "TEXT",
       .help = "answer with one of the texts that are given so",
       .repeats = true,
       .store = [&arguments](const cli::Given& given) -> cli::Check {
         arguments.choices.push_back(given.value);
         return std::nullopt;
       }},
      cli::pathOrAddress(
          "--grammar", "FILE",
          "answer with a text of a GBNF grammar, as llama.cpp has them",
          arguments.grammarPath)};
  for (cli::Option& each : options)
    each.group = "structured output";
  return options;
}

cli::Check checkGrammar(const GrammarArguments& arguments) {
  std::vector<std::string> given;
  if (!arguments.jsonSchema.empty())
    given.push_back("`--json-schema`");
  if (!arguments.regex.empty())
    given.push_back("`--regex`");
  if (!arguments.choices.empty())
    given.push_back("`--choice`");
  if (!arguments.grammarPath.empty())
    given.push_back("`--grammar`");
  if (given.size() < 2)
    return std::nullopt;
  return cli::UsageError{given[0] + " and " + given[1] + " exclude each other",
                         "an answer has one grammar: drop one of the options"};
}

Expected<std::shared_ptr<const grammar::Automaton>>
compileGrammar(const GrammarArguments& arguments) {
  using Compiled = std::shared_ptr<const grammar::Automaton>;
  if (!arguments.isGiven())
    return Compiled();
  auto [option, rules] = givenRules(arguments);
  if (!rules)
    return rules.status().withContext("`" + option + "`");
  Expected<grammar::Automaton> made =
      grammar::Automaton::compile(std::move(*rules));
  if (!made)
    return made.status().withContext("`" + option + "`");
  return Compiled(std::make_shared<const grammar::Automaton>(std::move(*made)));
}

} // namespace reciperun::serve
