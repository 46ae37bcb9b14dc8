// See Rows.h.

#include "runtime/data/Rows.h"

#include <cmath>

namespace reciperun::data {

int64_t rowsIn(const Rows& rows, double epochs) {
  const auto whole = static_cast<int64_t>(std::floor(epochs));
  const double part = epochs - static_cast<double>(whole);
  const int64_t first = rows.firstOf(whole);
  if (part <= 0)
    return first;
  return first + std::llround(part * static_cast<double>(rows.ofEpoch(whole)));
}

double epochsOf(const Rows& rows, int64_t number) {
  const RowPlace place = rows.placeOf(number);
  return static_cast<double>(place.epoch) +
         static_cast<double>(place.row) /
             static_cast<double>(rows.ofEpoch(place.epoch));
}

} // namespace reciperun::data
