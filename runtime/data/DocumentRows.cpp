// Finds a row by its epoch, its index in that epoch's layout, and the documents
// of that layout row.

#include "runtime/data/DocumentRows.h"

#include "runtime/data/Random.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reciperun::data {

namespace {

// Cached layouts: a step and its neighbours span at most a few epochs.
constexpr size_t keptLayouts = 4;

} // namespace

DocumentRows::DocumentRows(Documents documents, const plan::Data& data,
                           DataSet set)
    : documents(std::move(documents)), set(set),
      pack(data.pack), room{data.sequence, data.packDocuments},
      seed(static_cast<uint64_t>(data.seed)) {
  for (int64_t i = 0; i < this->documents.size(); ++i)
    places.push_back(this->documents[i].places());
}

RowLayout DocumentRows::layEpoch(int64_t epoch) const {
  const int64_t count = documents.size();
  std::vector<int64_t> order;
  if (set == DataSet::train) {
    order = shuffledOrder(count, seed, static_cast<uint64_t>(epoch));
  } else {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0);
  }
  return pack ? packFirstFit(order, places, room) : layOneByOne(order);
}

const RowLayout& DocumentRows::layoutOf(int64_t epoch) const {
  const auto found = layouts.find(epoch);
  if (found != layouts.end())
    return found->second;
  if (layouts.size() == keptLayouts)
    layouts.erase(layouts.begin());
  return layouts.emplace(epoch, layEpoch(epoch)).first->second;
}

int64_t DocumentRows::ofEpoch(int64_t epoch) const {
  return pack ? layoutOf(epoch).rows() : documents.size();
}

int64_t DocumentRows::firstOf(int64_t epoch) const {
  if (!pack)
    return Rows::firstOf(epoch);
  // The number of rows of an epoch is only known once it has been packed.
  while (static_cast<int64_t>(epochStarts.size()) <= epoch) {
    const auto last = static_cast<int64_t>(epochStarts.size()) - 1;
    epochStarts.push_back(epochStarts.back() + ofEpoch(last));
  }
  return epochStarts[epoch];
}

RowPlace DocumentRows::placeOf(int64_t number) const {
  if (!pack)
    return Rows::placeOf(number);
  while (epochStarts.back() <= number)
    firstOf(static_cast<int64_t>(epochStarts.size()));
  const auto behind =
      std::upper_bound(epochStarts.begin(), epochStarts.end(), number);
  const int64_t epoch = behind - epochStarts.begin() - 1;
  return {epoch, number - epochStarts[epoch]};
}

Expected<int64_t> DocumentRows::weight(const RowPlace& place) const {
  int64_t sum = 0;
  for (int64_t document : layoutOf(place.epoch).row(place.row))
    sum += documents.weight(document);
  return sum;
}

Status DocumentRows::fill(const RowPlace& place, Row& row) const {
  int32_t segment = 0;
  for (int64_t number : layoutOf(place.epoch).row(place.row))
    row.add(documents[number], segment++);
  return {};
}

std::vector<std::string> DocumentRows::notes() const {
  std::vector<std::string> list = documents.notes();
  const int64_t full =
      pack && room.documents ? layoutOf(0).rowsOf(room.documents) : 0;
  if (full)
    list.push_back(
        std::to_string(full) + " of the first epoch's " +
        std::to_string(ofEpoch(0)) + " rows of `" + documents.path() +
        "` hold `data.pack_documents` = " + std::to_string(room.documents) +
        " documents, and take no more");
  return list;
}

/// The memory of the documents, of their lengths, of the cached layouts (two
/// numbers per document each) and, with packing, of the rows and the tree of
/// free tokens while a layout is made.
int64_t DocumentRows::bytes() const {
  constexpr int64_t number = sizeof(int64_t);
  constexpr int64_t packing = 80; // for each document
  const int64_t layout = 2 * number * int64_t(keptLayouts);
  return documents.bytes() +
         documents.size() * (number + layout + (pack ? packing : 0));
}

std::string DocumentRows::extent() const {
  return std::to_string(ofEpoch(0)) + " rows an epoch";
}

std::string DocumentRows::origin(const RowPlace& place) const {
  std::string text;
  for (int64_t number : layoutOf(place.epoch).row(place.row))
    text += (text.empty() ? "line " : ", line ") +
            std::to_string(documents.line(number));
  return text + " of `" + documents.path() + "`";
}

} // namespace reciperun::data
