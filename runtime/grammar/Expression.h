// The representation of a grammar: rules, each of which is an expression over
// bytes, characters and other rules.
//
// The front ends (JsonSchema, Regex, Gbnf, Choices) make rules, and Automaton.h
// compiles them. Expressions are immutable and may be shared.

#ifndef RECIPERUN_GRAMMAR_EXPRESSION_H
#define RECIPERUN_GRAMMAR_EXPRESSION_H

#include "runtime/grammar/CodePointSet.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace reciperun::grammar {

struct Machine;
struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;
/// The index of a rule in `Rules::rules`.
using RuleId = int32_t;

/// Exactly these bytes; without bytes, the empty text.
struct Literal {
  std::string bytes;
};

/// One character of a set, in UTF-8.
struct Character {
  CodePointSet set;
};

struct Sequence {
  std::vector<ExpressionPtr> parts;
};

/// One of the alternatives; without one, nothing matches.
struct Choice {
  std::vector<ExpressionPtr> alternatives;
};

struct Repeat {
  ExpressionPtr part;
  int64_t least = 0;
  std::optional<int64_t> most; // nullopt: without end
};

struct Reference {
  RuleId rule = 0;
};

/// Items in a fixed order with a separator between each two that are present,
/// such as the members of an object. Where all items are optional, the empty
/// text matches only if `mayBeEmpty`.
struct Separated {
  struct Item {
    ExpressionPtr part;
    bool isOptional = false;
    bool repeats = false; // any number of times, and at least once if required
  };
  std::vector<Item> items;
  ExpressionPtr separator;
  bool mayBeEmpty = true;
};

/// A regular language that is already a machine: the result of an intersection.
struct Regular {
  std::shared_ptr<const Machine> machine;
};

/// `^` or `$` of a regular expression. Regex.cpp removes them all.
struct Anchor {
  bool isEnd = false;
};

struct Expression {
  std::variant<Literal, Character, Sequence, Choice, Repeat, Reference,
               Separated, Regular, Anchor>
      node;
};

struct Rule {
  /// For messages: a name of a GBNF grammar, a path in a JSON schema.
  std::string name;
  ExpressionPtr body;
  /// For messages: why nothing matches; empty where something may.
  std::string whyEmpty = {};
};

struct Rules {
  std::vector<Rule> rules;
  RuleId root = 0;
  /// Appends a rule without a body, for rules that refer to one another.
  RuleId add(std::string name);
};

ExpressionPtr literal(std::string bytes);
ExpressionPtr character(CodePointSet set);
/// A character of the given ASCII ranges: "09" is a digit, "azAZ" a letter.
ExpressionPtr characterIn(std::string_view bounds);
ExpressionPtr sequence(std::vector<ExpressionPtr> parts);
ExpressionPtr choice(std::vector<ExpressionPtr> alternatives);
ExpressionPtr repeat(ExpressionPtr part, int64_t least,
                     std::optional<int64_t> most);
ExpressionPtr optional(ExpressionPtr part);
ExpressionPtr reference(RuleId rule);
ExpressionPtr separated(Separated items);
ExpressionPtr regular(std::shared_ptr<const Machine> machine);
/// Matches nothing, not even the empty text.
ExpressionPtr nothing();

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_EXPRESSION_H
