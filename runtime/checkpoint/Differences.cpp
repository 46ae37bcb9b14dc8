// Compares values as f64, which represents all types exactly.

#include "runtime/checkpoint/Differences.h"

#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reciperun::checkpoint {
namespace {

constexpr int64_t pieceElements = int64_t(1) << 17;

int find(const Manifest& manifest, const std::string& name) {
  const auto found =
      std::ranges::find(manifest.parameters, name, &SavedParameter::name);
  return found == manifest.parameters.end()
             ? -1
             : int(found - manifest.parameters.begin());
}

const char* nameOf(ElementType type) {
  switch (type) {
  case ElementType::f64:
    return "F64";
  case ElementType::f32:
    return "F32";
  case ElementType::f16:
    return "F16";
  case ElementType::bf16:
    return "BF16";
  }
  return "";
}

/// The type in which the weights are stored.
std::string typeOf(const SavedParameter& parameter) {
  for (const Piece& piece : parameter.pieces)
    if (piece.kind == StateKind::weight)
      return nameOf(piece.type);
  return "nothing";
}

Status readPiece(StateReader& reader, int parameter, int64_t first,
                 std::span<double> values) {
  const SavedParameter& saved = reader.manifest().parameters[size_t(parameter)];
  return reader.read(
      parameter, StateKind::weight, ShardLayout::whole(saved.shape), first,
      int64_t(values.size()), plan::DType::f64, std::as_writable_bytes(values));
}

ParameterDifference apart(const std::string& name, const std::string& why) {
  ParameterDifference difference;
  difference.name = name;
  difference.apart = why;
  return difference;
}

/// Equal values, or two NaNs.
bool isSame(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

Expected<ParameterDifference> compare(StateReader& a, int inA, StateReader& b,
                                      int inB) {
  const SavedParameter& left = a.manifest().parameters[size_t(inA)];
  const SavedParameter& right = b.manifest().parameters[size_t(inB)];
  ParameterDifference difference;
  difference.name = left.name;
  if (left.shape != right.shape) {
    difference.apart =
        "shape " + shapeText(left.shape) + " -> " + shapeText(right.shape);
    return difference;
  }
  if (typeOf(left) != typeOf(right))
    difference.types = typeOf(left) + " -> " + typeOf(right);
  difference.elements = plan::elementCount(left.shape);
  double magnitude = 0;
  std::vector<double> before, now;
  for (int64_t first = 0; first < difference.elements; first += pieceElements) {
    const auto count =
        size_t(std::min(pieceElements, difference.elements - first));
    before.resize(count);
    now.resize(count);
    RECIPERUN_TRY(readPiece(a, inA, first, before));
    RECIPERUN_TRY(readPiece(b, inB, first, now));
    for (size_t i = 0; i < count; ++i) {
      magnitude = std::max(magnitude, std::abs(before[i]));
      if (isSame(before[i], now[i]))
        continue;
      ++difference.different;
      const double distance = std::abs(before[i] - now[i]);
      difference.largest = std::isnan(distance)
                               ? std::numeric_limits<double>::infinity()
                               : std::max(difference.largest, distance);
    }
  }
  if (difference.largest > 0)
    difference.relative = difference.largest / magnitude;
  return difference;
}

} // namespace

Expected<std::vector<ParameterDifference>> differencesOf(StateReader& a,
                                                         StateReader& b) {
  std::vector<ParameterDifference> differences;
  const Manifest &left = a.manifest(), &right = b.manifest();
  for (size_t i = 0; i < left.parameters.size(); ++i) {
    const std::string& name = left.parameters[i].name;
    const int other = find(right, name);
    if (other < 0) {
      differences.push_back(apart(name, "in the first alone"));
      continue;
    }
    Expected<ParameterDifference> one = compare(a, int(i), b, other);
    RECIPERUN_TRY(one);
    differences.push_back(*std::move(one));
  }
  for (const SavedParameter& parameter : right.parameters)
    if (find(left, parameter.name) < 0)
      differences.push_back(apart(parameter.name, "in the second alone"));
  return differences;
}

} // namespace reciperun::checkpoint
