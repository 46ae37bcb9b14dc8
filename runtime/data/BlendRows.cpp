// See BlendRows.h.

#include "runtime/data/BlendRows.h"

#include "runtime/data/SourceFiles.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <limits>
#include <numeric>
#include <utility>

namespace reciperun::data {

namespace {

std::vector<int64_t> limitsOf(const plan::DataSource& blend,
                              const std::vector<std::unique_ptr<Rows>>& rows) {
  std::vector<int64_t> limits;
  for (size_t i = 0; i < rows.size(); ++i)
    limits.push_back(blend.epochs[i] > 0 ? rowsIn(*rows[i], blend.epochs[i])
                                         : std::numeric_limits<int64_t>::max());
  return limits;
}

} // namespace

BlendRows::BlendRows(const plan::DataSource& blend,
                     std::vector<std::unique_ptr<Rows>> opened)
    : sources(std::move(opened)),
      endsWithFirst(blend.stopping == "first_exhausted"),
      order(blend.weights, limitsOf(blend, sources)) {
  const double sum =
      std::accumulate(blend.weights.begin(), blend.weights.end(), 0.0);
  for (size_t i = 0; i < sources.size(); ++i) {
    const plan::DataSource& source = blend.sources[i];
    names.push_back(source.path.empty() ? filesText(source.paths)
                                        : filesText({source.path}));
    shares.push_back(blend.weights[i] / sum);
  }
}

// ---- epochs

/// The number of rows up to the end of an epoch. Among the sources whose limit
/// includes this epoch, the epoch ends when the last one completes it, or, with
/// `first_exhausted`, the first one.
int64_t BlendRows::endOf(int64_t epoch) const {
  int64_t end = -1;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t rows = sources[i]->firstOf(epoch + 1);
    if (rows > order.limit(i))
      continue;
    const int64_t through = order.through({i, rows - 1});
    if (end < 0 || (through < end) == endsWithFirst)
      end = through;
  }
  return end < 0 ? order.total() : end;
}

/// An epoch is empty when the previous one ends after its own end: a small
/// source may complete several epochs before a rarely drawn one completes its
/// first.
int64_t BlendRows::firstOf(int64_t epoch) const {
  while (static_cast<int64_t>(epochStarts.size()) <= epoch) {
    const auto last = static_cast<int64_t>(epochStarts.size()) - 1;
    epochStarts.push_back(std::max(epochStarts.back(), endOf(last)));
  }
  return epochStarts[static_cast<size_t>(epoch)];
}

int64_t BlendRows::bytes() const {
  int64_t sum = 0;
  for (const auto& source : sources)
    sum += source->bytes();
  return sum;
}

int64_t BlendRows::ofEpoch(int64_t epoch) const {
  return firstOf(epoch + 1) - firstOf(epoch);
}

/// Row numbers past the last row belong to the last epoch.
RowPlace BlendRows::placeOf(int64_t number) const {
  const int64_t inside = std::min(number, order.total() - 1);
  while (epochStarts.back() <= inside)
    firstOf(static_cast<int64_t>(epochStarts.size()));
  const auto behind =
      std::upper_bound(epochStarts.begin(), epochStarts.end(), inside);
  const int64_t epoch = behind - epochStarts.begin() - 1;
  return {epoch, number - epochStarts[static_cast<size_t>(epoch)]};
}

// ---- rows

BlendRows::Found BlendRows::find(const RowPlace& place) const {
  const BlendOrder::Place found = order.at(firstOf(place.epoch) + place.row);
  const Rows& rows = *sources[found.source];
  return {rows, rows.placeOf(found.row)};
}

Expected<int64_t> BlendRows::weight(const RowPlace& place) const {
  const Found found = find(place);
  return found.rows.weight(found.place);
}

Status BlendRows::fill(const RowPlace& place, Row& row) const {
  const Found found = find(place);
  return found.rows.fill(found.place, row);
}

std::string BlendRows::origin(const RowPlace& place) const {
  const Found found = find(place);
  return found.rows.origin(found.place);
}

// ---- reporting

std::string BlendRows::extent() const {
  return std::to_string(ofEpoch(0)) + " rows an epoch of " +
         std::to_string(sources.size()) + " blended sources";
}

std::vector<std::string> BlendRows::notes() const {
  std::vector<std::string> list;
  for (size_t i = 0; i < sources.size(); ++i) {
    char share[16];
    std::snprintf(share, sizeof share, "%.2f %%", 100 * shares[i]);
    list.push_back(std::string(share) + " of the rows are of " + names[i] +
                   ", which has " + sources[i]->extent());
    for (std::string& note : sources[i]->notes())
      list.push_back(std::move(note));
  }
  return list;
}

std::vector<SourceRows> BlendRows::sourcesBefore(int64_t number) const {
  const std::vector<int64_t> given = order.before(number);
  std::vector<SourceRows> list;
  for (size_t i = 0; i < sources.size(); ++i)
    list.push_back({names[i], given[i], epochsOf(*sources[i], given[i])});
  return list;
}

} // namespace reciperun::data
