// See Node.h.

#include "compiler/import/manifest/yaml/Node.h"

#include "compiler/import/Rules.h"

#include <array>
#include <charconv>
#include <utility>

namespace recipec::importer::manifest {
namespace {

using Which = ast::KeywordLiteral::Which;

const ast::Assignment* fieldOf(const ast::Item& item) {
  return std::get_if<ast::Assignment>(&item.node);
}

} // namespace

bool Node::isNull() const {
  const auto* keyword = std::get_if<ast::KeywordLiteral>(&(*file)[id].node);
  return keyword && keyword->which == Which::none;
}

bool Node::isTruth() const {
  return is<ast::KeywordLiteral>() && !isNull();
}

bool Node::isTrue() const {
  if (!isTruth())
    return false;
  return std::get<ast::KeywordLiteral>((*file)[id].node).which ==
         Which::trueValue;
}

bool Node::isPlain() const {
  if (!file)
    return false;
  const std::string_view written = sources->text(valueRange());
  return written.empty() || std::string_view("\"'|>").find(written.front()) ==
                                std::string_view::npos;
}

std::string Node::text() const {
  if (!*this || isRecord() || isList())
    return {};
  if (const auto* literal = std::get_if<ast::StringLiteral>(&(*file)[id].node))
    return literal->texts.front();
  return std::string(sources->text(valueRange()));
}

std::optional<int64_t> Node::count() const {
  const std::string digits = text();
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, value);
  if (digits.empty() || error != std::errc() || last != end)
    return std::nullopt;
  return value;
}

Node Node::child(ast::ExprId value, ast::Name name, std::string path) const {
  Node node(*file, *sources, value);
  node.key = std::move(name);
  node.where = std::move(path);
  return node;
}

Node Node::operator[](std::string_view name) const {
  if (!isRecord())
    return {};
  const auto& record = std::get<ast::RecordExpr>((*file)[id].node);
  for (const ast::Item& item : (*file)[record.body].items)
    if (const ast::Assignment* field = fieldOf(item);
        field && field->path[0].text == name)
      return child(field->value, field->path[0],
                   where.empty() ? std::string(name)
                                 : where + "." + std::string(name));
  return {};
}

Node Node::at(std::string_view path) const {
  Node node = *this;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    node = node[path.substr(0, dot)];
    path.remove_prefix(dot == path.npos ? path.size() : dot + 1);
  }
  return node;
}

std::vector<Node> Node::elements() const {
  std::vector<Node> nodes;
  if (!isList())
    return nodes;
  const auto& list = std::get<ast::ListExpr>((*file)[id].node);
  for (size_t i = 0; i < list.elements.size(); ++i)
    nodes.push_back(
        child(list.elements[i], {}, where + "[" + std::to_string(i) + "]"));
  return nodes;
}

std::vector<Node> Node::fields() const {
  std::vector<Node> nodes;
  if (!isRecord())
    return nodes;
  const auto& record = std::get<ast::RecordExpr>((*file)[id].node);
  for (const ast::Item& item : (*file)[record.body].items)
    if (const ast::Assignment* field = fieldOf(item))
      nodes.push_back(child(field->value, field->path[0],
                            where.empty() ? field->path[0].text
                                          : where + "." + field->path[0].text));
  return nodes;
}

SourceRange Node::valueRange() const {
  return file ? (*file)[id].range : SourceRange{};
}

SourceRange Node::range() const {
  if (!file)
    return {};
  if (!isRecord() && !isList() && !isNull())
    return valueRange();
  if (!key.text.empty())
    return key.range;
  const std::vector<Node> inner = fields();
  return inner.empty() ? valueRange() : inner.front().nameRange();
}

std::optional<double> quantityOf(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 12> units = {
      {{"Ki", 0x1p10},
       {"Mi", 0x1p20},
       {"Gi", 0x1p30},
       {"Ti", 0x1p40},
       {"Pi", 0x1p50},
       {"m", 1e-3},
       {"k", 1e3},
       {"M", 1e6},
       {"G", 1e9},
       {"T", 1e12},
       {"P", 1e15},
       {"", 1}}};
  for (const auto& [unit, factor] : units) {
    if (!text.ends_with(unit))
      continue;
    const auto number = numberOf(text.substr(0, text.size() - unit.size()));
    return number && *number >= 0 ? std::optional(*number * factor)
                                  : std::nullopt;
  }
  return std::nullopt;
}

} // namespace recipec::importer::manifest
