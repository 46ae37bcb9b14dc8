// Lines of reports: a name and a value in columns.

#ifndef RECIPEC_DRIVER_REPORTLINES_H
#define RECIPEC_DRIVER_REPORTLINES_H

#include <string>

namespace recipec::driver {

/// A number by a format of printf.
std::string formatted(const char* format, double value);

/// `  name      value`, ending in a newline.
std::string reportLine(const std::string& name, const std::string& value);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_REPORTLINES_H
