// Prints the rows of a log of nccl-tests as a clean table.

#ifndef RECIPEC_IMPORT_BENCHTABLE_H
#define RECIPEC_IMPORT_BENCHTABLE_H

#include "runtime/benchlog/BenchLog.h"

#include <string>

namespace recipec::importer {

namespace benchlog = reciperun::benchlog;

/// A title with the test and its ranks, the rows, and the average.
std::string benchTable(const benchlog::BenchLog& log);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_BENCHTABLE_H
