// Bodies and items.

#include "compiler/format/Writer.h"

#include <algorithm>

namespace recipec::format {

static std::string join(const std::vector<ast::Name>& path) {
  std::string result;
  for (const ast::Name& name : path)
    result += (result.empty() ? "" : ".") + name.text;
  return result;
}

std::string joined(const std::vector<ast::Name>& variables) {
  std::string result;
  for (const ast::Name& name : variables)
    result += (result.empty() ? "" : ", ") + name.text;
  return result;
}

// ---- bodies -----------------------------------------------------------------

Writer::Flat Writer::flat(ast::BodyId id) {
  const ast::Body& body = file[id];
  if (body.items.empty() && body.closing.leading.empty())
    return "{}";
  if (!body.oneLine)
    return std::nullopt;
  std::string result = "{ ";
  for (const ast::Item& item : body.items) {
    Flat text = flat(item);
    if (!text)
      return std::nullopt;
    result += (result.size() > 2 ? ", " : "") + *text;
  }
  return result + " }";
}

void Writer::body(ast::BodyId id, int indent, int reserve, Aligned aligned) {
  if (Flat text = flat(id); fits(text, reserve)) {
    out += *text;
    return;
  }
  const ast::Body& node = file[id];
  out += "{";
  items(node, indent + indentWidth, aligned);
  newline(indent);
  out += "}";
}

void Writer::items(const ast::Body& body, int indent, Aligned aligned) {
  Alignment alignment(body.items.size(), 0);
  if (aligned == Aligned::settings)
    alignment = align(body, indent);
  for (size_t i = 0; i < body.items.size(); ++i) {
    const ast::Item& node = body.items[i];
    if (i > 0 && node.comments.blankLineBefore)
      newline(0);
    newline(indent);
    item(node, indent, alignment[i]);
  }
  if (body.closing.leading.empty())
    return;
  if (!body.items.empty() && body.closing.blankLineBefore)
    newline(0);
  ast::Comments closing = body.closing;
  while (closing.leading.back().empty())
    closing.leading.pop_back();
  newline(indent);
  leading(closing, indent);
  // The last comment has begun a new line already.
  out.erase(out.rfind('\n'));
}

/// Settings of one kind on neighbouring lines, each short enough for its line,
/// have their `=` or `{` in one column.
Writer::Alignment Writer::align(const ast::Body& body, int indent) {
  Alignment result(body.items.size(), 0);
  enum class Sort { none, value, body };
  auto sortOf = [&](const ast::Item& item) {
    const auto* node = std::get_if<ast::Assignment>(&item.node);
    bool isShort = node && !item.comments.inner && flat(item) &&
                   indent + width(*flat(item)) <= lineWidth;
    if (!isShort)
      return Sort::none;
    return node->value == ast::ExprId::none ? Sort::body : Sort::value;
  };
  auto nameWidth = [&](size_t i) {
    return width(join(std::get<ast::Assignment>(body.items[i].node).path));
  };
  for (size_t begin = 0; begin < body.items.size();) {
    Sort sort = sortOf(body.items[begin]);
    size_t end = begin + 1;
    while (end < body.items.size() && sort != Sort::none &&
           sortOf(body.items[end]) == sort &&
           body.items[end].comments.leading.empty() &&
           !body.items[end].comments.blankLineBefore)
      ++end;
    int widest = 0;
    if (sort != Sort::none)
      for (size_t i = begin; i < end; ++i)
        widest = std::max(widest, nameWidth(i));
    std::fill(result.begin() + ptrdiff_t(begin),
              result.begin() + ptrdiff_t(end), widest);
    begin = end;
  }
  return result;
}

// ---- items ------------------------------------------------------------------

void Writer::item(const ast::Item& item, int indent, int nameWidth) {
  leading(item.comments, indent);
  if (item.comments.inner) {
    verbatim(item.range, indent);
  } else {
    std::visit(
        [&](const auto& node) {
          if constexpr (requires { write(node, indent, nameWidth); })
            write(node, indent, nameWidth);
          else
            write(node, indent);
        },
        item.node);
  }
  trailing(item.comments);
}

Writer::Flat Writer::flat(const ast::Item& item) {
  if (item.comments.inner)
    return std::nullopt;
  if (const auto* node = std::get_if<ast::Assignment>(&item.node)) {
    bool isBody = node->value == ast::ExprId::none;
    Flat value = isBody ? flat(node->body) : flat(node->value);
    if (!value)
      return std::nullopt;
    return join(node->path) + (isBody ? " " : " = ") + *value;
  }
  if (const auto* node = std::get_if<ast::Entry>(&item.node)) {
    Flat key = flat(node->key), value = flat(node->value);
    if (!key || !value)
      return std::nullopt;
    return "[" + *key + "] = " + *value;
  }
  if (const auto* node = std::get_if<ast::For>(&item.node)) {
    Flat source = flat(node->source), inner = flat(node->body);
    if (!source || !inner || hasOuterBrace(node->source))
      return std::nullopt;
    return "for " + joined(node->variables) + " in " + *source + " " + *inner;
  }
  if (const auto* node = std::get_if<ast::Return>(&item.node)) {
    Flat value = flat(node->value);
    if (!value)
      return std::nullopt;
    return "return " + *value;
  }
  if (const auto* node = std::get_if<ast::Let>(&item.node)) {
    Flat value = flat(node->value);
    if (!value)
      return std::nullopt;
    return "let " + node->name.text + " = " + *value;
  }
  if (const auto* node = std::get_if<ast::FieldDecl>(&item.node)) {
    std::string result = (node->isFixed ? "fixed " : "") + node->name.text +
                         " : " + flat(node->type);
    if (node->defaultValue == ast::ExprId::none)
      return result;
    Flat value = flat(node->defaultValue);
    if (!value)
      return std::nullopt;
    return result + " = " + *value;
  }
  return std::nullopt;
}

void Writer::value(ast::ExprId id, int indent) {
  write(id, indent, 0);
}

void Writer::write(const ast::Assignment& node, int indent, int nameWidth) {
  std::string path = join(node.path);
  out += path;
  out.append(size_t(std::max(0, nameWidth - width(path))), ' ');
  if (node.value == ast::ExprId::none) {
    out += " ";
    body(node.body, indent, 0, Aligned::settings);
    return;
  }
  out += " = ";
  value(node.value, indent);
}

void Writer::write(const ast::Entry& node, int indent) {
  out += "[";
  write(node.key, indent, 3);
  out += "] = ";
  value(node.value, indent);
}

void Writer::write(const ast::FieldDecl& node, int indent) {
  if (node.isFixed)
    out += "fixed ";
  out += node.name.text + " : " + flat(node.type);
  if (node.defaultValue == ast::ExprId::none)
    return;
  out += " = ";
  value(node.defaultValue, indent);
}

void Writer::write(const ast::Require& node, int indent) {
  out += "require ";
  if (node.message == ast::ExprId::none) {
    write(node.condition, indent, 0);
    return;
  }
  write(node.condition, indent, 2);
  out += " :";
  // The message goes to a line of its own rather than breaking.
  Flat message = flat(node.message);
  bool isWrapped = out.rfind("require ") < out.rfind('\n') &&
                   out.rfind('\n') != std::string::npos;
  if (!isWrapped && fits(message, 1))
    out += " ";
  else
    newline(indent + indentWidth);
  write(node.message, indent + indentWidth, 0);
}

void Writer::write(const ast::Let& node, int indent) {
  out += "let " + node.name.text + " = ";
  value(node.value, indent);
}

void Writer::write(const ast::For& node, int indent) {
  out += "for " + joined(node.variables) + " in ";
  header(node.source, indent);
  out += " ";
  body(node.body, indent, 0);
}

void Writer::write(const ast::If& node, int indent) {
  out += "if ";
  header(node.condition, indent);
  out += " ";
  body(node.thenBody, indent, 0);
  if (node.elseBody == ast::BodyId::none)
    return;
  out += " else ";
  const ast::Body& otherwise = file[node.elseBody];
  // `else if` is a body without braces of its own.
  bool isElseIf = otherwise.items.size() == 1 &&
                  otherwise.items[0].range == otherwise.range;
  if (isElseIf)
    write(std::get<ast::If>(otherwise.items[0].node), indent);
  else
    body(node.elseBody, indent, 0);
}

void Writer::write(const ast::Return& node, int indent) {
  out += "return ";
  value(node.value, indent);
}

void Writer::write(const ast::BlockDecl& node, int indent) {
  bool isOp = node.body == ast::BodyId::none;
  out += (isOp ? "op " : "block ") + node.name.text;
  parameters(node.parameters, indent, isOp ? 0 : 2);
  if (isOp)
    return;
  out += " ";
  body(node.body, indent, 0);
}

void Writer::write(const ast::FunDecl& node, int indent) {
  out += "fun " + node.name.text;
  std::string result;
  if (node.result != ast::TypeId::none)
    result = ": " + flat(node.result);
  parameters(node.parameters, indent, width(result) + 2);
  out += result;
  if (node.value == ast::ExprId::none) {
    out += " ";
    body(node.body, indent, 0);
    return;
  }
  out += " = ";
  if (fits(flat(node.value), 0)) {
    write(node.value, indent, 0);
    return;
  }
  newline(indent + 2 * indentWidth);
  write(node.value, indent + 2 * indentWidth, 0);
}

void Writer::parameters(const std::vector<ast::Parameter>& parameters,
                        int indent, int reserve) {
  std::vector<Flat> parts;
  Flat whole = "(";
  for (const ast::Parameter& parameter : parameters) {
    Flat text = parameter.name.text;
    if (parameter.type != ast::TypeId::none)
      *text += ": " + flat(parameter.type);
    if (parameter.defaultValue != ast::ExprId::none) {
      Flat value = flat(parameter.defaultValue);
      text = value ? Flat(*text + " = " + *value) : std::nullopt;
    }
    if (whole && text)
      *whole += (parts.empty() ? "" : ", ") + *text;
    else
      whole = std::nullopt;
    parts.push_back(std::move(text));
  }
  if (whole)
    *whole += ")";
  if (fits(whole, reserve)) {
    out += *whole;
    return;
  }
  out += "(";
  for (size_t i = 0; i < parts.size(); ++i) {
    newline(indent + indentWidth);
    const ast::Parameter& parameter = parameters[i];
    if (parts[i]) {
      out += *parts[i];
    } else {
      out += parameter.name.text;
      if (parameter.type != ast::TypeId::none)
        out += ": " + flat(parameter.type);
      out += " = ";
      write(parameter.defaultValue, indent + indentWidth, 1);
    }
    out += ",";
  }
  newline(indent);
  out += ")";
}

void Writer::header(ast::ExprId id, int indent) {
  bool needsBrackets = hasOuterBrace(id);
  if (needsBrackets)
    out += "(";
  write(id, indent, 2 + (needsBrackets ? 1 : 0));
  if (needsBrackets)
    out += ")";
}

} // namespace recipec::format
