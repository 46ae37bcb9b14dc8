// The output of `tune`, as text and as JSON.

#ifndef RECIPEC_DRIVER_TUNEREPORT_H
#define RECIPEC_DRIVER_TUNEREPORT_H

#include "compiler/base/Source.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/search/Search.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace recipec::driver {

/// The result of a search, and the recipe it started from.
struct TuneReport {
  const recipe::Recipe& recipe; // as written
  const SourceMap& sources;     // of its values
  search::Outcome written;      // figures of the written recipe
  search::Result found;
  size_t most = 3; // layouts that are listed

  /// The layouts to list, fastest first: those that are faster than the written
  /// one, or those that fit if it does not. Of layouts with equal degrees, only
  /// the fastest is listed.
  std::vector<search::Trial> listed() const;
};

/// A table of the layouts, and for each the settings that change and why it is
/// faster.
std::string tuneText(const TuneReport& report);

nlohmann::ordered_json tuneJson(const TuneReport& report);

/// `--set parallel.tp=2 --set ...` for a shell.
std::string setArguments(const search::Settings& settings);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_TUNEREPORT_H
