// What the `##` comments of declarations say; see Comments.h.

#include "compiler/sema/values/Comments.h"

namespace recipec::sema {
namespace {

constexpr std::string_view beginning = "Also known as ";

/// The list of names that a comment ends in, on one line.
std::string listOf(const ast::Comments& comments) {
  std::string list;
  bool isInList = false;
  for (const std::string& line : comments.leading) {
    size_t begin = line.find(beginning);
    isInList |= begin != line.npos;
    size_t from = begin == line.npos ? line.find_first_not_of("# ") : begin;
    if (isInList && from != line.npos)
      list += " " + line.substr(from);
  }
  return list;
}

} // namespace

std::optional<std::string> listedAs(const ast::Comments& comments,
                                    std::string_view name) {
  std::string list = listOf(comments);
  std::string quoted = "`" + std::string(name) + "`";
  size_t at = list.find(quoted);
  if (at == list.npos)
    return std::nullopt;
  at += quoted.size();
  if (list.compare(at, 2, " (") != 0)
    return std::string();
  size_t end = list.find(')', at);
  return list.substr(at + 2, end - at - 2);
}

std::string summaryOf(const ast::Comments& comments) {
  std::string text;
  for (const std::string& line : comments.leading) {
    size_t from = line.find_first_not_of("# ");
    if (from == line.npos || line.find(beginning) != line.npos)
      break;
    text += (text.empty() ? "" : " ") + line.substr(from);
  }
  size_t end = text.find(". ");
  if (end == text.npos && text.ends_with('.'))
    end = text.size() - 1;
  return text.substr(0, end);
}

std::string summaryOf(const Schema& schema, std::string_view field) {
  for (const ast::Item& item : schema.body->items)
    if (auto* declared = std::get_if<ast::FieldDecl>(&item.node);
        declared && declared->name.text == field)
      return summaryOf(item.comments);
  return {};
}

} // namespace recipec::sema
