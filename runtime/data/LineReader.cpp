// See LineReader.h.

#include "runtime/data/LineReader.h"

#include "runtime/base/StopSignal.h"

#include <algorithm>
#include <span>

namespace reciperun::data {

namespace {

constexpr int64_t pieceBytes = 1 << 18;

} // namespace

Expected<bool> LineReader::next(std::string& line) {
  line.clear();
  for (bool isBegun = false;; isBegun = true) {
    if (at == piece.size()) {
      RECIPERUN_TRY(refill());
      if (piece.empty())
        return isBegun && !line.empty();
    }
    const size_t end = piece.find('\n', at);
    line.append(piece, at, end == piece.npos ? end : end - at);
    at = end == piece.npos ? piece.size() : end + 1;
    if (end != piece.npos)
      return true;
  }
}

Status LineReader::refill() {
  RECIPERUN_TRY(checkStopSignal());
  piece.resize(size_t(std::min(pieceBytes, file.size() - offset)));
  at = 0;
  RECIPERUN_TRY(file.read(offset, std::as_writable_bytes(std::span(piece))));
  offset += int64_t(piece.size());
  return {};
}

} // namespace reciperun::data
