// Parse tree to Ast. Private to this folder.
//
// One Transformer builds one ast::File. Declarations.cpp holds the declarations
// of a file, Items.cpp the items between braces, Expressions.cpp operators and
// types, Literals.cpp numbers and strings. Contexts with an error yield no
// node, because the error strategy has reported them.

#ifndef RECIPEC_PARSE_TRANSFORMER_H
#define RECIPEC_PARSE_TRANSFORMER_H

#include "compiler/ast/Ast.h"
#include "compiler/parse/Comments.h"
#include "compiler/parse/Parse.h"
#include "compiler/parse/ParserRun.h"

#include <optional>
#include <string>
#include <vector>

namespace recipec::parse {

/// The owner of a body, which determines the items that the body may hold.
enum class BodyKind {
  recipe,   // of a recipe or mixin
  settings, // of any record
  entries,  // of `for` and `if` in a map
  schema,
  model,
  block,
  function,
};

class Transformer {
public:
  /// Interpolations take their tokens from `budget`.
  Transformer(const SourceMap& sources, const TokenList& list, ast::File& file,
              TokenBudget& budget, diag::Engine& engine)
      : sources(sources), tokens(&list), file(file), budget(budget),
        engine(engine), comments(sources, list) {
    file.source = list.source;
  }

  void transform(Grammar::FileContext* context);
  std::vector<ast::Name> path(Grammar::PathContext* context);
  ast::ExprId expression(Grammar::ExpressionContext* context);

private:
  // ---- source ranges ----
  size_t firstToken(antlr4::ParserRuleContext* context) const;
  size_t lastToken(antlr4::ParserRuleContext* context) const;
  SourceRange range(antlr4::ParserRuleContext* context) const;
  ast::Name name(Grammar::NameContext* context);

  // ---- nodes; depth is the height of the tree below ----
  template <typename Node>
  ast::ExprId makeExpr(Node node, SourceRange range, int depthBelow);
  ast::TypeId makeType(ast::Type type);
  int depthOf(ast::ExprId id) const;
  void reportDepth(SourceRange range);

  // ---- declarations ----
  std::optional<ast::Declaration>
  declaration(Grammar::DeclarationContext* context);
  ast::Import import(Grammar::ImportDeclarationContext* context);
  ast::Selected selected(Grammar::SelectedContext* context);
  ast::MixinDecl mixin(Grammar::MixinDeclarationContext* context);
  ast::RecipeDecl recipe(Grammar::RecipeDeclarationContext* context);
  ast::BlockDecl op(Grammar::OpDeclarationContext* context);

  // ---- items ----
  ast::BodyId body(Grammar::BodyContext* context, BodyKind kind);
  ast::BodyId body(Grammar::HeadedBodyContext* context, BodyKind kind);
  ast::BodyId bodyOf(SourceRange range, Grammar::ItemsContext* context,
                     BodyKind kind);
  ast::BodyId makeBody(ast::Body body, int depth);
  std::optional<ast::Item> item(Grammar::ItemContext* context, BodyKind kind);
  bool setting(Grammar::SettingContext* context, ast::Item& result);
  bool hasErrorOnLine(uint32_t offset) const;
  bool checkPlacement(const ast::Item& item, BodyKind kind);
  ast::FieldDecl fixedField(Grammar::FixedFieldContext* context);
  ast::Require require(Grammar::RequireContext* context);
  ast::Let let(Grammar::LetContext* context);
  ast::FunDecl function(Grammar::FunctionContext* context);
  void checkReturn(const ast::FunDecl& node, SourceRange whole);
  ast::BlockDecl block(Grammar::BlockContext* context);
  ast::For forStatement(Grammar::ForStatementContext* context, BodyKind kind);
  ast::If ifStatement(Grammar::IfStatementContext* context, BodyKind kind);
  std::vector<ast::Name>
  names(const std::vector<Grammar::NameContext*>& contexts);
  std::vector<ast::Parameter> parameters(Grammar::ParametersContext* context);

  // ---- types ----
  ast::TypeId type(Grammar::TypeContext* context);
  void reportTypeArguments(Grammar::TypeTermContext* context);
  ast::TypeId typeTerm(Grammar::TypeTermContext* context);
  ast::IntType intType(Grammar::TypeTermContext* context);
  ast::FunctionType functionType(Grammar::FunctionTypeContext* context);

  // ---- expressions ----
  ast::ExprId conditional(Grammar::ConditionalContext* context);
  ast::ExprId operation(Grammar::OperationContext* context);
  struct OperandList;
  ast::ExprId climb(OperandList& operands, int weakest);
  ast::ExprId typeTest(ast::ExprId operand, OperandList& list);
  void reportChain(size_t first, size_t second);
  /// `range(0, 10, 2)` of `0..10..2`; empty where the operands are not plain.
  std::string joinedComparisons(size_t first, size_t second) const;
  std::string steppedRange(size_t first, size_t second) const;
  ast::ExprId prefixed(OperandList& operands);
  ast::ExprId prefixOperation(OperandList& operands, size_t token);
  ast::ExprId suffixed(Grammar::OperandContext* context);
  ast::ExprId suffix(ast::ExprId base, Grammar::SuffixContext* context);
  ast::Argument argument(Grammar::ArgumentContext* context);
  ast::ExprId primary(Grammar::PrimaryContext* context);
  ast::ExprId list(Grammar::ListContext* context);
  ast::Clause clause(Grammar::ClauseContext* context);

  // ---- literals ----
  ast::ExprId number(Grammar::PrimaryContext* context);
  ast::ExprId percentage(size_t token);
  /// The value of an integer. Reports one that is too large.
  int64_t integer(size_t token);
  double real(SourceRange place, std::string text);
  /// Whether the token after the number at `number` is a unit. Reports one that
  /// is not.
  bool checkUnit(size_t token, size_t number);
  void reportUnit(const ast::Name& unit, size_t number);
  ast::ExprId string(size_t token);
  /// A string that must not have interpolations; `where` describes it in
  /// messages.
  std::string plainString(size_t token, std::string_view where);
  ast::StringLiteral stringParts(size_t token, int& depthBelow);
  struct Quoted;
  Quoted quoted(size_t token);
  void escape(std::string_view text, size_t& at, uint32_t offset,
              std::string& result);
  ast::ExprId interpolation(SourceRange range);

  const SourceMap& sources;
  const TokenList* tokens; // of the text being transformed
  ast::File& file;
  TokenBudget& budget;
  diag::Engine& engine;
  CommentCursor comments;
  std::vector<int> exprDepths; // parallel to file.exprs
  std::vector<int> bodyDepths; // parallel to file.bodies
  int interpolationDepth = 0;
  int prefixDepth = 0; // number of prefix operators around the current node
  bool reportedDepth = false;
};

template <typename Node>
ast::ExprId Transformer::makeExpr(Node node, SourceRange range,
                                  int depthBelow) {
  int depth = depthBelow + 1;
  file.exprs.push_back({range, std::move(node)});
  exprDepths.push_back(depth);
  if (depth > maxExpressionDepth)
    reportDepth(range);
  return ast::ExprId(file.exprs.size() - 1);
}

} // namespace recipec::parse

#endif // RECIPEC_PARSE_TRANSFORMER_H
