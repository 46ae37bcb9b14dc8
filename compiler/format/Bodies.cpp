// Bodies and items.

#include "compiler/format/Writer.h"

#include <algorithm>

namespace recipec::format {

std::string dotted(const std::vector<ast::Name>& path) {
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

// ---- bodies

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
  // The last comment ended with a newline.
  out.erase(out.rfind('\n'));
}

/// Aligns the `=` or `{` of settings of one kind on neighbouring lines, if each
/// setting fits on its line:
///
///   1. Take the settings that fit on their line without alignment.
///   2. Align each run of neighbours of one kind to its longest name.
///   3. A setting that no longer fits splits its run. Begin again there.
Writer::Alignment Writer::align(const ast::Body& body, int indent) {
  enum class Sort { none, value, body };
  struct Line {
    Sort sort = Sort::none;
    int name = 0;
    int rest = 0; // width of the line after the name
  };
  std::vector<Line> lines(body.items.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const ast::Item& item = body.items[i];
    const auto* node = std::get_if<ast::Assignment>(&item.node);
    Flat text = node && !item.comments.inner ? flat(item) : std::nullopt;
    if (!text || indent + width(*text) > lineWidth)
      continue;
    int name = width(dotted(node->path));
    lines[i] = {node->value == ast::ExprId::none ? Sort::body : Sort::value,
                name, width(*text) - name};
  }
  auto continues = [&](size_t i) {
    const ast::Comments& comments = body.items[i].comments;
    return lines[i].sort == lines[i - 1].sort && comments.leading.empty() &&
           !comments.blankLineBefore;
  };
  Alignment result(lines.size(), 0);
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = begin + 1;
    int widest = lines[begin].name;
    for (; end < lines.size() && continues(end); ++end)
      widest = std::max(widest, lines[end].name);
    bool isSplit = false;
    for (size_t i = begin; i < end; ++i)
      if (lines[i].sort != Sort::none &&
          indent + widest + lines[i].rest > lineWidth) {
        lines[i].sort = Sort::none;
        isSplit = true;
      }
    if (isSplit)
      continue;
    std::fill(result.begin() + ptrdiff_t(begin),
              result.begin() + ptrdiff_t(end),
              lines[begin].sort == Sort::none ? 0 : widest);
    begin = end;
  }
  return result;
}

// ---- items

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
    return dotted(node->path) + (isBody ? " " : " = ") + *value;
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
  std::string path = dotted(node.path);
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
  // The message moves to its own line instead of breaking.
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
  // `else if` is a body without its own braces.
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
