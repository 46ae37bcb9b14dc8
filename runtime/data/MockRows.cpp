// See MockRows.h.

#include "runtime/data/MockRows.h"

#include "runtime/data/Random.h"

#include <limits>

namespace reciperun::data {

MockRows::MockRows(const plan::Data& data, DataSet set)
    : set(set), sequence(data.sequence), vocab(data.vocab),
      seed(static_cast<uint64_t>(data.seed)) {}

int64_t MockRows::ofEpoch(int64_t) const {
  return std::numeric_limits<int64_t>::max();
}

Expected<int64_t> MockRows::weight(const RowPlace&) const {
  return sequence;
}

Status MockRows::fill(const RowPlace& place, Row& row) const {
  Random random({seed, static_cast<uint64_t>(place.row),
                 static_cast<uint64_t>(set == DataSet::train ? 0 : 1)});
  std::vector<int32_t> ids(sequence + 1);
  for (int32_t& id : ids)
    id = static_cast<int32_t>(random.below(vocab));
  const std::vector<uint8_t> counts(ids.size(), 1);
  row.add({ids, counts}, 0);
  return {};
}

std::string MockRows::origin(const RowPlace&) const {
  return {};
}

} // namespace reciperun::data
