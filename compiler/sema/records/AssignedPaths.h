// The fields that one pair of braces sets.
//
// `parallel { tp = 2 }` and `parallel.tp = 2` set the same field. If braces set
// a field twice, one of the values would have no effect.

#ifndef RECIPEC_SEMA_RECORDS_ASSIGNEDPATHS_H
#define RECIPEC_SEMA_RECORDS_ASSIGNEDPATHS_H

#include "compiler/sema/Evaluator.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace recipec::sema {

class AssignedPaths {
public:
  explicit AssignedPaths(Evaluator& evaluator) : evaluator(evaluator) {}

  /// Records the fields that an assignment sets, including those in inner
  /// braces. Reports a field that an earlier assignment set. The inner braces
  /// report their own duplicates.
  void add(const ast::File& file, const ast::Assignment& node);
  /// Records a computed key. Returns false (reported) when it was set before.
  bool add(const std::string& key, SourceRange range);

private:
  using Leaf = std::pair<std::string, SourceRange>;

  void collect(const ast::File& file, const std::string& around,
               const ast::Assignment& node, std::vector<Leaf>& result) const;
  bool check(const Leaf& leaf);
  void note(const Leaf& leaf);

  Evaluator& evaluator;
  std::unordered_map<std::string, SourceRange> leaves;
  /// Prefixes of leaf paths, such as `parallel` for `parallel.tp`, each with
  /// its first leaf.
  std::unordered_map<std::string, Leaf> holders;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_ASSIGNEDPATHS_H
