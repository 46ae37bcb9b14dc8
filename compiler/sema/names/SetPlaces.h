// Where a record's braces set a path.

#ifndef RECIPEC_SEMA_NAMES_SETPLACES_H
#define RECIPEC_SEMA_NAMES_SETPLACES_H

#include "compiler/sema/values/Value.h"

#include <string_view>

namespace recipec::sema {

/// Where the layers of a record set a path; not valid where none does.
SourceRange placeOf(const Object& object, std::string_view path);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_SETPLACES_H
