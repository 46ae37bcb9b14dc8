// Searches the text that is not emitted yet, which is at most the last piece
// and one byte less than the longest stop string.

#include "runtime/serve/sampling/StopStrings.h"

#include <algorithm>

namespace reciperun::serve {

std::string StopStrings::next(std::string_view piece, bool isOpen) {
  if (found)
    return {};
  held += piece;
  if (!isOpen)
    closedBytes = held.size();
  size_t emitted = 0;
  if (const std::optional<Place> place = findFirst()) {
    found = place->index;
    held.resize(keepsStop ? place->end : place->begin);
    emitted = held.size();
  } else {
    emitted = held.size() - bytesToHold();
  }
  std::string text = held.substr(0, emitted);
  held.erase(0, emitted);
  closedBytes -= std::min(closedBytes, emitted);
  return text;
}

std::string StopStrings::finish() {
  std::string text;
  std::swap(text, held);
  closedBytes = 0;
  return text;
}

std::optional<StopStrings::Place> StopStrings::findFirst() const {
  std::optional<Place> first;
  for (size_t i = 0; i < stops.size(); ++i) {
    const size_t length = stops[i].size();
    const size_t from = closedBytes >= length ? closedBytes - length + 1 : 0;
    const size_t begin = held.find(stops[i], from);
    if (begin == std::string::npos)
      continue;
    const Place place = {begin, begin + length, i};
    if (!first || place.end < first->end ||
        (place.end == first->end && place.begin < first->begin))
      first = place;
  }
  return first;
}

/// The bytes at the end that begin a stop string.
size_t StopStrings::bytesToHold() const {
  size_t most = 0;
  for (const std::string& stop : stops)
    for (size_t count = std::min(stop.size() - 1, held.size()); count > most;
         --count)
      if (std::string_view(held).substr(held.size() - count) ==
          std::string_view(stop).substr(0, count)) {
        most = count;
        break;
      }
  return most;
}

} // namespace reciperun::serve
