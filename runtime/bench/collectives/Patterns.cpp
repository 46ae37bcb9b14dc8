// See Patterns.h.

#include "runtime/bench/collectives/Patterns.h"

#include "runtime/device/BFloat16.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace reciperun::bench {
namespace {

using comm::Reduction;
using device::bf16;
using plan::DType;

constexpr int classBits = 10;
constexpr size_t classes = size_t(1) << classBits;

/// Up to this number one thread is as fast as several.
constexpr int64_t fewElements = int64_t(1) << 15;

/// The finalizer of splitmix64, which mixes all bits.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t hashOfClass(uint64_t rank, uint64_t number) {
  return mixed(mixed(rank + 1) + 0x9e3779b97f4a7c15 * (number + 1));
}

/// The class of the element at an index.
size_t classOf(uint64_t seed, uint64_t index) {
  uint64_t x = (index + seed) * 0x9e3779b97f4a7c15;
  x ^= x >> 32;
  return size_t((x * 0xd6e8feb86659fd93) >> (64 - classBits));
}

// ---- terms of reductions

/// The bits of an exactly representable number.
uint64_t bitsOf(DType type, double value) {
  switch (type) {
  case DType::f32:
    return std::bit_cast<uint32_t>(float(value));
  case DType::f64:
    return std::bit_cast<uint64_t>(value);
  case DType::bf16:
    return bf16(float(value)).bits;
  case DType::i32:
    return uint32_t(int32_t(value));
  case DType::i64:
    return uint64_t(int64_t(value));
  default:
    assert(false && "no type of reductions");
    return 0;
  }
}

/// The bits of a number that a type holds exactly, whatever its exponent. For
/// i64 they are those of a double, in which terms are computed.
int precisionOf(DType type) {
  switch (type) {
  case DType::bf16:
    return 8;
  case DType::f32:
    return 24;
  case DType::i32:
    return 31;
  default:
    return 53;
  }
}

bool isFloat(DType type) {
  return type != DType::i32 && type != DType::i64;
}

/// Whether a rank is one of the `taking` ranks, another selection for each
/// class, whose term is not the neutral one.
bool takesPart(uint64_t number, int ranks, int rank, int64_t taking) {
  return int64_t((uint64_t(rank) + number) % uint64_t(ranks)) < taking;
}

/// Whole numbers whose sum over all ranks has at most the type's precision.
double termOfSum(DType type, uint64_t number, int ranks, int rank) {
  const int64_t most = int64_t(1) << std::min(precisionOf(type), 40);
  const int64_t taking = std::min<int64_t>(ranks, most - 1);
  if (!takesPart(number, ranks, rank, taking))
    return 0;
  const int64_t bound = (most - 1) / taking;
  const uint64_t hash = hashOfClass(uint64_t(rank), number);
  const double whole = double(int64_t(hash % uint64_t(2 * bound + 1)) - bound);
  const int power = isFloat(type) ? int(mixed(number) % 8) - 4 : 0;
  return std::ldexp(whole, power);
}

/// Powers of two. The product of 16 ranks has at most 2^16; the other ranks
/// only change its sign.
double factorOfProduct(DType type, uint64_t number, int ranks, int rank) {
  constexpr int64_t taking = 16;
  const uint64_t hash = hashOfClass(uint64_t(rank), number);
  const double sign = hash & 1 ? -1 : 1;
  if (!takesPart(number, ranks, rank, taking))
    return sign;
  const int power = isFloat(type) ? int((hash >> 1) % 3) - 1 : (hash >> 1) % 2;
  return std::ldexp(sign, power);
}

double candidateOfExtreme(DType type, uint64_t number, int rank) {
  const uint64_t range = uint64_t(1) << std::min(precisionOf(type), 40);
  const uint64_t hash = hashOfClass(uint64_t(rank), number);
  return double(int64_t(hash % range)) - double(range / 2);
}

double termOf(const ElementType& type, Reduction reduction, uint64_t number,
              int ranks, int rank) {
  switch (reduction) {
  case Reduction::sum:
    return termOfSum(type.carrier, number, ranks, rank);
  case Reduction::product:
    return factorOfProduct(type.carrier, number, ranks, rank);
  case Reduction::max:
  case Reduction::min:
    return candidateOfExtreme(type.carrier, number, rank);
  }
  return 0;
}

double combined(Reduction reduction, double a, double b) {
  switch (reduction) {
  case Reduction::sum:
    return a + b;
  case Reduction::product:
    return a * b;
  case Reduction::max:
    return std::max(a, b);
  case Reduction::min:
    return std::min(a, b);
  }
  return a;
}

// ---- buffers

/// Calls `visit` with a value of the unsigned type of that size.
template <class Visit> void withWord(int64_t elementBytes, const Visit& visit) {
  switch (elementBytes) {
  case 1:
    return visit(uint8_t());
  case 2:
    return visit(uint16_t());
  case 4:
    return visit(uint32_t());
  default:
    return visit(uint64_t());
  }
}

} // namespace

Column movedColumn(int rank) {
  Column column(classes);
  for (size_t i = 0; i < classes; ++i)
    column[i] = hashOfClass(uint64_t(rank), i);
  return column;
}

Column termColumn(const ElementType& type, Reduction reduction, int ranks,
                  int rank) {
  Column column(classes);
  for (size_t i = 0; i < classes; ++i)
    column[i] = bitsOf(type.carrier, termOf(type, reduction, i, ranks, rank));
  return column;
}

Column resultColumn(const ElementType& type, Reduction reduction, int ranks) {
  Column column(classes);
  for (size_t i = 0; i < classes; ++i) {
    double result = termOf(type, reduction, i, ranks, 0);
    for (int rank = 1; rank < ranks; ++rank)
      result =
          combined(reduction, result, termOf(type, reduction, i, ranks, rank));
    column[i] = bitsOf(type.carrier, result);
  }
  return column;
}

void fillPattern(const Segment& segment, uint64_t seed, int64_t from,
                 int64_t elementBytes, std::span<std::byte> out) {
  withWord(elementBytes, [&]<class Word>(Word) {
    const int64_t count = int64_t(out.size() / sizeof(Word));
    const uint64_t* column = segment.column->data();
    const auto start = uint64_t(segment.first + from);
#pragma omp parallel for if (count > fewElements)
    for (int64_t i = 0; i < count; ++i) {
      const Word word = Word(column[classOf(seed, start + uint64_t(i))]);
      std::memcpy(out.data() + size_t(i) * sizeof(Word), &word, sizeof word);
    }
  });
}

int64_t countWrong(const Segment& segment, uint64_t seed, int64_t from,
                   int64_t elementBytes, std::span<const std::byte> in) {
  int64_t wrong = 0;
  withWord(elementBytes, [&]<class Word>(Word) {
    const int64_t count = int64_t(in.size() / sizeof(Word));
    const uint64_t* column = segment.column->data();
    const auto start = uint64_t(segment.first + from);
    int64_t found = 0;
#pragma omp parallel for reduction(+ : found) if (count > fewElements)
    for (int64_t i = 0; i < count; ++i) {
      Word word;
      std::memcpy(&word, in.data() + size_t(i) * sizeof(Word), sizeof word);
      found += word != Word(column[classOf(seed, start + uint64_t(i))]);
    }
    wrong = found;
  });
  return wrong;
}

} // namespace reciperun::bench
