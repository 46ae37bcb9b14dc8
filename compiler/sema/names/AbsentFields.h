// Settings of other tools that a recipe does not have, and what to do instead.

#ifndef RECIPEC_SEMA_NAMES_ABSENTFIELDS_H
#define RECIPEC_SEMA_NAMES_ABSENTFIELDS_H

#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

/// The help for a setting `name` that other tools have in a record like this;
/// empty if the setting is unknown. `schema` is the name of the record's
/// schema.
std::string_view insteadOf(std::string_view schema, std::string_view name);

/// Settings of other tools that share a help.
struct AbsentSubject {
  std::vector<std::string> names;
  std::string_view help;
};

/// All settings of this kind that are known for records of a schema.
std::vector<AbsentSubject> absentSubjects(std::string_view schema);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_ABSENTFIELDS_H
