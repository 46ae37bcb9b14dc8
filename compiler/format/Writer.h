// Writes a file in the style of Format.h. Private to this folder.
//
// An expression has a flat form on one line unless it holds a multi-line body.
// If the flat form does not fit into the rest of the line, its outermost
// brackets or operators break and its parts are written one after the other.

#ifndef RECIPEC_FORMAT_WRITER_H
#define RECIPEC_FORMAT_WRITER_H

#include "compiler/ast/Ast.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::format {

inline constexpr int lineWidth = 80;
inline constexpr int indentWidth = 2;

/// The width of the text in columns; one column per code point.
int width(std::string_view text);

/// The variables of a `for`, joined: `key, value`.
std::string joined(const std::vector<ast::Name>& variables);

/// The path with dots: `train.steps`.
std::string dotted(const std::vector<ast::Name>& path);

class Writer {
public:
  Writer(const ast::File& file, const SourceMap& sources)
      : file(file), sources(sources) {}

  std::string run();

private:
  using Flat = std::optional<std::string>;

  // ---- Format.cpp: files and declarations ----
  void declaration(const ast::Declaration& declaration);
  void write(const ast::Import& node);
  void write(const ast::RecipeDecl& node);
  void write(const ast::MixinDecl& node);
  void selection(const std::vector<ast::Selected>& selection);
  void mixins(const std::vector<ast::ExprId>& mixins);
  void write(const ast::SchemaDecl& node);
  void write(const ast::ModelDecl& node);
  void newline(int indent);
  int column() const;
  bool fits(const Flat& text, int reserve) const;
  void leading(const ast::Comments& comments, int indent);
  void trailing(const ast::Comments& comments);
  void verbatim(SourceRange range, int indent);

  // ---- Bodies.cpp: bodies and items ----
  /// The column of the `=` or `{` of each setting, relative to the beginning of
  /// its path; 0 if it follows the path directly.
  using Alignment = std::vector<int>;
  enum class Aligned { no, settings };
  void body(ast::BodyId id, int indent, int reserve,
            Aligned aligned = Aligned::no);
  void items(const ast::Body& body, int indent, Aligned aligned);
  Alignment align(const ast::Body& body, int indent);
  void item(const ast::Item& item, int indent, int nameWidth);
  Flat flat(ast::BodyId id);
  Flat flat(const ast::Item& item);
  void write(const ast::Assignment& node, int indent, int nameWidth);
  void write(const ast::Entry& node, int indent);
  void write(const ast::FieldDecl& node, int indent);
  void write(const ast::Require& node, int indent);
  void write(const ast::Let& node, int indent);
  void write(const ast::For& node, int indent);
  void write(const ast::If& node, int indent);
  void write(const ast::Return& node, int indent);
  void write(const ast::BlockDecl& node, int indent);
  void write(const ast::FunDecl& node, int indent);
  void parameters(const std::vector<ast::Parameter>& parameters, int indent,
                  int reserve);
  /// An expression before the brace of a body. Brackets around it keep that
  /// brace from amending it.
  void header(ast::ExprId id, int indent);
  /// A value after `=`.
  void value(ast::ExprId id, int indent);

  // ---- Expressions.cpp ----
  /// The form on one line; nullopt if there is none.
  Flat flat(ast::ExprId id);
  /// The same, in brackets if the expression binds less strongly than
  /// `strength`.
  Flat flat(ast::ExprId id, int strength);
  std::string flat(ast::TypeId id);
  std::string typeTerm(ast::TypeId id);
  Flat flat(const ast::Argument& argument);
  Flat flat(const ast::Clause& clause);
  Flat flatNode(const ast::Expr& expr);
  /// Writes at the current column. Further lines are indented by `indent`;
  /// `reserve` columns stay free on the last one.
  void write(ast::ExprId id, int indent, int reserve);
  void write(ast::ExprId id, int strength, int indent, int reserve);
  void writeNode(const ast::Expr& expr, int indent, int reserve);
  void bracketed(char open, const std::vector<ast::Argument>& parts, char close,
                 int indent, int reserve);
  void text(std::string_view source, int indent);
  void fill(const std::vector<ast::Argument>& parts, int reserve);
  void argument(const ast::Argument& argument, int indent, int reserve);
  void binary(const ast::Binary& node, int indent, int reserve);
  void conditional(const ast::Conditional& node, int indent, int reserve);
  void comprehension(const ast::Comprehension& node, int indent, int reserve);
  int strength(ast::ExprId id) const;
  bool endsInBody(ast::ExprId id) const;
  bool hasOuterBrace(ast::ExprId id) const;
  std::string literal(const ast::Expr& expr) const;

  const ast::File& file;
  const SourceMap& sources;
  std::string out;
};

} // namespace recipec::format

#endif // RECIPEC_FORMAT_WRITER_H
