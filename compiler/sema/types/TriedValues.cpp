// Proposes values for the field that is being set; see TriedValues.h.

#include "compiler/sema/types/TriedValues.h"

#include "compiler/sema/Evaluator.h"

#include <charconv>
#include <cmath>

namespace recipec::sema {
namespace {

/// Larger values are not rounded.
constexpr double largestWhole = 1e15;

/// `cluster.ranks / 4` for `cluster.ranks / 3`: the nearest divisors that leave
/// no remainder. `value` is the quotient as written.
diag::Proposal otherDivisors(const std::string& written, double value,
                             SourceRange range) {
  constexpr int64_t reach = 16;
  constexpr size_t mostTried = 6;
  diag::Proposal proposal{
      "choose a divisor without a remainder: write ", {}, "", 2};
  const size_t sign = written.rfind('/');
  const size_t begin = written.find_first_not_of(' ', sign + 1);
  int64_t divisor = 0;
  if (sign == written.npos || begin == written.npos)
    return proposal;
  const char* end = written.data() + written.size();
  const auto read = std::from_chars(written.data() + begin, end, divisor);
  const double whole = value * double(divisor);
  if (read.ec != std::errc() || read.ptr != end || divisor < 1 ||
      std::abs(whole - std::round(whole)) > 1e-6)
    return proposal;
  const auto dividend = int64_t(std::round(whole));
  for (int64_t step = 1; step <= reach; ++step)
    for (const int64_t other : {divisor - step, divisor + step}) {
      if (other < 2 || dividend % other != 0 ||
          proposal.ways.size() == mostTried)
        continue;
      const std::string text = written.substr(0, begin) + std::to_string(other);
      proposal.ways.push_back({"`" + text + "`", {}, {{range, text}}});
    }
  return proposal;
}

/// The size of a field, which may be a dimension; 0 for other values.
int64_t sizeOf(const Slot* slot) {
  if (!slot)
    return 0;
  if (const DimRef* dim = slot->value.get<DimRef>())
    return dim->size;
  const int64_t* whole = slot->value.get<int64_t>();
  return whole ? *whole : 0;
}

/// The nearest sizes below and above `now` that `fits` accepts.
template <class Test>
std::vector<int64_t> nearestSizes(int64_t now, const Test& fits) {
  std::vector<int64_t> sizes;
  for (const int step : {-1, 1})
    for (int64_t size = now + step; size >= 1 && size <= 2 * now; size += step)
      if (fits(size)) {
        sizes.push_back(size);
        break;
      }
  return sizes;
}

} // namespace

void proposeSizes(Evaluator& evaluator, diag::Builder& builder,
                  const std::string& quotient, const std::string& otherwise) {
  const Object* object = evaluator.typing.first;
  const size_t sign = quotient.find(" / ");
  const Slot* slots[2] = {};
  if (object && sign != quotient.npos && !pathBeingSet(evaluator).empty())
    for (const Slot& slot : object->slots) {
      if (slot.name == quotient.substr(0, sign))
        slots[0] = &slot;
      if (slot.name == quotient.substr(sign + 3))
        slots[1] = &slot;
    }
  const int64_t dividend = sizeOf(slots[0]), divisor = sizeOf(slots[1]);
  builder.otherwise(otherwise);
  if (dividend < 1 || divisor < 1)
    return;
  const std::vector<int64_t> sizes[] = {
      nearestSizes(dividend, [&](int64_t size) { return size % divisor == 0; }),
      nearestSizes(divisor,
                   [&](int64_t size) { return dividend % size == 0; })};
  // Change the recipe's own size before a size that a parent sets.
  const bool isDividend = evaluator.isOwnPlace(slots[0]->value.origin.range) &&
                          !evaluator.isOwnPlace(slots[1]->value.origin.range);
  for (const size_t i : {size_t(!isDividend), size_t(isDividend)}) {
    const std::string name(slots[i]->name);
    diag::Proposal proposal{"change `" + name + "` to ", {}, "", 2};
    for (const int64_t size : sizes[i])
      proposal.ways.push_back({std::to_string(size),
                               {evaluator.pathOf(*object, slots[i]->name) +
                                "=" + std::to_string(size)}});
    builder.propose(std::move(proposal));
  }
}

std::string pathBeingSet(const Evaluator& evaluator) {
  const auto [object, slot] = evaluator.typing;
  const Object* outermost = object;
  while (outermost && outermost->container)
    outermost = outermost->container;
  const bool isOfRecipe = outermost && slot && outermost->schema &&
                          outermost->schema == evaluator.recipes.loadedSchema();
  return isOfRecipe ? evaluator.pathOf(*object, slot->name) : std::string();
}

bool proposeNumbers(Evaluator& evaluator, diag::Builder& builder,
                    const std::string& before, const std::string& otherwise) {
  const std::string path = pathBeingSet(evaluator);
  if (path.empty())
    return false;
  diag::Proposal proposal{before, {}, "", 2};
  for (const int number : {2, 4, 8, 16, 32, 64, 128, 1})
    proposal.ways.push_back({"`" + std::to_string(number) + "`",
                             {path + "=" + std::to_string(number)}});
  builder.propose(std::move(proposal)).otherwise(otherwise);
  return true;
}

bool proposeChoices(Evaluator& evaluator, diag::Builder& builder,
                    const std::vector<std::string>& choices, const Type& type,
                    const std::string& otherwise) {
  const std::string path = pathBeingSet(evaluator);
  const auto [object, slot] = evaluator.typing;
  if (path.empty() || evaluator.objects.typeOf(*object, *slot) != &type)
    return false;
  diag::Proposal proposal{"write ", {}, "", choices.size()};
  for (const std::string& each : choices)
    proposal.ways.push_back({"`" + each + "`", {path + "=" + each}});
  builder.propose(std::move(proposal)).otherwise(otherwise);
  return true;
}

void proposeWhole(const Evaluator& evaluator, diag::Builder& builder,
                  double value, SourceRange range,
                  const std::string& otherwise) {
  const std::string written(evaluator.sources.text(range));
  if (written.find('\n') != written.npos || std::abs(value) > largestWhole) {
    builder.help(otherwise);
    return;
  }
  const bool isUp = std::round(value) > value;
  diag::Proposal rounded{"round it: write ", {}, ""};
  for (const char* function : {"round", isUp ? "floor" : "ceil"}) {
    const std::string text = std::string(function) + "(" + written + ")";
    rounded.ways.push_back({"`" + text + "`", {}, {{range, text}}});
  }
  builder.propose(std::move(rounded))
      .propose(otherDivisors(written, value, range))
      .otherwise(otherwise);
}

} // namespace recipec::sema
