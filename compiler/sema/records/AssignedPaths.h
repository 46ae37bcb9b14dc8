// What one pair of braces sets, field by field.
//
// `parallel { tp = 2 }` and `parallel.tp = 2` set the same field; braces that
// set one twice would hold what nobody reads.

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

  /// Notes what an assignment sets, also in braces within. Reports what an
  /// earlier one set; what repeats within its own braces is left to these.
  void add(const ast::File& file, const ast::Assignment& node);
  /// Notes a computed key; false (reported) where it was set before.
  bool add(const std::string& key, SourceRange range);

private:
  using Leaf = std::pair<std::string, SourceRange>;

  void collect(const ast::File& file, const std::string& around,
               const ast::Assignment& node, std::vector<Leaf>& result) const;
  bool check(const Leaf& leaf);
  void note(const Leaf& leaf);

  Evaluator& evaluator;
  std::unordered_map<std::string, SourceRange> leaves;
  /// What holds a leaf, `parallel` for `parallel.tp`, with the first of these.
  std::unordered_map<std::string, Leaf> holders;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_ASSIGNEDPATHS_H
