// Where a record's braces set a path; see SetPlaces.h.

#include "compiler/sema/names/SetPlaces.h"

#include "compiler/sema/names/MeantPaths.h"

#include <span>

namespace recipec::sema {
namespace {

/// The assignment to `parts` that a path, with a value or braces behind it,
/// makes; not valid where there is none.
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

SourceRange placeOf(const Object& object, std::string_view path) {
  const std::vector<std::string> parts = namesOfPath(path);
  for (const Layer* layer : object.layers)
    for (const Member& member : layer->members) {
      if (member.given || !layer->env || !layer->env->file)
        continue;
      SourceRange found = assignmentIn(*layer->env->file, member.path,
                                       member.body, member.range, parts);
      if (!found.isValid())
        found = assignmentInValue(*layer->env->file, member, parts);
      if (found.isValid())
        return found;
    }
  return {};
}

} // namespace recipec::sema
