// See CollectiveTest.h.

#include "runtime/benchlog/CollectiveTest.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace reciperun::benchlog {
namespace {

/// How the elements of a test follow from the number of ranks.
enum class Shape {
  whole,     // every rank sends and receives the whole
  gathered,  // every rank sends a part; the whole is received
  scattered, // the whole is sent; every rank receives a part
  exchanged // every rank sends and receives a part of the whole to and from all
};

struct TestEntry {
  CollectiveTest test;
  std::string_view name;
  Shape shape;
  bool isReducing, hasRoot, hasInPlaceForm;
};

constexpr TestEntry entries[] = {
    {CollectiveTest::allReduce, "all_reduce", Shape::whole, true, false, true},
    {CollectiveTest::allGather, "all_gather", Shape::gathered, false, false,
     true},
    {CollectiveTest::reduceScatter, "reduce_scatter", Shape::scattered, true,
     false, true},
    {CollectiveTest::broadcast, "broadcast", Shape::whole, false, true, true},
    {CollectiveTest::reduce, "reduce", Shape::whole, true, true, true},
    {CollectiveTest::allToAll, "alltoall", Shape::exchanged, false, false,
     false},
    {CollectiveTest::sendRecv, "sendrecv", Shape::whole, false, false, false},
    {CollectiveTest::gather, "gather", Shape::gathered, false, true, true},
    {CollectiveTest::scatter, "scatter", Shape::scattered, false, true, true},
    {CollectiveTest::hypercube, "hypercube", Shape::gathered, false, false,
     true},
};

const TestEntry& entryOf(CollectiveTest test) {
  return entries[size_t(test)];
}

constexpr int64_t alignment = 16; // bytes of a part

} // namespace

std::span<const CollectiveTest> collectiveTests() {
  static const auto tests = [] {
    std::array<CollectiveTest, std::size(entries)> all{};
    std::ranges::transform(entries, all.begin(), &TestEntry::test);
    return all;
  }();
  return tests;
}

std::string_view nameOf(CollectiveTest test) {
  return entryOf(test).name;
}

std::optional<CollectiveTest> findTest(std::string_view name) {
  if (const size_t slash = name.rfind('/'); slash != name.npos)
    name.remove_prefix(slash + 1);
  if (const size_t end = name.find("_perf"); end != name.npos)
    name = name.substr(0, end);
  const auto found = std::ranges::find(entries, name, &TestEntry::name);
  if (found == std::end(entries))
    return std::nullopt;
  return found->test;
}

bool isReducing(CollectiveTest test) {
  return entryOf(test).isReducing;
}
bool hasRoot(CollectiveTest test) {
  return entryOf(test).hasRoot;
}
bool hasInPlaceForm(CollectiveTest test) {
  return entryOf(test).hasInPlaceForm;
}

Counts countsOf(CollectiveTest test, int64_t bytes, int64_t elementBytes,
                int ranks) {
  const int64_t whole = bytes / elementBytes;
  const int64_t aligned = std::max<int64_t>(1, alignment / elementBytes);
  const int64_t part = whole / ranks / aligned * aligned;
  switch (entryOf(test).shape) {
  case Shape::whole:
    return {whole, whole, whole};
  case Shape::gathered:
    return {part, part * ranks, part};
  case Shape::scattered:
    return {part * ranks, part, part};
  case Shape::exchanged:
    return {part * ranks, part * ranks, part};
  }
  return {};
}

double busFactor(CollectiveTest test, int ranks) {
  const double others = ranks - 1;
  switch (test) {
  case CollectiveTest::allReduce:
    return 2 * others / ranks;
  case CollectiveTest::allGather:
  case CollectiveTest::reduceScatter:
  case CollectiveTest::allToAll:
  case CollectiveTest::gather:
  case CollectiveTest::scatter:
    return others / ranks;
  case CollectiveTest::broadcast:
  case CollectiveTest::reduce:
  case CollectiveTest::sendRecv:
  case CollectiveTest::hypercube:
    return 1;
  }
  return 1;
}

Bandwidth bandwidthOf(CollectiveTest test, int64_t counted,
                      int64_t elementBytes, int ranks, double seconds) {
  double parts = entryOf(test).shape == Shape::whole ? 1 : ranks;
  if (test == CollectiveTest::hypercube)
    parts = ranks - 1;
  const double algorithm =
      double(counted) * double(elementBytes) * parts / 1e9 / seconds;
  return {algorithm, algorithm * busFactor(test, ranks)};
}

std::optional<double> ranksOfFactor(CollectiveTest test, double factor) {
  const double most = test == CollectiveTest::allReduce ? 2 : 1;
  const bool isConstant = busFactor(test, 2) == busFactor(test, 3);
  if (isConstant || factor < 0 || factor >= most)
    return std::nullopt;
  return most / (most - factor);
}

} // namespace reciperun::benchlog
