// Where a record's braces set a path; see SetPlaces.h.

#include "compiler/sema/values/SetPlaces.h"

#include "compiler/base/Text.h"
#include "compiler/sema/Evaluator.h"

#include <span>

namespace recipec::sema {
namespace {

/// The assignment to `parts` made by a path with a value or braces; not valid
/// if it does not set `parts`.
SourceRange assignmentIn(const ast::File& file, std::span<const ast::Name> path,
                         ast::BodyId body, SourceRange range,
                         std::span<const std::string> parts) {
  if (path.size() > parts.size())
    return {};
  for (size_t i = 0; i < path.size(); ++i)
    if (path[i].text != parts[i])
      return {};
  parts = parts.subspan(path.size());
  if (parts.empty())
    return body == ast::BodyId::none ? range : SourceRange{};
  if (body == ast::BodyId::none)
    return {};
  for (const ast::Item& item : file[body].items)
    if (auto* inner = std::get_if<ast::Assignment>(&item.node)) {
      const SourceRange found =
          assignmentIn(file, inner->path, inner->body, item.range, parts);
      if (found.isValid())
        return found;
    }
  return {};
}

/// The assignment to `parts` in the braces behind a value, `adamw { ... }`.
SourceRange assignmentInValue(const ast::File& file, const Member& member,
                              std::span<const std::string> parts) {
  if (member.value == ast::ExprId::none || member.path.size() >= parts.size())
    return {};
  for (size_t i = 0; i < member.path.size(); ++i)
    if (member.path[i].text != parts[i])
      return {};
  const auto* amended = std::get_if<ast::Amend>(&file[member.value].node);
  return amended ? assignmentIn(file, {}, amended->body, {},
                                parts.subspan(member.path.size()))
                 : SourceRange{};
}

} // namespace

std::vector<std::string> namesOfPath(std::string_view path) {
  std::vector<std::string> names;
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
    names.emplace_back(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  names.emplace_back(path);
  return names;
}

SourceRange placeOf(const Object& object, std::string_view path) {
  const std::vector<std::string> parts = namesOfPath(path);
  // The last layer wins.
  for (auto layer = object.layers.rbegin(); layer != object.layers.rend();
       ++layer)
    for (const Member& member : (*layer)->members) {
      const Env* env = (*layer)->env;
      if (member.given || !env || !env->file)
        continue;
      SourceRange found = assignmentIn(*env->file, member.path, member.body,
                                       member.range, parts);
      if (!found.isValid())
        found = assignmentInValue(*env->file, member, parts);
      if (found.isValid())
        return found;
    }
  return {};
}

std::string leaveOut(const Evaluator& evaluator, const Object& object,
                     std::string_view path, SourceId source) {
  const SourceRange set = placeOf(object, path);
  if (!set.isValid() || evaluator.isLibrary(set) || set.source != source)
    return {};
  return ", which line " +
         std::to_string(
             evaluator.sources.lineColumn(set.source, set.begin).line) +
         " sets: `" + onOneLine(evaluator.sources.text(set)) +
         "`; change it there, or leave this out";
}

SourceRange withSeparator(const SourceMap& sources, SourceRange item) {
  const std::string_view text = sources.text(item.source);
  size_t begin = item.begin, end = item.end;
  auto isBlank = [&](size_t at) { return at < text.size() && text[at] == ' '; };
  while (isBlank(end))
    ++end;
  if (end < text.size() && text[end] == ',') {
    ++end;
    while (isBlank(end))
      ++end;
    return {item.source, item.begin, uint32_t(end)};
  }
  while (begin > 0 && isBlank(begin - 1))
    --begin;
  if (begin > 0 && text[begin - 1] == ',')
    return {item.source, uint32_t(begin - 1), item.end};
  const bool isLine = begin > 0 && text[begin - 1] == '\n' &&
                      end < text.size() && text[end] == '\n';
  return isLine ? SourceRange{item.source, uint32_t(begin), uint32_t(end + 1)}
                : item;
}

} // namespace recipec::sema
