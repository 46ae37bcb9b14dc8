// The models of the standard library as a table.

#ifndef RECIPEC_DRIVER_MODELLIST_H
#define RECIPEC_DRIVER_MODELLIST_H

#include <string>

namespace recipec::driver {

/// Markdown: a table of each file under `std/models`, with the names as recipes
/// write them, how many parameters they have, and what their comments say
/// first.
std::string modelListMarkdown();

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_MODELLIST_H
