// See StreamRows.h.

#include "runtime/data/StreamRows.h"

#include "runtime/data/Random.h"

#include <algorithm>
#include <utility>

namespace reciperun::data {

StreamRows::StreamRows(std::unique_ptr<TokenStream> stream,
                       const plan::Data& data, DataSet set)
    : stream(std::move(stream)), set(set), keepsApart(data.pack),
      eos(static_cast<int32_t>(data.eosToken)), sequence(data.sequence),
      seed(static_cast<uint64_t>(data.seed)) {}

Expected<std::unique_ptr<Rows>>
StreamRows::make(std::unique_ptr<TokenStream> stream, const plan::Data& data,
                 DataSet set) {
  if (stream->tokens() < 2)
    return Status::error(stream->name() + " has " +
                         std::to_string(stream->tokens()) +
                         " tokens; a row takes at least 2: write more text "
                         "into it");
  if (data.pack && data.eosToken < 0)
    return Status::error("`data.pack` keeps documents apart by the model's "
                         "`eos_token`, and it has none; set the model's "
                         "`eos_token`, or leave `pack` out");
  return std::unique_ptr<Rows>(new StreamRows(std::move(stream), data, set));
}

int64_t StreamRows::ofEpoch(int64_t) const {
  return (stream->tokens() - 1 + sequence - 1) / sequence;
}

StreamRows::Stretch StreamRows::stretchOf(const RowPlace& place) const {
  int64_t row = place.row;
  if (set == DataSet::train)
    row = shuffledPlace(row, ofEpoch(place.epoch), seed,
                        static_cast<uint64_t>(place.epoch));
  const int64_t first = row * sequence;
  return {first, std::min(sequence, stream->tokens() - 1 - first)};
}

Expected<int64_t> StreamRows::weight(const RowPlace& place) const {
  const Stretch stretch = stretchOf(place);
  if (!keepsApart)
    return stretch.count;
  std::vector<int32_t> ids(stretch.count);
  RECIPERUN_TRY(stream->read(stretch.first, ids));
  return stretch.count - std::count(ids.begin(), ids.end(), eos);
}

Status StreamRows::fill(const RowPlace& place, Row& row) const {
  const Stretch stretch = stretchOf(place);
  std::vector<int32_t> ids(stretch.count + 1);
  RECIPERUN_TRY(stream->read(stretch.first, ids));
  int32_t position = 0, segment = 0;
  for (int64_t i = 0; i < stretch.count; ++i) {
    const bool isLast = endsDocument(ids[i]);
    row.add(ids[i], ids[i + 1], !isLast, position, segment);
    position = isLast ? 0 : position + 1;
    segment += isLast ? 1 : 0;
  }
  return {};
}

std::string StreamRows::extent() const {
  return std::to_string(ofEpoch(0)) + " rows an epoch (" +
         std::to_string(stream->tokens()) + " tokens)";
}

std::string StreamRows::origin(const RowPlace& place) const {
  const Stretch stretch = stretchOf(place);
  return stream->origin(stretch.first, stretch.count + 1);
}

} // namespace reciperun::data
