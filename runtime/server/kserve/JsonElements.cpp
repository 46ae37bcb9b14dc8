// See JsonElements.h.

#include "runtime/server/kserve/JsonElements.h"

#include "runtime/server/models/Tensor.h"

#include <algorithm>
#include <bit>

namespace reciperun::server {

void JsonElements::addReal(double value) {
  add(Kind::real, std::bit_cast<uint64_t>(value));
}

void JsonElements::addText(std::string_view text) {
  appendBytes(textBytes, text);
  addKind(Kind::text);
}

void JsonElements::markTooDeep() {
  tooDeep = std::min(tooDeep, count);
}

double JsonElements::realAt(size_t i) const {
  switch (kindAt(i)) {
  case Kind::integer:
    return double(integerAt(i));
  case Kind::natural:
    return double(unsignedAt(i));
  default:
    return std::bit_cast<double>(bits[i]);
  }
}

void JsonElements::addMixed(Kind added) {
  if (kinds.empty())
    kinds.assign(count, kind);
  kinds.push_back(added);
}

} // namespace reciperun::server
