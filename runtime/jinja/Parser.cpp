// Statements of a template, by recursive descent; ExpressionParser has the
// expressions.

#include "runtime/jinja/Parser.h"

#include "runtime/jinja/ExpressionParser.h"

#include <algorithm>
#include <array>

namespace reciperun::jinja {
namespace {

using Kind = Token::Kind;

class Parser {
public:
  explicit Parser(std::vector<Token> tokens)
      : cursor(std::move(tokens)), expressions(cursor) {}

  Expected<ast::Body> run() {
    ast::Body body;
    RECIPERUN_TRY(parseBody(body, {}));
    return body;
  }

private:
  using Names = std::vector<std::string_view>;

  /// Parses up to a block that starts with one of `ends`, whose name it leaves
  /// at the cursor; with no ends, up to the end of the template.
  Status parseBody(ast::Body& body, const Names& ends) {
    Nesting nesting(cursor);
    RECIPERUN_TRY(nesting.status());
    const int line = cursor.token().line;
    while (cursor.token().kind != Kind::end) {
      const Token token = cursor.token();
      cursor.next();
      ast::Statement statement{token.line, {}};
      if (token.kind == Kind::text) {
        statement.node = ast::Text{token.text};
      } else if (token.kind == Kind::outputBegin) {
        ast::Output output;
        RECIPERUN_TRY(expressions.tuple(output.value));
        RECIPERUN_TRY(cursor.expect(Kind::outputEnd, "}}"));
        statement.node = std::move(output);
      } else {
        const std::string& name = cursor.token().text;
        if (std::find(ends.begin(), ends.end(), name) != ends.end())
          return {};
        RECIPERUN_TRY(parseBlock(statement));
      }
      body.push_back(std::move(statement));
    }
    if (ends.empty())
      return {};
    return Status::error("line " + std::to_string(line) + ": `{% " +
                         std::string(ends.back()) + " %}` is missing");
  }

  Status endBlock() { return cursor.expect(Kind::blockEnd, "%}"); }

  /// A body and the end of its block: `{% endmacro %}`.
  Status parseBodyTo(ast::Body& body, std::string_view end) {
    RECIPERUN_TRY(parseBody(body, {end}));
    cursor.next();
    if (end == "endmacro" && cursor.token().kind == Kind::name)
      cursor.next(); // the macro's name may stand again
    return endBlock();
  }

  Status parseBlock(ast::Statement& statement) {
    struct Handler {
      std::string_view name;
      Status (Parser::*parse)(ast::Statement&);
    };
    constexpr std::array<Handler, 9> handlers = {{
        {"if", &Parser::parseIf},
        {"for", &Parser::parseFor},
        {"set", &Parser::parseSet},
        {"macro", &Parser::parseMacro},
        {"call", &Parser::parseCall},
        {"filter", &Parser::parseFilter},
        {"generation", &Parser::parseGeneration},
        {"break", &Parser::parseBreak},
        {"continue", &Parser::parseContinue},
    }};
    const Token name = cursor.token();
    for (const Handler& handler : handlers)
      if (name.is(Kind::name, handler.name)) {
        cursor.next();
        return (this->*handler.parse)(statement);
      }
    for (const std::string_view other :
         {"include", "import", "from", "extends", "block"})
      if (name.is(Kind::name, other))
        return cursor.failure("`" + name.text +
                              "` reads other templates, and a chat template "
                              "is one file");
    return cursor.failure("there is no tag `" + name.text + "`");
  }

  Status parseIf(ast::Statement& statement) {
    ast::If node;
    while (true) {
      ast::If::Branch& branch = node.branches.emplace_back();
      RECIPERUN_TRY(expressions.tuple(branch.condition));
      RECIPERUN_TRY(endBlock());
      RECIPERUN_TRY(parseBody(branch.body, {"elif", "else", "endif"}));
      if (!cursor.take(Kind::name, "elif"))
        break;
    }
    if (cursor.take(Kind::name, "else")) {
      RECIPERUN_TRY(endBlock());
      RECIPERUN_TRY(parseBody(node.branches.emplace_back().body, {"endif"}));
    }
    RECIPERUN_TRY(cursor.expect(Kind::name, "endif"));
    statement.node = std::move(node);
    return endBlock();
  }

  Status parseTargets(std::vector<std::string>& targets) {
    const bool hasBrackets = cursor.take(Kind::symbol, "(");
    do
      RECIPERUN_TRY(cursor.takeName(targets.emplace_back()));
    while (cursor.take(Kind::symbol, ","));
    return hasBrackets ? cursor.expect(Kind::symbol, ")") : Status::ok();
  }

  Status parseFor(ast::Statement& statement) {
    ast::For node;
    RECIPERUN_TRY(parseTargets(node.targets));
    RECIPERUN_TRY(cursor.expect(Kind::name, "in"));
    // An `if` behind the elements filters them; it is no `a if b else c`.
    RECIPERUN_TRY(expressions.unconditional(node.elements));
    if (cursor.take(Kind::name, "if"))
      RECIPERUN_TRY(expressions.expression(node.condition));
    node.isRecursive = cursor.take(Kind::name, "recursive");
    RECIPERUN_TRY(endBlock());
    RECIPERUN_TRY(parseBody(node.body, {"else", "endfor"}));
    if (cursor.take(Kind::name, "else")) {
      RECIPERUN_TRY(endBlock());
      RECIPERUN_TRY(parseBody(node.otherwise, {"endfor"}));
    }
    RECIPERUN_TRY(cursor.expect(Kind::name, "endfor"));
    statement.node = std::move(node);
    return endBlock();
  }

  Status parseSet(ast::Statement& statement) {
    ast::Set node;
    RECIPERUN_TRY(parseTargets(node.targets));
    if (node.targets.size() == 1 && cursor.take(Kind::symbol, "."))
      RECIPERUN_TRY(cursor.takeName(node.attribute));
    if (cursor.take(Kind::symbol, "=")) {
      RECIPERUN_TRY(expressions.tuple(node.value));
      statement.node = std::move(node);
      return endBlock();
    }
    if (node.targets.size() != 1 || !node.attribute.empty())
      return cursor.failure("`set` needs `=` and a value here");
    ast::SetBlock block{node.targets.front(), {}};
    RECIPERUN_TRY(endBlock());
    RECIPERUN_TRY(parseBodyTo(block.body, "endset"));
    statement.node = std::move(block);
    return {};
  }

  Status parseParameters(std::vector<ast::Parameter>& parameters) {
    RECIPERUN_TRY(cursor.expect(Kind::symbol, "("));
    while (!cursor.take(Kind::symbol, ")")) {
      if (!parameters.empty())
        RECIPERUN_TRY(cursor.expect(Kind::symbol, ","));
      if (cursor.take(Kind::symbol, ")"))
        break;
      ast::Parameter& parameter = parameters.emplace_back();
      RECIPERUN_TRY(cursor.takeName(parameter.name));
      if (cursor.take(Kind::symbol, "="))
        RECIPERUN_TRY(expressions.expression(parameter.initial));
    }
    return {};
  }

  Status parseMacro(ast::Statement& statement) {
    ast::Macro node;
    RECIPERUN_TRY(cursor.takeName(node.name));
    RECIPERUN_TRY(parseParameters(node.parameters));
    RECIPERUN_TRY(endBlock());
    RECIPERUN_TRY(parseBodyTo(node.body, "endmacro"));
    statement.node = std::move(node);
    return {};
  }

  Status parseCall(ast::Statement& statement) {
    ast::CallBlock node;
    node.caller.name = "caller";
    if (cursor.token().is(Kind::symbol, "("))
      RECIPERUN_TRY(parseParameters(node.caller.parameters));
    RECIPERUN_TRY(expressions.expression(node.call));
    if (!std::holds_alternative<ast::Call>(node.call->node))
      return cursor.failure("`call` needs a call of a macro");
    RECIPERUN_TRY(endBlock());
    RECIPERUN_TRY(parseBodyTo(node.caller.body, "endcall"));
    statement.node = std::move(node);
    return {};
  }

  Status parseFilter(ast::Statement& statement) {
    ast::FilterBlock node;
    RECIPERUN_TRY(cursor.takeName(node.name));
    if (cursor.take(Kind::symbol, "("))
      RECIPERUN_TRY(expressions.arguments(node.arguments));
    RECIPERUN_TRY(endBlock());
    RECIPERUN_TRY(parseBodyTo(node.body, "endfilter"));
    statement.node = std::move(node);
    return {};
  }

  /// `{% generation %}` marks an assistant's text for training.
  Status parseGeneration(ast::Statement& statement) {
    ast::Block node;
    RECIPERUN_TRY(endBlock());
    RECIPERUN_TRY(parseBodyTo(node.body, "endgeneration"));
    statement.node = std::move(node);
    return {};
  }

  Status parseBreak(ast::Statement& statement) {
    statement.node = ast::Break{};
    return endBlock();
  }

  Status parseContinue(ast::Statement& statement) {
    statement.node = ast::Continue{};
    return endBlock();
  }

  TokenCursor cursor;
  ExpressionParser expressions;
};

} // namespace

Expected<ast::Body> parse(std::string_view source) {
  Expected<std::vector<Token>> tokens = tokenize(source);
  RECIPERUN_TRY(tokens);
  return Parser(*std::move(tokens)).run();
}

} // namespace reciperun::jinja
