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

/// Where the layers of a record set a path, the last one that does; not valid
/// where none does.
SourceRange placeOf(const Object& object, std::string_view path);

/// `` , which line 28 sets: `lr = 2e-5`; change it there, or leave this out ``
/// where the record sets the path in the same file, `source`. Empty elsewhere.
std::string leaveOut(const Evaluator& evaluator, const Object& object,
                     std::string_view path, SourceId source);

/// What to delete so that an item goes with its comma, or with its line.
SourceRange withSeparator(const SourceMap& sources, SourceRange item);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_SETPLACES_H
