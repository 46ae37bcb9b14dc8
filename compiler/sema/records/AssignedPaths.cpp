// What one pair of braces sets, field by field; see AssignedPaths.h.
//
// 1. The leaves of an assignment are its path, or the paths in its braces.
// 2. Each is compared with the leaves of the assignments before: the same path
//    is set twice; a value for `a` behind one for `a.b` drops the latter. The
//    other way round it amends, and is how a part of a value is changed.
// 3. They are noted, with what holds them.

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
