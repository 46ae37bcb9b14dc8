#include "compiler/import/Entries.h"

#include "llvm/ADT/StringExtras.h"

namespace recipec::importer {
namespace {

class EntryReader {
public:
  EntryReader(const ast::File& file, const SourceMap& sources)
      : file(file), sources(sources) {}

  void read(const std::string& key, ast::ExprId id) {
    const ast::Expr& expr = file[id];
    if (auto* record = std::get_if<ast::RecordExpr>(&expr.node))
      readRecord(key, file[record->body]);
    else if (auto* list = std::get_if<ast::ListExpr>(&expr.node))
      readList(key, *list, expr.range);
    else
      entries.push_back({key, scalar(expr), false, expr.range});
  }

  std::vector<Entry> entries;

private:
  void readRecord(const std::string& key, const ast::Body& body) {
    const std::string prefix = key.empty() ? "" : key + ".";
    for (const ast::Item& item : body.items)
      if (auto* entry = std::get_if<ast::Assignment>(&item.node))
        read(prefix + entry->path[0].text, entry->value);
  }

  void readList(const std::string& key, const ast::ListExpr& list,
                SourceRange range) {
    Entry entry{key, {}, true, range};
    for (size_t i = 0; i < list.elements.size(); ++i) {
      const ast::Expr& element = file[list.elements[i]];
      if (isScalar(element))
        for (const std::string& value : scalar(element))
          entry.values.push_back(value);
      else
        read(key + "." + std::to_string(i), list.elements[i]);
    }
    if (!entry.values.empty())
      entries.push_back(std::move(entry));
  }

  static bool isScalar(const ast::Expr& expr) {
    return !std::holds_alternative<ast::RecordExpr>(expr.node) &&
           !std::holds_alternative<ast::ListExpr>(expr.node);
  }

  /// The text of a scalar; empty for null.
  std::vector<std::string> scalar(const ast::Expr& expr) const {
    if (auto* text = std::get_if<ast::StringLiteral>(&expr.node))
      return {text->texts[0]};
    if (auto* keyword = std::get_if<ast::KeywordLiteral>(&expr.node);
        keyword && keyword->which == ast::KeywordLiteral::Which::none)
      return {};
    return {std::string(sources.text(expr.range))};
  }

  const ast::File& file;
  const SourceMap& sources;
};

} // namespace

std::string Entry::written() const {
  const std::string text = llvm::join(values, ", ");
  if (isList)
    return key + " = [" + text + "]";
  return key + " = " + (values.empty() ? "null" : text);
}

std::vector<Entry> entriesOf(const ast::File& data, const SourceMap& sources) {
  EntryReader reader(data, sources);
  for (const ast::Declaration& declaration : data.declarations)
    if (auto* let = std::get_if<ast::Let>(&declaration.node))
      reader.read("", let->value);
  return std::move(reader.entries);
}

} // namespace recipec::importer
