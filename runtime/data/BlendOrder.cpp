// Finds the row at an index:
// 1. Search for a key such that the rows up to it are at most as many as the
//    rows before the index, and only a few less.
// 2. Advance row by row from there.

#include "runtime/data/BlendOrder.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace reciperun::data {

namespace {

constexpr int64_t endless = std::numeric_limits<int64_t>::max();

} // namespace

BlendOrder::BlendOrder(std::vector<double> weights, std::vector<int64_t> limits)
    : weights(std::move(weights)), limits(std::move(limits)),
      weight(std::accumulate(this->weights.begin(), this->weights.end(), 0.0)) {
  for (const int64_t limit : this->limits)
    sum = limit > endless - sum ? endless : sum + limit;
}

/// The number of rows of a source with a key of at most `most`. The guess may
/// be off by one, since both it and the keys are rounded.
int64_t BlendOrder::countUpTo(size_t source, double most) const {
  const double guess = std::floor(most * weights[source] + 0.5);
  const int64_t limit = limits[source];
  if (guess > static_cast<double>(limit))
    return limit;
  int64_t count = std::max<int64_t>(0, static_cast<int64_t>(guess));
  while (count > 0 && key(source, count - 1) > most)
    --count;
  while (count < limit && key(source, count) <= most)
    ++count;
  return count;
}

int64_t BlendOrder::countUpTo(double most) const {
  int64_t count = 0;
  for (size_t source = 0; source < weights.size(); ++source) {
    const int64_t more = countUpTo(source, most);
    count = more > endless - count ? endless : count + more;
  }
  return count;
}

double BlendOrder::keyNotBehind(int64_t number) const {
  const auto sources = static_cast<double>(weights.size());
  const double least =
      std::max(0.0, (static_cast<double>(number) - sources) / weight);
  const auto few = 2 * static_cast<int64_t>(weights.size());
  if (number - countUpTo(least) <= few)
    return least;
  // Some sources have reached their limits: the key is larger.
  double below = least, above = 2 * least + 1;
  while (countUpTo(above) <= number)
    below = std::exchange(above, 2 * above);
  for (;;) {
    const double middle = below + (above - below) / 2;
    if (middle <= below || middle >= above || number - countUpTo(below) <= few)
      return below;
    (countUpTo(middle) <= number ? below : above) = middle;
  }
}

size_t BlendOrder::nextSource(const std::vector<int64_t>& given) const {
  size_t next = weights.size();
  for (size_t source = 0; source < weights.size(); ++source)
    if (given[source] < limits[source] &&
        (next == weights.size() ||
         key(source, given[source]) < key(next, given[next])))
      next = source;
  assert(next < weights.size() && "the place lies below the total");
  return next;
}

std::vector<int64_t> BlendOrder::before(int64_t number) const {
  if (number >= sum)
    return limits;
  const double from = keyNotBehind(number);
  std::vector<int64_t> given;
  for (size_t source = 0; source < weights.size(); ++source)
    given.push_back(countUpTo(source, from));
  for (int64_t count = std::accumulate(given.begin(), given.end(), int64_t{0});
       count < number; ++count)
    ++given[nextSource(given)];
  return given;
}

BlendOrder::Place BlendOrder::at(int64_t number) const {
  const std::vector<int64_t> given = before(number);
  const size_t source = nextSource(given);
  return {source, given[source]};
}

int64_t BlendOrder::through(Place place) const {
  const double most = key(place.source, place.row);
  int64_t count = place.row + 1;
  for (size_t source = 0; source < weights.size(); ++source) {
    if (source == place.source)
      continue;
    int64_t others = countUpTo(source, most);
    // Rows of equal keys are ordered by source.
    if (source > place.source && others > 0 && key(source, others - 1) == most)
      --others;
    count += others;
  }
  return count;
}

} // namespace reciperun::data
