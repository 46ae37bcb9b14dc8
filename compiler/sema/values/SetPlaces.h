// Where a record's braces set a path.

#ifndef RECIPEC_SEMA_VALUES_SETPLACES_H
#define RECIPEC_SEMA_VALUES_SETPLACES_H

#include "compiler/sema/values/Value.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

class Evaluator;

/// The names of a path, `data.sequence`.
std::vector<std::string> namesOfPath(std::string_view path);

/// The place where the layers of a record set a path. If several do, the last
/// one; not valid if none does.
SourceRange placeOf(const Object& object, std::string_view path);

/// If the record sets the path in the same file, `source`, returns
/// `` , which line 28 sets: `lr = 2e-5`; change it there, or leave this out ``.
/// Empty otherwise.
std::string leaveOut(const Evaluator& evaluator, const Object& object,
                     std::string_view path, SourceId source);

/// The range to delete with an item: includes its comma or its whole line.
SourceRange withSeparator(const SourceMap& sources, SourceRange item);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_SETPLACES_H
