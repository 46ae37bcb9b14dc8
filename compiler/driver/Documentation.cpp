// Writes GitHub Markdown; see Documentation.h.
//
// A declaration is a heading with its signature as written, its text, and its
// contents below: fields as a table, conditions and blocks as lists. A default
// that is too long for the table goes into a list below it.

#include "compiler/driver/Documentation.h"

#include "compiler/base/Text.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <iterator>

namespace recipec::driver {
namespace {

constexpr std::string_view docMark = "##";
/// The longest default in a cell of the table.
constexpr size_t longestDefault = 72;

/// The text of a comment line without its `marks` and the space after them.
std::string stripped(std::string_view line, size_t marks) {
  line.remove_prefix(std::min(marks, line.size()));
  if (line.starts_with(' '))
    line.remove_prefix(1);
  return std::string(line);
}

/// Encloses text in enough backticks. Empty text stays empty.
std::string code(std::string_view text) {
  std::string line = onOneLine(text);
  if (line.empty())
    return line;
  bool hasTick = line.find('`') != std::string::npos;
  return hasTick ? "`` " + line + " ``" : "`" + line + "`";
}

/// The text of a message literal without its quotation marks and the
/// backslashes before inner quotation marks.
std::string messageText(std::string_view literal) {
  for (std::string_view quotes : {"\"\"\"", "\""}) {
    bool isQuoted = literal.size() >= 2 * quotes.size() &&
                    literal.starts_with(quotes) && literal.ends_with(quotes);
    if (!isQuoted)
      continue;
    literal.remove_prefix(quotes.size());
    literal.remove_suffix(quotes.size());
    std::string text = onOneLine(literal);
    for (size_t at = 0; (at = text.find("\\\"", at)) != std::string::npos; ++at)
      text.erase(at, 1);
    return text;
  }
  return code(literal);
}

/// Escapes bars, which end a table cell even between backticks.
std::string cell(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '|')
      result += '\\';
    result += c;
  }
  return result;
}

std::string joined(const std::vector<std::string>& lines,
                   std::string_view separator) {
  std::string text;
  for (const std::string& line : lines) {
    text += text.empty() ? "" : separator;
    text += line;
  }
  return text;
}

/// The name that a declaration declares; nullptr for an import.
const ast::Name* nameOf(const ast::Declaration& declaration) {
  return std::visit(
      [](const auto& node) -> const ast::Name* {
        if constexpr (requires { node.name; })
          return &node.name;
        else
          return nullptr;
      },
      declaration.node);
}

class MarkdownWriter {
public:
  MarkdownWriter(const ast::File& file, const SourceMap& sources, int level)
      : file(file), sources(sources), level(level) {}

  std::string run() {
    heading(level, std::string(sources.name(file.source)));
    paragraph(headerLines());
    for (const ast::Declaration& declaration : file.declarations)
      add(declaration);
    return std::move(out);
  }

  /// Empty if the file does not declare the name.
  std::string run(std::string_view name) {
    for (const ast::Declaration& declaration : file.declarations)
      if (const ast::Name* made = nameOf(declaration);
          made && made->text == name)
        add(declaration);
    return std::move(out);
  }

  /// Empty if no schema of that name has the field.
  std::string runField(std::string_view schema, std::string_view name) {
    for (const ast::Declaration& declaration : file.declarations) {
      auto* node = std::get_if<ast::SchemaDecl>(&declaration.node);
      if (!node || node->name.text != schema)
        continue;
      for (const ast::Item& item : file[node->body].items)
        if (auto* field = std::get_if<ast::FieldDecl>(&item.node);
            field && field->name.text == name)
          addField(file[node->body], *field, item, schema);
    }
    return std::move(out);
  }

private:
  void addField(const ast::Body& body, const ast::FieldDecl& field,
                const ast::Item& item, std::string_view schema) {
    std::string type(sources.text(file[field.type].range));
    heading(level + 1, "`" + std::string(schema) + "." + field.name.text +
                           " : " + onOneLine(type) + "`");
    paragraph(docLines(item.comments));
    std::string value = defaultText(body, field.defaultValue);
    if (field.isFixed)
      out += "\nIt is derived and cannot be set.\n";
    else
      out += value.empty() ? "\nIt must be set.\n"
                           : "\nIts default is " + code(value) + ".\n";
    out += "\nA field of `schema " + std::string(schema) + "` in `" +
           std::string(sources.name(file.source)) + "`.\n";
  }

  void add(const ast::Declaration& declaration) {
    std::visit(
        [&](const auto& node) { add(node, declaration, declaration.comments); },
        declaration.node);
  }

  std::vector<std::string> headerLines() const {
    std::vector<std::string> lines;
    for (const std::string& line : file.header.leading)
      lines.push_back(stripped(line, line.starts_with(docMark) ? 2 : 1));
    return lines;
  }

  void heading(int depth, const std::string& text) {
    if (!out.empty())
      out += '\n';
    out += std::string(size_t(depth), '#') + " " + text + "\n";
  }

  void paragraph(const std::vector<std::string>& lines) {
    if (!lines.empty())
      out += "\n" + joined(lines, "\n") + "\n";
  }

  std::string textOf(ast::ExprId id) const {
    return std::string(sources.text(file[id].range));
  }

  /// The text from the first character to `end`, without the `=` before `end`.
  std::string signature(SourceRange whole, uint32_t end) const {
    SourceRange range{whole.source, whole.begin, end};
    std::string text = onOneLine(sources.text(range));
    if (text.ends_with(" ="))
      text.resize(text.size() - 2);
    return text;
  }
  std::string signature(SourceRange whole, ast::ExprId value) const {
    return signature(whole, file[value].range.begin);
  }
  std::string signature(SourceRange whole, ast::BodyId body) const {
    return signature(whole, body == ast::BodyId::none ? whole.end
                                                      : file[body].range.begin);
  }

  // ---- bodies

  /// The default of a field. If it is the name of a `let` in the body, the
  /// value of the `let`. Empty if there is none.
  std::string defaultText(const ast::Body& body, ast::ExprId value) const {
    if (value == ast::ExprId::none)
      return "";
    if (auto* reference = std::get_if<ast::NameRef>(&file[value].node))
      for (const ast::Item& item : body.items)
        if (auto* let = std::get_if<ast::Let>(&item.node))
          if (let->name.text == reference->name.text)
            return onOneLine(textOf(let->value));
    return onOneLine(textOf(value));
  }

  void fieldTable(const ast::Body& body) {
    bool hasHeader = false, hasLong = false;
    std::string longOnes;
    for (const ast::Item& item : body.items) {
      auto* field = std::get_if<ast::FieldDecl>(&item.node);
      if (!field)
        continue;
      if (!hasHeader)
        out += "\n| field | type | default | |\n|---|---|---|---|\n";
      hasHeader = true;
      std::string text = defaultText(body, field->defaultValue);
      std::string value = code(text);
      if (text.size() > longestDefault) {
        longOnes += (hasLong ? "- `" : "\n- `") + field->name.text + "` is " +
                    value + "\n";
        hasLong = true;
        value = "see below";
      }
      if (field->isFixed)
        value = value.empty() ? "fixed" : "fixed: " + value;
      else if (value.empty())
        value = "required";
      out += "| `" + field->name.text + "` | " +
             cell(code(sources.text(file[field->type].range))) + " | " +
             cell(value) + " | " + cell(joined(docLines(item.comments), " ")) +
             " |\n";
    }
    out += longOnes;
  }

  void listItem(bool& hasItems, const std::string& text) {
    out += (hasItems ? "- " : "\n- ") + text + "\n";
    hasItems = true;
  }

  void conditionList(const ast::Body& body) {
    bool hasItems = false;
    for (const ast::Item& item : body.items) {
      auto* require = std::get_if<ast::Require>(&item.node);
      if (!require)
        continue;
      bool hasMessage = require->message != ast::ExprId::none;
      listItem(hasItems,
               hasMessage ? "refused: " + messageText(textOf(require->message))
                          : "requires " + code(textOf(require->condition)));
    }
  }

  /// Lists the blocks and functions of a body.
  void callableList(const ast::Body& body) {
    bool hasItems = false;
    for (const ast::Item& item : body.items) {
      std::string head;
      if (auto* block = std::get_if<ast::BlockDecl>(&item.node))
        head = signature(item.range, block->body);
      else if (auto* function = std::get_if<ast::FunDecl>(&item.node))
        head = functionSignature(*function, item.range);
      else
        continue;
      std::string text = joined(docLines(item.comments), " ");
      listItem(hasItems, "`" + head + "`" + (text.empty() ? "" : ": " + text));
    }
  }

  /// The settings of a recipe or mixin, as written.
  void source(const ast::Body& body) {
    out += "\n```\n" + std::string(sources.text(body.range)) + "\n```\n";
  }

  std::string functionSignature(const ast::FunDecl& node,
                                SourceRange range) const {
    return node.value != ast::ExprId::none ? signature(range, node.value)
                                           : signature(range, node.body);
  }

  // ---- declarations

  void begin(const std::string& title, const ast::Comments& comments) {
    heading(level + 1, "`" + title + "`");
    paragraph(docLines(comments));
  }

  void add(const ast::Import&, const ast::Declaration&, const ast::Comments&) {}
  void add(const ast::RecipeDecl& node, const ast::Declaration& declaration,
           const ast::Comments& comments) {
    begin(signature(declaration.range, node.body), comments);
    source(file[node.body]);
  }
  void add(const ast::MixinDecl& node, const ast::Declaration& declaration,
           const ast::Comments& comments) {
    begin(signature(declaration.range, node.body), comments);
    source(file[node.body]);
  }
  void add(const ast::SchemaDecl& node, const ast::Declaration& declaration,
           const ast::Comments& comments) {
    addRecord(node.body, declaration, comments);
  }
  void add(const ast::ModelDecl& node, const ast::Declaration& declaration,
           const ast::Comments& comments) {
    addRecord(node.body, declaration, comments);
  }
  void addRecord(ast::BodyId body, const ast::Declaration& declaration,
                 const ast::Comments& comments) {
    begin(signature(declaration.range, body), comments);
    fieldTable(file[body]);
    conditionList(file[body]);
    callableList(file[body]);
  }
  void add(const ast::Let& node, const ast::Declaration& declaration,
           const ast::Comments& comments) {
    begin(signature(declaration.range, node.value), comments);
    out += "\n```\n" + textOf(node.value) + "\n```\n";
  }
  void add(const ast::BlockDecl& node, const ast::Declaration& declaration,
           const ast::Comments& comments) {
    begin(signature(declaration.range, node.body), comments);
  }
  void add(const ast::FunDecl& node, const ast::Declaration& declaration,
           const ast::Comments& comments) {
    begin(functionSignature(node, declaration.range), comments);
  }

  const ast::File& file;
  const SourceMap& sources;
  int level;
  std::string out;
};

} // namespace

std::vector<std::string> docLines(const ast::Comments& comments) {
  std::vector<std::string> lines;
  for (const std::string& line : comments.leading)
    if (line.starts_with(docMark))
      lines.push_back(stripped(line, docMark.size()));
  if (comments.trailing.starts_with(docMark))
    lines.push_back(stripped(comments.trailing, docMark.size()));
  return lines;
}

std::vector<std::string> descriptionLines(const ast::Comments& comments) {
  std::vector<std::string> lines = docLines(comments);
  auto end = std::ranges::find_if(lines, sema::beginsList);
  lines.erase(end, lines.end());
  return lines;
}

std::string fileSummary(const ast::File& file) {
  std::string text;
  for (const std::string& line : file.header.leading) {
    if (line.empty())
      break;
    text += (text.empty() ? "" : " ") +
            stripped(line, line.starts_with(docMark) ? 2 : 1);
  }
  // A sentence begins with a capital letter, so `et al. 2020` does not end one.
  for (size_t i = 0; i + 2 < text.size(); ++i)
    if (text[i] == '.' && text[i + 1] == ' ' &&
        std::isupper(static_cast<unsigned char>(text[i + 2])))
      return text.substr(0, i + 1);
  return text;
}

std::string fileMarkdown(const ast::File& file, const SourceMap& sources,
                         int level) {
  return MarkdownWriter(file, sources, level).run();
}

std::string fieldMarkdown(const ast::File& file, const SourceMap& sources,
                          std::string_view name, std::string_view field) {
  return MarkdownWriter(file, sources, 0).runField(name, field);
}

std::string declarationMarkdown(const ast::File& file, const SourceMap& sources,
                                std::string_view name) {
  return MarkdownWriter(file, sources, 0).run(name);
}

} // namespace recipec::driver
