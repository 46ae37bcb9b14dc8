// The models of the standard library as a table.

#ifndef RECIPEC_DRIVER_MODELLIST_H
#define RECIPEC_DRIVER_MODELLIST_H

#include <string>

namespace recipec::driver {

/// Markdown with a table per file of `std/models`. A row has the model's name
/// as recipes write it, its parameter count, and the first line of its comment.
std::string modelListMarkdown();

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_MODELLIST_H
