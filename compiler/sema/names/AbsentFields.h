// Settings of other tools that a recipe does not have, and what to do instead.

#ifndef RECIPEC_SEMA_NAMES_ABSENTFIELDS_H
#define RECIPEC_SEMA_NAMES_ABSENTFIELDS_H

#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

/// What to do about a setting that other tools have in such a record, as a
/// whole help; empty where nothing is known of it. `schema` is the name of the
/// record's schema.
std::string_view insteadOf(std::string_view schema, std::string_view name);

/// Settings of other tools that share a help.
struct AbsentSubject {
  std::vector<std::string> names;
  std::string_view help;
};

/// All that is known of such settings in records of a schema.
std::vector<AbsentSubject> absentSubjects(std::string_view schema);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_ABSENTFIELDS_H
