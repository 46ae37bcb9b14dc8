// The type `elastic_int`: an int, or a list of them of which a run takes one at
// a time.
//
//   cluster { ranks = [32, 24] }
//
// An expression that reads such a field sees one int. That is the first of the
// list, or the one of a layout: see recipes/Layouts.h.

#ifndef RECIPEC_SEMA_TYPES_ELASTICINT_H
#define RECIPEC_SEMA_TYPES_ELASTICINT_H

#include "compiler/sema/values/Value.h"

#include <string>

namespace recipec::sema {

class Evaluator;

/// The most counts in a list. `reciperun train` takes as many plans.
inline constexpr size_t mostCounts = 64;

/// Whether the value is a list of ints from 1, each smaller than the one before
/// it.
bool isCounts(const Value& value);

/// The place of an element of a list: that of the list if the element is
/// written elsewhere.
SourceRange placeOfCount(const Value& element, SourceRange list);

/// Reports why a list is none of counts. `what` names the place:
/// `` `cluster.ranks` ``.
void reportCounts(Evaluator& evaluator, const ListValue& list,
                  SourceRange range, const std::string& what);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_ELASTICINT_H
