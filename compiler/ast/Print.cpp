// Prints the tree: see Print.h.

#include "compiler/ast/Print.h"

#include "compiler/ast/Operators.h"

#include <charconv>

namespace recipec::ast {

namespace {

/// The shortest text that reads back as the same double.
std::string formatDouble(double value) {
  char buffer[32];
  auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

std::string inQuotes(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else
      result += c;
  }
  return result + '"';
}

std::string join(const std::vector<Name>& names, const char* between = ".") {
  std::string result;
  for (const Name& name : names)
    result += (result.empty() ? "" : between) + name.text;
  return result;
}

class Printer {
public:
  Printer(const File& file, const SourceMap& sources)
      : file(file), sources(sources) {}

  std::string run() {
    out = "file\n";
    for (const Declaration& declaration : file.declarations)
      nested([&] {
        std::visit([&](const auto& node) { print(node, declaration.range); },
                   declaration.node);
      });
    return std::move(out);
  }

private:
  template <typename Action> void nested(Action action) {
    ++level;
    action();
    --level;
  }

  std::string place(SourceRange range) const {
    LineColumn begin = sources.lineColumn(range.source, range.begin);
    LineColumn end = sources.lineColumn(range.source, range.end);
    return std::to_string(begin.line) + ":" + std::to_string(begin.column) +
           "-" + std::to_string(end.line) + ":" + std::to_string(end.column);
  }

  void line(std::string_view what, SourceRange range,
            std::string_view text = {}) {
    out += std::string(size_t(level) * 2, ' ');
    out += what;
    out += " " + place(range);
    if (!text.empty())
      (out += " ") += text;
    out += "\n";
  }

  /// Prints a child under its role: `condition`, `default`.
  void child(std::string_view role, ExprId id) {
    if (id == ExprId::none)
      return;
    nested([&] {
      line(role, file[id].range);
      nested([&] { print(id); });
    });
  }
  void child(ExprId id) {
    nested([&] { print(id); });
  }
  void child(TypeId id) {
    if (id != TypeId::none)
      nested([&] { print(id); });
  }
  void child(BodyId id) {
    nested([&] { print(id); });
  }

  void print(ExprId id) {
    const Expr& expr = file[id];
    std::visit([&](const auto& node) { print(node, expr.range); }, expr.node);
  }
  void print(TypeId id) {
    const Type& type = file[id];
    std::visit([&](const auto& node) { print(node, type.range); }, type.node);
  }
  void print(BodyId id) {
    for (const Item& item : file[id].items)
      std::visit([&](const auto& node) { print(node, item.range); }, item.node);
  }

  // ---- declarations and items ----

  void print(const Import& node, SourceRange range) {
    std::string text =
        node.path.empty() ? inQuotes(node.file) : join(node.path);
    if (node.alias)
      text += " as " + node.alias->text;
    line("import", range, text);
    if (node.selection)
      for (const Selected& selected : *node.selection)
        nested([&] {
          line("select", selected.name.range,
               selected.name.text +
                   (selected.alias ? " as " + selected.alias->text : ""));
        });
  }
  void print(const RecipeDecl& node, SourceRange range) {
    line(node.isAbstract ? "abstract recipe" : "recipe", range, node.name.text);
    child("amends", node.parent);
    for (ExprId mixin : node.mixins)
      child("with", mixin);
    child(node.body);
  }
  void print(const MixinDecl& node, SourceRange range) {
    line("mixin", range, node.name.text);
    print(node.parameters);
    child(node.body);
  }
  void print(const SchemaDecl& node, SourceRange range) {
    line("schema", range, node.name.text);
    child(node.body);
  }
  void print(const ModelDecl& node, SourceRange range) {
    line("model", range, node.name.text);
    child(node.body);
  }
  void print(const Let& node, SourceRange range) {
    line("let", range, node.name.text);
    child(node.value);
  }
  void print(const BlockDecl& node, SourceRange range) {
    line(node.body == BodyId::none ? "op" : "block", range, node.name.text);
    print(node.parameters);
    if (node.body != BodyId::none)
      child(node.body);
  }
  void print(const FunDecl& node, SourceRange range) {
    line("fun", range, node.name.text);
    print(node.parameters);
    child(node.result);
    if (node.value != ExprId::none)
      child(node.value);
    else
      child(node.body);
  }
  void print(const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters)
      nested([&] {
        line("parameter", parameter.name.range, parameter.name.text);
        child(parameter.type);
        child("default", parameter.defaultValue);
      });
  }
  void print(const Assignment& node, SourceRange range) {
    bool amends = node.value == ExprId::none;
    line(amends ? "amend" : "set", range, join(node.path));
    if (amends)
      child(node.body);
    else
      child(node.value);
  }
  void print(const Entry& node, SourceRange range) {
    line("entry", range);
    child("key", node.key);
    child(node.value);
  }
  void print(const FieldDecl& node, SourceRange range) {
    line(node.isFixed ? "fixed field" : "field", range, node.name.text);
    child(node.type);
    child("default", node.defaultValue);
  }
  void print(const Require& node, SourceRange range) {
    line("require", range);
    child(node.condition);
    child("message", node.message);
  }
  void print(const For& node, SourceRange range) {
    line("for", range, join(node.variables, ", "));
    child("in", node.source);
    child(node.body);
  }
  void print(const If& node, SourceRange range) {
    line("if", range);
    child("condition", node.condition);
    child(node.thenBody);
    if (node.elseBody == BodyId::none)
      return;
    line("else", file[node.elseBody].range);
    child(node.elseBody);
  }
  void print(const Return& node, SourceRange range) {
    line("return", range);
    child(node.value);
  }

  // ---- types ----

  void print(const NamedType& node, SourceRange range) {
    line("type", range, join(node.path));
  }
  void print(const StringType& node, SourceRange range) {
    line("literal type", range, inQuotes(node.value));
  }
  void print(const IntType& node, SourceRange range) {
    line("literal type", range, std::to_string(node.value));
  }
  void print(const FunctionType& node, SourceRange range) {
    line("function type", range);
    for (TypeId parameter : node.parameters)
      child(parameter);
    nested([&] {
      line("result", file[node.result].range);
      child(node.result);
    });
  }
  void print(const ListType& node, SourceRange range) {
    line("list type", range);
    child(node.element);
  }
  void print(const MapType& node, SourceRange range) {
    line("map type", range);
    child(node.key);
    child(node.value);
  }
  void print(const UnionType& node, SourceRange range) {
    line("union type", range);
    for (TypeId member : node.members)
      child(member);
  }

  // ---- expressions ----

  void print(const KeywordLiteral& node, SourceRange range) {
    line("keyword", range, spelling(node.which));
  }
  void print(const IntLiteral& node, SourceRange range) {
    line("int", range, std::to_string(node.value));
  }
  void print(const FloatLiteral& node, SourceRange range) {
    line("float", range, formatDouble(node.value));
  }
  void print(const QuantityLiteral& node, SourceRange range) {
    line("quantity", range, formatDouble(node.value) + " " + node.unit.text);
  }
  void print(const StringLiteral& node, SourceRange range) {
    std::string text = inQuotes(node.texts[0]);
    for (size_t i = 1; i < node.texts.size(); ++i)
      text += " {} " + inQuotes(node.texts[i]);
    line("string", range, text);
    for (ExprId hole : node.holes)
      child(hole);
  }
  void print(const NameRef& node, SourceRange range) {
    line("name", range, node.name.text);
  }
  void print(const Member& node, SourceRange range) {
    line("member", range, node.member.text);
    child(node.base);
  }
  void print(const Index& node, SourceRange range) {
    line("index", range);
    child(node.base);
    child(node.index);
  }
  void print(const Call& node, SourceRange range) {
    line("call", range);
    child(node.callee);
    for (const Argument& argument : node.arguments) {
      if (argument.name)
        child(argument.name->text + " =", argument.value);
      else
        child(argument.value);
    }
  }
  void print(const Amend& node, SourceRange range) {
    line("amended", range);
    child(node.base);
    child(node.body);
  }
  void print(const ListExpr& node, SourceRange range) {
    line("list", range);
    for (ExprId element : node.elements)
      child(element);
  }
  void print(const Comprehension& node, SourceRange range) {
    line("comprehension", range);
    child(node.element);
    for (const Clause& clause : node.clauses)
      nested([&] {
        line("for", clause.variables[0].range, join(clause.variables, ", "));
        child("in", clause.source);
        child("if", clause.condition);
      });
  }
  void print(const Unary& node, SourceRange range) {
    line("unary", range, spelling(node.op));
    child(node.operand);
  }
  void print(const Binary& node, SourceRange range) {
    line("binary", range, spelling(node.op));
    child(node.left);
    child(node.right);
  }
  void print(const TypeTest& node, SourceRange range) {
    line("is", range);
    child(node.operand);
    child(node.type);
  }
  void print(const Conditional& node, SourceRange range) {
    line("conditional", range);
    child("if", node.condition);
    child("then", node.thenValue);
    child("else", node.elseValue);
  }
  void print(const RecordExpr& node, SourceRange range) {
    line("record", range);
    child(node.body);
  }

  const File& file;
  const SourceMap& sources;
  std::string out;
  int level = 0;
};

} // namespace

std::string print(const File& file, const SourceMap& sources) {
  return Printer(file, sources).run();
}

} // namespace recipec::ast
