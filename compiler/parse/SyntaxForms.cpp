// The syntax of each construct, for the help at a syntax error about which
// nothing else is known.

#include "compiler/parse/ErrorStrategy.h"

namespace recipec::parse {

std::string formOf(size_t rule) {
  switch (rule) {
  case Grammar::RuleImportDeclaration:
    return "an import is written `import std.models.llama`, or `import "
           "\"FILE.recipe\" { name }` for names of a file";
  case Grammar::RuleSchemaDeclaration:
    return "a schema is written `schema name { field : int = 4 }`";
  case Grammar::RuleModelDeclaration:
    return "a model is written `model name { hidden : dim ... block "
           "forward(tokens) { ... } }`";
  case Grammar::RuleType:
  case Grammar::RuleTypeTerm:
  case Grammar::RuleMapArguments:
    return "a type is written `int`, `string`, `[int]`, `map[string, int]` "
           "or `\"a\" | \"b\"`";
  case Grammar::RuleRequire:
    return "a condition is written `require condition : \"message\"`";
  case Grammar::RuleReturnStatement:
    return "a result is written `return value`";
  case Grammar::RulePrimary:
  case Grammar::RuleOperand:
  case Grammar::RuleOperation:
  case Grammar::RuleExpression:
  case Grammar::RuleArgument:
  case Grammar::RuleList:
    return "a value is a number, a string, a name, a call, a list `[a, b]` "
           "or a record `{ a = 1 }`";
  case Grammar::RuleSuffix:
    return "a call is written `name(a, b = c)`, an element `xs[0]`, a field "
           "`a.b`";
  case Grammar::RuleParameters:
  case Grammar::RuleParameter:
    return "parameters are written `(a, b: int, c: int = 4)`";
  case Grammar::RuleDeclaration:
  case Grammar::RuleDeclarations:
    return "a file has `import`, `recipe`, `mixin`, `schema`, `model`, `let`, "
           "`fun` and `block`";
  case Grammar::RuleLet:
    return "a value is named with `let name = value`";
  case Grammar::RuleEntry:
    return "an entry of a map is written `[key] = value`";
  case Grammar::RuleFunctionType:
    return "the type of a function is written `fun(int): float`";
  case Grammar::RuleMixinDeclaration:
    return "a mixin is written `mixin name { ... }`";
  case Grammar::RuleMixins:
  case Grammar::RuleRecipeDeclaration:
    return "a recipe is written `recipe name amends parent with mixin { ... "
           "}`, where `amends` and `with` may be left out";
  case Grammar::RuleFixedField:
    return "a derived field is written `fixed name : type = value`";
  case Grammar::RuleFunction:
    return "a function is written `fun name(a: int): int = value`, or with "
           "braces that end in `return value`";
  case Grammar::RuleBlock:
    return "a block is written `block name(x) { ... }`";
  case Grammar::RuleForStatement:
    return "a repetition is written `for i in 0..n { ... }`";
  case Grammar::RuleIfStatement:
    return "a condition is written `if condition { ... } else { ... }`";
  case Grammar::RuleOverrideArgument:
    return "a setting is written `--set path=value`, each with a `--set` of "
           "its own";
  default:
    return {};
  }
}

} // namespace recipec::parse
