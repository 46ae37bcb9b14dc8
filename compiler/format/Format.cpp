// Files, declarations, comments and lines.

#include "compiler/format/Format.h"

#include "compiler/base/Utf8.h"
#include "compiler/format/Writer.h"

#include <algorithm>
#include <utility>

namespace recipec::format {

std::string format(const ast::File& file, const SourceMap& sources) {
  return Writer(file, sources).run();
}

int width(std::string_view text) {
  return int(countCodePoints(text));
}

// ---- lines

void Writer::newline(int indent) {
  while (out.ends_with(' '))
    out.pop_back();
  out += '\n';
  out.append(size_t(indent), ' ');
}

int Writer::column() const {
  size_t begin = out.rfind('\n');
  begin = begin == std::string::npos ? 0 : begin + 1;
  return width(std::string_view(out).substr(begin));
}

bool Writer::fits(const Flat& text, int reserve) const {
  return text && column() + width(*text) + reserve <= lineWidth;
}

/// Writes the comments before an item, each on its line.
void Writer::leading(const ast::Comments& comments, int indent) {
  for (const std::string& text : comments.leading) {
    out += text;
    newline(indent);
  }
}

void Writer::trailing(const ast::Comments& comments) {
  if (!comments.trailing.empty())
    out += "  " + comments.trailing;
}

/// Copies the source. All lines move by as many columns as the first one.
void Writer::verbatim(SourceRange range, int indent) {
  std::string_view text = sources.text(range);
  int line = sources.lineColumn(range.source, range.begin).line;
  std::string_view first = sources.lineText(range.source, line);
  int oldIndent = int(std::min(first.find_first_not_of(" \t"), first.size()));
  while (true) {
    size_t end = text.find('\n');
    std::string_view part = text.substr(0, end);
    while (part.ends_with(' ') || part.ends_with('\t') || part.ends_with('\r'))
      part.remove_suffix(1);
    out += part;
    if (end == std::string_view::npos)
      return;
    text.remove_prefix(end + 1);
    int spaces = int(std::min(text.find_first_not_of(" \t"), text.size()));
    text.remove_prefix(size_t(spaces));
    newline(std::max(0, spaces - oldIndent + indent));
  }
}

// ---- files

std::string Writer::run() {
  std::string result;
  auto flush = [&] {
    result += std::exchange(out, {});
    result += '\n';
  };
  if (!file.header.leading.empty()) {
    leading(file.header, 0);
    out.pop_back();
    flush();
  }
  // A blank line separates declarations of several lines from their neighbours.
  bool lastStoodApart = !file.header.leading.empty();
  bool isFirst = result.empty();
  for (const ast::Declaration& node : file.declarations) {
    leading(node.comments, 0);
    size_t begin = out.size();
    declaration(node);
    bool standsApart = out.find('\n', begin) != std::string::npos;
    bool wantsBlankLine =
        standsApart || lastStoodApart || node.comments.blankLineBefore;
    if (!isFirst && wantsBlankLine)
      result += '\n';
    isFirst = false;
    lastStoodApart = standsApart;
    flush();
  }
  if (!file.closing.leading.empty()) {
    if (!isFirst && file.closing.blankLineBefore)
      result += '\n';
    ast::Comments closing = file.closing;
    while (closing.leading.back().empty())
      closing.leading.pop_back();
    leading(closing, 0);
    out.pop_back();
    flush();
  }
  return result;
}

/// Writes the declaration and the comment after it.
void Writer::declaration(const ast::Declaration& declaration) {
  if (declaration.comments.inner) {
    verbatim(declaration.range, 0);
  } else {
    std::visit(
        [&](const auto& node) {
          if constexpr (requires { write(node, 0); })
            write(node, 0);
          else
            write(node);
        },
        declaration.node);
  }
  trailing(declaration.comments);
}

void Writer::write(const ast::Import& node) {
  out += "import ";
  // A quoted path keeps its quotes and escapes.
  out += node.path.empty() ? std::string(sources.text(node.targetRange))
                           : dotted(node.path);
  if (node.alias)
    out += " as " + node.alias->text;
  if (node.selection)
    selection(*node.selection);
}

void Writer::selection(const std::vector<ast::Selected>& selection) {
  std::vector<std::string> parts;
  std::string whole = " {";
  for (const ast::Selected& part : selection) {
    parts.push_back(part.name.text +
                    (part.alias ? " as " + part.alias->text : ""));
    whole += (parts.size() > 1 ? ", " : " ") + parts.back();
  }
  whole += parts.empty() ? "}" : " }";
  if (fits(whole, 0)) {
    out += whole;
    return;
  }
  out += " {";
  for (const std::string& part : parts) {
    newline(indentWidth);
    out += part;
  }
  newline(0);
  out += "}";
}

void Writer::write(const ast::RecipeDecl& node) {
  if (node.isAbstract)
    out += "abstract ";
  out += "recipe " + node.name.text + " ";
  if (node.parent != ast::ExprId::none) {
    out += "amends ";
    header(node.parent, 0);
    out += " ";
  }
  if (!node.mixins.empty())
    mixins(node.mixins);
  body(node.body, 0, 0, Aligned::settings);
}

/// Writes the mixins after `recipe NAME amends PARENT`, or on their own lines.
void Writer::mixins(const std::vector<ast::ExprId>& mixins) {
  Flat whole = "with ";
  for (size_t i = 0; i < mixins.size() && whole; ++i) {
    Flat text = flat(mixins[i]);
    if (text && hasOuterBrace(mixins[i]))
      text = "(" + *text + ")";
    whole = text ? Flat(*whole + (i > 0 ? ", " : "") + *text) : std::nullopt;
  }
  if (fits(whole, 2)) {
    out += *whole + " ";
    return;
  }
  newline(2 * indentWidth);
  out += "with ";
  int begin = column();
  for (size_t i = 0; i < mixins.size(); ++i) {
    if (i > 0) {
      out += ",";
      newline(begin);
    }
    header(mixins[i], begin);
  }
  out += " ";
}

void Writer::write(const ast::MixinDecl& node) {
  out += "mixin " + node.name.text;
  if (!node.parameters.empty())
    parameters(node.parameters, 0, 2);
  out += " ";
  body(node.body, 0, 0, Aligned::settings);
}

void Writer::write(const ast::SchemaDecl& node) {
  out += "schema " + node.name.text + " ";
  body(node.body, 0, 0);
}

void Writer::write(const ast::ModelDecl& node) {
  out += "model " + node.name.text + " ";
  body(node.body, 0, 0);
}

} // namespace recipec::format
