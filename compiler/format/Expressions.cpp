// Expressions and types.

#include "compiler/format/Writer.h"

#include "compiler/ast/Operators.h"

#include <algorithm>
#include <cctype>

namespace recipec::format {

// ---- one line

/// The spelling in the source, without surrounding brackets.
std::string Writer::literal(const ast::Expr& expr) const {
  std::string_view text = sources.text(expr.range);
  constexpr std::string_view around = "() \t\r\n";
  bool isString = std::holds_alternative<ast::StringLiteral>(expr.node);
  size_t begin = isString ? text.find('"') : text.find_first_not_of(around);
  size_t end = isString ? text.rfind('"') : text.find_last_not_of(around);
  return std::string(text.substr(begin, end - begin + 1));
}

/// Byte and time units follow their number directly. Counts follow after a
/// space, and so does every unit after a multiplier, because the two would read
/// as one word.
static std::string quantity(std::string_view text,
                            const ast::QuantityLiteral& node) {
  static constexpr std::string_view counts[] = {"step",   "steps", "epoch",
                                                "epochs", "token", "tokens"};
  std::string number(text.substr(0, text.rfind(node.unit.text)));
  while (number.ends_with(' ') || number.ends_with('\t'))
    number.pop_back();
  bool isCount = std::find(std::begin(counts), std::end(counts),
                           node.unit.text) != std::end(counts);
  bool isMultiplied = std::isalpha(static_cast<unsigned char>(number.back()));
  return number + (isCount || isMultiplied ? " " : "") + node.unit.text;
}

std::string Writer::flat(ast::TypeId id) {
  const ast::Type& type = file[id];
  if (const auto* node = std::get_if<ast::NamedType>(&type.node)) {
    std::string result;
    for (const ast::Name& name : node->path)
      result += (result.empty() ? "" : ".") + name.text;
    return result;
  }
  if (std::holds_alternative<ast::StringType>(type.node))
    return std::string(sources.text(type.range));
  if (const auto* node = std::get_if<ast::ListType>(&type.node))
    return "[" + flat(node->element) + "]";
  if (std::holds_alternative<ast::IntType>(type.node))
    return std::string(sources.text(type.range));
  if (const auto* node = std::get_if<ast::MapType>(&type.node))
    return "map[" + flat(node->key) + ", " + flat(node->value) + "]";
  std::string result;
  if (const auto* node = std::get_if<ast::FunctionType>(&type.node)) {
    for (ast::TypeId parameter : node->parameters)
      result += (result.empty() ? "" : ", ") + flat(parameter);
    return "fun(" + result + "): " + typeTerm(node->result);
  }
  for (ast::TypeId member : std::get<ast::UnionType>(type.node).members)
    result += (result.empty() ? "" : " | ") + flat(member);
  return result;
}

/// A type, in brackets if it is a union.
std::string Writer::typeTerm(ast::TypeId id) {
  bool isUnion = std::holds_alternative<ast::UnionType>(file[id].node);
  return isUnion ? "(" + flat(id) + ")" : flat(id);
}

int Writer::strength(ast::ExprId id) const {
  const auto& node = file[id].node;
  if (const auto* binary = std::get_if<ast::Binary>(&node))
    return ast::strength(binary->op);
  if (const auto* unary = std::get_if<ast::Unary>(&node))
    return ast::strength(unary->op);
  if (std::holds_alternative<ast::TypeTest>(node))
    return ast::comparisonStrength;
  if (std::holds_alternative<ast::Conditional>(node))
    return 0;
  return ast::suffixStrength;
}

Writer::Flat Writer::flat(ast::ExprId id) {
  return flatNode(file[id]);
}

Writer::Flat Writer::flat(ast::ExprId id, int needed) {
  Flat text = flat(id);
  if (!text || strength(id) >= needed)
    return text;
  return "(" + *text + ")";
}

Writer::Flat Writer::flat(const ast::Argument& argument) {
  Flat value = flat(argument.value);
  if (!value || !argument.name)
    return value;
  return argument.name->text + " = " + *value;
}

Writer::Flat Writer::flat(const ast::Clause& clause) {
  Flat source = flat(clause.source);
  if (!source)
    return std::nullopt;
  std::string text = "for " + joined(clause.variables) + " in " + *source;
  if (clause.condition == ast::ExprId::none)
    return text;
  Flat condition = flat(clause.condition);
  return condition ? Flat(text + " if " + *condition) : std::nullopt;
}

/// The strength that each operand of an operator needs to go without brackets.
struct Sides {
  int left;
  int right;
};

static Sides sides(ast::BinaryOp op) {
  int own = ast::strength(op);
  return {ast::chains(op) ? own : own + 1, own + 1};
}

/// Joins flat parts; nullopt when one of them has no flat form.
static std::optional<std::string>
concatenate(std::initializer_list<std::optional<std::string>> parts) {
  std::string result;
  for (const auto& part : parts) {
    if (!part)
      return std::nullopt;
    result += *part;
  }
  return result;
}

static std::vector<ast::Argument>
asArguments(const std::vector<ast::ExprId>& values) {
  std::vector<ast::Argument> result;
  for (ast::ExprId value : values)
    result.push_back({std::nullopt, value});
  return result;
}

Writer::Flat Writer::flatNode(const ast::Expr& expr) {
  auto list = [&](const std::vector<ast::Argument>& parts) -> Flat {
    std::string result;
    for (const ast::Argument& part : parts) {
      Flat text = flat(part);
      if (!text)
        return std::nullopt;
      result += (&part == &parts.front() ? "" : ", ") + *text;
    }
    return result;
  };
  struct Visitor {
    Writer& writer;
    const ast::Expr& expr;
    decltype(list)& flatList;

    Flat operator()(const ast::KeywordLiteral& node) {
      return std::string(ast::spelling(node.which));
    }
    Flat operator()(const ast::IntLiteral&) { return writer.literal(expr); }
    Flat operator()(const ast::FloatLiteral&) { return writer.literal(expr); }
    Flat operator()(const ast::StringLiteral&) {
      // A multi-line string keeps its lines.
      std::string text = writer.literal(expr);
      return text.find('\n') == std::string::npos ? Flat(text) : std::nullopt;
    }
    Flat operator()(const ast::QuantityLiteral& node) {
      return quantity(writer.literal(expr), node);
    }
    Flat operator()(const ast::NameRef& node) { return node.name.text; }
    Flat operator()(const ast::Member& node) {
      return concatenate({writer.flat(node.base, ast::suffixStrength),
                          "." + node.member.text});
    }
    Flat operator()(const ast::Index& node) {
      return concatenate({writer.flat(node.base, ast::suffixStrength), "[",
                          writer.flat(node.index), "]"});
    }
    Flat operator()(const ast::Call& node) {
      return concatenate({writer.flat(node.callee, ast::suffixStrength), "(",
                          flatList(node.arguments), ")"});
    }
    Flat operator()(const ast::Amend& node) {
      return concatenate({writer.flat(node.base, ast::suffixStrength), " ",
                          writer.flat(node.body)});
    }
    Flat operator()(const ast::ListExpr& node) {
      return concatenate({"[", flatList(asArguments(node.elements)), "]"});
    }
    Flat operator()(const ast::Comprehension& node) {
      Flat text = concatenate({"[", writer.flat(node.element)});
      for (const ast::Clause& clause : node.clauses)
        text = concatenate({text, " ", writer.flat(clause)});
      return concatenate({text, "]"});
    }
    Flat operator()(const ast::Unary& node) {
      bool isNot = node.op == ast::UnaryOp::logicalNot;
      return concatenate({isNot ? "not " : "-",
                          writer.flat(node.operand, ast::strength(node.op))});
    }
    Flat operator()(const ast::Binary& node) {
      std::string op(ast::spelling(node.op));
      if (node.op != ast::BinaryOp::range)
        op = " " + op + " ";
      return concatenate({writer.flat(node.left, sides(node.op).left), op,
                          writer.flat(node.right, sides(node.op).right)});
    }
    Flat operator()(const ast::TypeTest& node) {
      return concatenate(
          {writer.flat(node.operand, ast::comparisonStrength + 1), " is ",
           writer.typeTerm(node.type)});
    }
    Flat operator()(const ast::Conditional& node) {
      return concatenate({"if ", writer.flat(node.condition, 1), " then ",
                          writer.flat(node.thenValue, 1), " else ",
                          writer.flat(node.elseValue)});
    }
    Flat operator()(const ast::RecordExpr& node) {
      return writer.flat(node.body);
    }
  };
  return std::visit(Visitor{*this, expr, list}, expr.node);
}

/// Writes a string or a multi-line text. The lines of a text and its closing
/// marks move together, which keeps its value.
void Writer::text(std::string_view source, int indent) {
  size_t end = source.find('\n');
  out += source.substr(0, end);
  if (end == std::string_view::npos)
    return;
  while (out.ends_with(' ') || out.ends_with('\t') || out.ends_with('\r'))
    out.pop_back();
  size_t marks = source.rfind('\n') + 1;
  std::string_view old = source.substr(marks, source.find('"', marks) - marks);
  while (end != std::string_view::npos) {
    source.remove_prefix(end + 1);
    end = source.find('\n');
    std::string_view line = source.substr(0, end);
    out += '\n';
    if (!line.starts_with(old)) // blank
      continue;
    line.remove_prefix(old.size());
    if (!line.empty())
      out.append(size_t(indent), ' ');
    out += line;
  }
}

// ---- several lines

void Writer::write(ast::ExprId id, int needed, int indent, int reserve) {
  if (strength(id) >= needed) {
    write(id, indent, reserve);
    return;
  }
  out += "(";
  write(id, indent, reserve + 1);
  out += ")";
}

void Writer::write(ast::ExprId id, int indent, int reserve) {
  if (Flat text = flat(id); fits(text, reserve))
    out += *text;
  else
    writeNode(file[id], indent, reserve);
}

void Writer::writeNode(const ast::Expr& expr, int indent, int reserve) {
  struct Visitor {
    Writer& writer;
    const ast::Expr& expr;
    int indent;
    int reserve;

    void base(ast::ExprId id) {
      writer.write(id, ast::suffixStrength, indent, 2);
    }
    void operator()(const ast::Member& node) {
      base(node.base);
      writer.out += "." + node.member.text;
    }
    void operator()(const ast::Index& node) {
      base(node.base);
      writer.bracketed('[', asArguments({node.index}), ']', indent, reserve);
    }
    void operator()(const ast::Call& node) {
      base(node.callee);
      writer.bracketed('(', node.arguments, ')', indent, reserve);
    }
    void operator()(const ast::Amend& node) {
      base(node.base);
      writer.out += " ";
      writer.body(node.body, indent, reserve, Aligned::settings);
    }
    void operator()(const ast::ListExpr& node) {
      writer.bracketed('[', asArguments(node.elements), ']', indent, reserve);
    }
    void operator()(const ast::Comprehension& node) {
      writer.comprehension(node, indent, reserve);
    }
    void operator()(const ast::Unary& node) {
      bool isNot = node.op == ast::UnaryOp::logicalNot;
      writer.out += isNot ? "not " : "-";
      writer.write(node.operand, ast::strength(node.op), indent, reserve);
    }
    void operator()(const ast::Binary& node) {
      writer.binary(node, indent, reserve);
    }
    void operator()(const ast::TypeTest& node) {
      writer.write(node.operand, ast::comparisonStrength + 1, indent, reserve);
      writer.out += " is " + writer.typeTerm(node.type);
    }
    void operator()(const ast::Conditional& node) {
      writer.conditional(node, indent, reserve);
    }
    void operator()(const ast::RecordExpr& node) {
      writer.body(node.body, indent, reserve, Aligned::settings);
    }
    // Literals and names cannot break, even if they are too long.
    void operator()(const ast::KeywordLiteral&) { atom(); }
    void operator()(const ast::IntLiteral&) { atom(); }
    void operator()(const ast::FloatLiteral&) { atom(); }
    void operator()(const ast::QuantityLiteral&) { atom(); }
    void operator()(const ast::StringLiteral&) {
      writer.text(writer.literal(expr), indent + indentWidth);
    }
    void operator()(const ast::NameRef&) { atom(); }
    void atom() { writer.out += *writer.flatNode(expr); }
  };
  std::visit(Visitor{*this, expr, indent, reserve}, expr.node);
}

void Writer::argument(const ast::Argument& argument, int indent, int reserve) {
  if (argument.name)
    out += argument.name->text + " = ";
  write(argument.value, indent, reserve);
}

/// Whether the expression ends in a body, which can open on one line and close
/// on a later one.
bool Writer::endsInBody(ast::ExprId id) const {
  const auto& node = file[id].node;
  return std::holds_alternative<ast::Amend>(node) ||
         std::holds_alternative<ast::RecordExpr>(node);
}

/// Writes parts in brackets that do not fit on the line:
///   1. fill each line with parts, below the first one; else
///   2. keep all parts but the last on the line if the last ends in a body;
///   else
///   3. write one part a line.
void Writer::bracketed(char open, const std::vector<ast::Argument>& parts,
                       char close, int indent, int reserve) {
  out += open;
  int room = lineWidth - column() - 1 - reserve;
  bool canFill = std::all_of(parts.begin(), parts.end(), [&](const auto& part) {
    Flat text = flat(part);
    return text && width(*text) <= room;
  });
  if (canFill) {
    fill(parts, reserve);
    out += close;
    return;
  }
  std::string before;
  bool canHug = endsInBody(parts.back().value);
  for (size_t i = 0; i + 1 < parts.size() && canHug; ++i) {
    Flat text = flat(parts[i]);
    canHug = text.has_value();
    if (canHug)
      before += *text + ", ";
  }
  canHug = canHug && width(before) <= room / 2;
  if (canHug) {
    out += before;
    argument(parts.back(), indent, reserve + 1);
    out += close;
    return;
  }
  for (const ast::Argument& part : parts) {
    newline(indent + indentWidth);
    argument(part, indent + indentWidth, 1);
    out += ",";
  }
  newline(indent);
  out += close;
}

void Writer::fill(const std::vector<ast::Argument>& parts, int reserve) {
  int begin = column();
  for (const ast::Argument& part : parts) {
    Flat text = flat(part);
    bool isFirst = &part == &parts.front(), isLast = &part == &parts.back();
    int behind = isLast ? reserve + 1 : 1;
    if (!isFirst && fits(" " + *text, behind))
      out += " ";
    else if (!isFirst)
      newline(begin);
    out += *text + (isLast ? "" : ",");
  }
}

/// Breaks after the operator and aligns the next operand with the first. If the
/// right operand is a call or a list and begins on the line, breaks inside it
/// instead.
void Writer::binary(const ast::Binary& node, int indent, int reserve) {
  int begin = column();
  write(node.left, sides(node.op).left, indent,
        1 + int(ast::spelling(node.op).size()));
  bool isRange = node.op == ast::BinaryOp::range;
  out += (isRange ? "" : " ") + std::string(ast::spelling(node.op));
  int rightStrength = sides(node.op).right;
  Flat right = flat(node.right, rightStrength);
  bool breaksInside =
      std::holds_alternative<ast::Call>(file[node.right].node) ||
      std::holds_alternative<ast::ListExpr>(file[node.right].node) ||
      endsInBody(node.right);
  bool fitsBelow = right && begin + width(*right) + reserve <= lineWidth;
  if (isRange) {
    write(node.right, rightStrength, indent, reserve);
  } else if (fits(right, reserve + 1) || (breaksInside && !fitsBelow)) {
    out += " ";
    write(node.right, rightStrength, indent, reserve);
  } else {
    newline(begin);
    write(node.right, rightStrength, indent, reserve);
  }
}

void Writer::conditional(const ast::Conditional& node, int indent,
                         int reserve) {
  int begin = column();
  size_t start = out.size();
  out += "if ";
  write(node.condition, 1, indent, 5);
  out += " then ";
  write(node.thenValue, 1, indent, 0);
  // `else` follows a multi-line body on its last line; otherwise it goes below
  // `if`.
  bool isBehindBody = endsInBody(node.thenValue) && out.ends_with('}') &&
                      out.find('\n', start) != std::string::npos;
  if (isBehindBody)
    out += " ";
  else
    newline(begin);
  out += "else ";
  write(node.elseValue, indent, reserve);
}

void Writer::comprehension(const ast::Comprehension& node, int indent,
                           int reserve) {
  out += "[";
  int begin = column();
  write(node.element, indent, 0);
  for (const ast::Clause& clause : node.clauses) {
    int behind = &clause == &node.clauses.back() ? reserve + 1 : 0;
    newline(begin);
    if (Flat text = flat(clause); fits(text, behind)) {
      out += *text;
      continue;
    }
    out += "for " + joined(clause.variables) + " in ";
    bool hasCondition = clause.condition != ast::ExprId::none;
    write(clause.source, indent, hasCondition ? 0 : behind);
    if (hasCondition) {
      newline(begin);
      out += "if ";
      write(clause.condition, indent, behind);
    }
  }
  out += "]";
}

/// Whether the expression has a `{` outside of all round and square brackets.
bool Writer::hasOuterBrace(ast::ExprId id) const {
  const auto& node = file[id].node;
  if (const auto* member = std::get_if<ast::Member>(&node))
    return hasOuterBrace(member->base);
  if (const auto* index = std::get_if<ast::Index>(&node))
    return hasOuterBrace(index->base);
  if (const auto* call = std::get_if<ast::Call>(&node))
    return hasOuterBrace(call->callee);
  if (const auto* unary = std::get_if<ast::Unary>(&node))
    return hasOuterBrace(unary->operand);
  if (const auto* test = std::get_if<ast::TypeTest>(&node))
    return hasOuterBrace(test->operand);
  if (const auto* binary = std::get_if<ast::Binary>(&node))
    return hasOuterBrace(binary->left) || hasOuterBrace(binary->right);
  if (const auto* choice = std::get_if<ast::Conditional>(&node))
    return hasOuterBrace(choice->condition) ||
           hasOuterBrace(choice->thenValue) || hasOuterBrace(choice->elseValue);
  return endsInBody(id);
}

} // namespace recipec::format
