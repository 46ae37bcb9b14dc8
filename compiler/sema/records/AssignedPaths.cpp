// The fields that one pair of braces sets; see AssignedPaths.h.
//
// 1. Collect the leaves of an assignment: its path, or the paths in its braces.
// 2. Compare each leaf with those of earlier assignments. Report a path that is
//    set twice, and a value for `a` after one for `a.b`, which would discard
//    `a.b`. A value for `a.b` after one for `a` is allowed: it changes a part.
// 3. Record the leaves and their prefixes.

#include "compiler/sema/records/AssignedPaths.h"

namespace recipec::sema {

void AssignedPaths::collect(const ast::File& file, const std::string& around,
                            const ast::Assignment& node,
                            std::vector<Leaf>& result) const {
  std::string path = around;
  for (const ast::Name& name : node.path)
    path += (path.empty() ? "" : ".") + name.text;
  if (node.value != ast::ExprId::none) {
    result.emplace_back(std::move(path),
                        cover(node.path.front().range, node.path.back().range));
    return;
  }
  if (node.body == ast::BodyId::none)
    return;
  for (const ast::Item& item : file[node.body].items)
    if (auto* inner = std::get_if<ast::Assignment>(&item.node))
      collect(file, path, *inner, result);
}

void AssignedPaths::add(const ast::File& file, const ast::Assignment& node) {
  std::vector<Leaf> added;
  collect(file, "", node, added);
  for (const Leaf& leaf : added)
    check(leaf);
  for (const Leaf& leaf : added)
    note(leaf);
}

bool AssignedPaths::add(const std::string& key, SourceRange range) {
  Leaf leaf(key, range);
  bool isNew = check(leaf);
  note(leaf);
  return isNew;
}

bool AssignedPaths::check(const Leaf& leaf) {
  const auto& [path, range] = leaf;
  if (auto first = leaves.find(path); first != leaves.end()) {
    auto builder = evaluator.messages.report(diag::Kind::DuplicateName, range,
                                             "`" + path + "` is set twice");
    if (first->second == range)
      builder.help("two turns of `for` make the same key");
    else
      builder.label(first->second, "it is set here first")
          .help("remove one of the two");
    return false;
  }
  auto held = holders.find(path);
  if (held == holders.end())
    return true;
  const auto& [inner, place] = held->second;
  evaluator.messages
      .report(diag::Kind::DuplicateName, range,
              "`" + path + "` is set after `" + inner +
                  "`, which it takes the place of")
      .label(place, "`" + inner + "` is set here")
      .help("set `" + path + "` first, then what differs in it");
  return false;
}

void AssignedPaths::note(const Leaf& leaf) {
  const std::string& path = leaf.first;
  leaves.emplace(path, leaf.second);
  for (size_t dot = path.find('.'); dot != path.npos;
       dot = path.find('.', dot + 1))
    holders.emplace(path.substr(0, dot), leaf);
}

} // namespace recipec::sema
