// W + scale B A: adds to each row of the piece its combination of A's rows.

#include "runtime/checkpoint/LoraMerge.h"

#include "runtime/checkpoint/Elements.h"

#include <cassert>

namespace reciperun::checkpoint {
namespace {

ElementType elementType(plan::DType type) {
  return *findElementType(safetensorsName(type));
}

std::vector<double> widened(const LoraMerge::Factor& in) {
  std::vector<double> out(in.bytes.size() / size_t(plan::byteSize(in.type)));
  convertElements(elementType(in.type), in.bytes.data(), plan::DType::f64,
                  reinterpret_cast<std::byte*>(out.data()),
                  int64_t(out.size()));
  return out;
}

} // namespace

LoraMerge::LoraMerge(plan::DType type, int64_t rank, double scale, Factor a,
                     Factor b)
    : type(type), rank(rank), a(widened(a)), scaledB(widened(b)) {
  assert(rank > 0 && this->a.size() % size_t(rank) == 0);
  width = int64_t(this->a.size()) / rank;
  for (double& value : scaledB)
    value *= scale;
}

void LoraMerge::addTo(std::span<std::byte> piece) {
  int64_t rowBytes = width * plan::byteSize(type);
  assert(int64_t(piece.size()) % rowBytes == 0 && "pieces hold whole rows");
  for (; !piece.empty(); piece = piece.subspan(size_t(rowBytes)), ++row) {
    std::vector<double> sum = widened({type, piece.first(size_t(rowBytes))});
    for (int64_t r = 0; r < rank; ++r) {
      double factor = scaledB[size_t(row * rank + r)];
      const double* from = a.data() + r * width;
      for (int64_t i = 0; i < width; ++i)
        sum[size_t(i)] += factor * from[i];
    }
    convertElements(ElementType::f64,
                    reinterpret_cast<const std::byte*>(sum.data()), type,
                    piece.data(), width);
  }
}

} // namespace reciperun::checkpoint
