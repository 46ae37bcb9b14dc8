// Plain loops for every op; see Interpreter.h. The formulas follow the
// definitions, independently of the runtime's kernels.

#include "test/compiler/passes/Interpreter.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>

namespace recipec::test {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

namespace {

/// A pseudo-random number in [0, 1) from two seeds.
double noise(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15ull ^ (b + 1) * 0xbf58476d1ce4e5b9ull;
  for (int i = 0; i < 3; ++i) {
    x ^= x >> 29;
    x *= 0x94d049bb133111ebull;
  }
  return double(x >> 11) / 9007199254740992.0;
}

uint64_t hash(const std::string& text) {
  uint64_t value = 14695981039346656037ull;
  for (char c : text)
    value = (value ^ uint64_t(c)) * 1099511628211ull;
  return value;
}

int64_t product(const std::vector<int64_t>& shape, size_t from, size_t end) {
  int64_t size = 1;
  for (size_t i = from; i < end; ++i)
    size *= shape[i];
  return size;
}

int64_t product(const std::vector<int64_t>& shape) {
  return product(shape, 0, shape.size());
}

const double pi = std::acos(-1);

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

} // namespace

// ---- ranks and shards

Interpreter::Interpreter(const ir::Module& program) : program(program) {
  for (const ir::Axis& axis : program.axes)
    ranks *= axis.size;
  memory.assign(size_t(ranks), std::vector<Array>(program.values.size()));
  for (size_t i = 0; i < program.values.size(); ++i) {
    ValueId id = ValueId(i);
    Array all = initial(id);
    for (int rank = 0; rank < ranks; ++rank) {
      Array& local = at(rank, id);
      for (int64_t place : places(id, rank))
        local.push_back(all[size_t(place)]);
    }
  }
}

Array Interpreter::initial(ValueId id) const {
  const ir::Value& value = program[id];
  Array all(size_t(product(wholeShape(id))));
  if (value.kind != ir::ValueKind::input &&
      value.kind != ir::ValueKind::parameter)
    return all;
  uint64_t seed = hash(value.name);
  int64_t sequence = program.dims[1].size;
  for (size_t i = 0; i < all.size(); ++i) {
    double random = noise(seed, i);
    if (value.name == "tokens" || value.name == "labels" ||
        value.name == "further_labels")
      random = std::floor(random * 32);
    else if (value.name == "segments") // two documents, the last with padding
      random = int64_t(i) % sequence < 3              ? 0
               : int64_t(i) % sequence < sequence - 1 ? 1
                                                      : -1;
    else if (value.name == "positions" || value.name == "places")
      random = double(int64_t(i) % sequence);
    else if (value.name == "weights")
      random = random < 0.7;
    else if (value.name == "further_weights")
      random = random < 0.7 ? 0.5 : 0;
    else if (value.name == "samples")
      random = double(i);
    else if (value.name == "loss_scale")
      random = 0.125;
    else
      random = (random - 0.5) * (value.dims.size() == 1 ? 4 : 1);
    all[i] = random;
  }
  return all;
}

/// The rank's coordinate along axes, with the outermost axis most significant.
int Interpreter::coordinate(int rank, AxisSet axes) const {
  int result = 0, rest = ranks;
  for (size_t i = 0; i < program.axes.size(); ++i) {
    rest /= program.axes[i].size;
    if (axes.contains(ir::AxisId(i)))
      result =
          result * program.axes[i].size + rank / rest % program.axes[i].size;
  }
  return result;
}

Interpreter::Shape Interpreter::wholeShape(ValueId value) const {
  Shape shape;
  for (ir::DimId dim : program[value].dims)
    shape.push_back(program[dim].size);
  return shape;
}

Interpreter::Shape Interpreter::shape(ValueId value) const {
  return ir::localShape(program, value);
}

std::vector<int64_t> Interpreter::places(ValueId id, int rank) const {
  const ir::Value& value = program[id];
  std::vector<int64_t> result = {0};
  for (size_t i = 0; i < value.dims.size(); ++i) {
    AxisSet split = value.sharding.dims[i];
    int64_t size = program[value.dims[i]].size;
    int64_t local = size / ir::sizeOf(program, split);
    int64_t begin = coordinate(rank, split) * local;
    std::vector<int64_t> next;
    for (int64_t place : result)
      for (int64_t j = 0; j < local; ++j)
        next.push_back(place * size + begin + j);
    result = std::move(next);
  }
  return result;
}

Array Interpreter::whole(ValueId id, AxisSet isReduced) const {
  const ir::Value& value = program[id];
  AxisSet own = value.sharding.partial - isReduced;
  for (AxisSet split : value.sharding.dims)
    own = own | split;
  AxisSet copies;
  for (size_t i = 0; i < program.axes.size(); ++i)
    copies = copies | AxisSet(ir::AxisId(i));
  copies = copies - own;
  Array result(size_t(product(wholeShape(id))));
  for (int rank = 0; rank < ranks; ++rank) {
    if (coordinate(rank, copies) != 0)
      continue;
    std::vector<int64_t> where = places(id, rank);
    const Array& local = memory[size_t(rank)][size_t(id)];
    for (size_t i = 0; i < where.size(); ++i)
      result[size_t(where[i])] += local[i];
  }
  return result;
}

void Interpreter::nudge(ValueId parameter, int64_t element, double by) {
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<int64_t> where = places(parameter, rank);
    for (size_t i = 0; i < where.size(); ++i)
      if (where[i] == element)
        at(rank, parameter)[i] += by;
  }
}

void Interpreter::clear(ValueId value) {
  for (int rank = 0; rank < ranks; ++rank)
    std::fill(at(rank, value).begin(), at(rank, value).end(), 0.0);
}

Array& Interpreter::at(int rank, ValueId value) {
  return memory[size_t(rank)][size_t(value)];
}

double Interpreter::real(const Op& op, const char* name,
                         double otherwise) const {
  auto found = op.attributes.find(name);
  if (found == op.attributes.end())
    return otherwise;
  if (const bool* flag = std::get_if<bool>(&found->second))
    return *flag;
  if (const int64_t* whole = std::get_if<int64_t>(&found->second))
    return double(*whole);
  return std::get<double>(found->second);
}

void Interpreter::run(const std::string& name) {
  for (const Op& op : ir::findFunction(program, name)->ops) {
    if (ops::traitsOf(op.kind).isCollective || op.kind == OpKind::Slice) {
      if (hasPlaces(op.operands[0]))
        collectiveOfPlaces(op);
      else
        collective(op);
      continue;
    }
    for (int rank = 0; rank < ranks; ++rank)
      execute(op, rank);
  }
}

// ---- collectives

/// Reduces by sum or maximum over the group if the op reduces. Then every rank
/// takes its shard of the group's result.
void Interpreter::collective(const Op& op) {
  ValueId from = op.operands[0], to = op.results[0];
  // A slice takes its shard of its own rank's value.
  AxisSet group = op.kind == OpKind::Slice ? AxisSet() : op.group;
  AxisSet outside;
  for (size_t i = 0; i < program.axes.size(); ++i)
    outside = outside | AxisSet(ir::AxisId(i));
  outside = outside - group;
  bool isMax = op.attributes.contains("reduce") &&
               std::get<std::string>(op.attributes.at("reduce")) == "max";
  bool isSum = op.kind != OpKind::AllGather && !isMax;
  std::vector<Array> results;
  for (int rank = 0; rank < ranks; ++rank) {
    Array all(size_t(product(wholeShape(from))));
    std::vector<bool> isSet(all.size());
    for (int peer = 0; peer < ranks; ++peer) {
      if (coordinate(peer, outside) != coordinate(rank, outside))
        continue;
      std::vector<int64_t> where = places(from, peer);
      for (size_t i = 0; i < where.size(); ++i) {
        double& place = all[size_t(where[i])];
        double value = at(peer, from)[i];
        bool isFirst = !isSet[size_t(where[i])];
        isSet[size_t(where[i])] = true;
        place = isFirst ? value
                : isMax ? std::max(place, value)
                : isSum ? place + value
                        : value;
      }
    }
    Array local;
    for (int64_t place : places(to, rank))
      local.push_back(all[size_t(place)]);
    results.push_back(std::move(local));
  }
  for (int rank = 0; rank < ranks; ++rank)
    at(rank, to) = std::move(results[size_t(rank)]);
}

// ---- dispatch

void Interpreter::execute(const Op& op, int rank) {
  switch (op.kind) {
  case OpKind::Embedding:
    return embedding(op, rank);
  case OpKind::EmbeddingBackward:
    return embeddingBackward(op, rank);
  case OpKind::Linear:
    return linear(op, rank);
  case OpKind::LinearDgrad:
    return linearDgrad(op, rank);
  case OpKind::LinearWgrad:
    return linearWgrad(op, rank);
  case OpKind::LinearAdd:
    return linearAdd(op, rank);
  case OpKind::LinearJoint:
  case OpKind::LinearJointDgrad:
  case OpKind::LinearJointWgrad:
    return jointly(op, rank);
  case OpKind::AddBias:
  case OpKind::BiasBackward:
    return bias(op, rank);
  case OpKind::RmsNorm:
  case OpKind::LayerNorm:
    return norm(op, rank);
  case OpKind::RmsNormBackward:
  case OpKind::LayerNormBackward:
    return normBackward(op, rank);
  case OpKind::PositionScale:
    return positionScale(op, rank);
  case OpKind::Rope:
    return rope(op, rank);
  case OpKind::Narrow:
  case OpKind::Pad:
  case OpKind::Concat:
  case OpKind::Broadcast:
  case OpKind::BroadcastBackward:
    return parts(op, rank);
  case OpKind::Attention:
    return attention(op, rank);
  case OpKind::AttentionBackward:
    return attentionBackward(op, rank);
  case OpKind::Route:
  case OpKind::RouteBackward:
  case OpKind::Dispatch:
  case OpKind::DispatchBackward:
  case OpKind::Combine:
  case OpKind::CombineBackward:
  case OpKind::RowDots:
  case OpKind::SwigluBackwardDots:
  case OpKind::GatesBackward:
  case OpKind::ExpertLinear:
  case OpKind::ExpertLinearDgrad:
  case OpKind::ExpertLinearWgrad:
    return experts(op, rank);
  case OpKind::CausalConv:
  case OpKind::CausalConvBackward:
    return causalConv(op, rank);
  case OpKind::StateScan:
  case OpKind::StateScanBackward:
    return stateScan(op, rank);
  case OpKind::Dropout:
    return dropout(op, rank);
  case OpKind::SoftmaxMax:
  case OpKind::SoftmaxSum:
    return softmax(op, rank);
  case OpKind::SoftmaxStats:
    return softmaxStats(op, rank);
  case OpKind::Nll:
    return nll(op, rank);
  case OpKind::CrossEntropyBackward:
    return crossEntropyBackward(op, rank);
  default:
    return elementwise(op, rank);
  }
}

// ---- elementwise

/// The normal distribution function at x, as gelu uses it.
double Interpreter::normalBelow(const Op& op, double x) const {
  if (real(op, "exact", 0))
    return (1 + std::erf(x / std::sqrt(2))) / 2;
  return (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x))) / 2;
}

/// The derivative of normalBelow.
double Interpreter::normalAt(const Op& op, double x) const {
  if (real(op, "exact", 0))
    return std::exp(-x * x / 2) / std::sqrt(2 * pi);
  double root = std::sqrt(2 / pi);
  double u = root * (x + 0.044715 * x * x * x);
  return root * (1 + 3 * 0.044715 * x * x) / (2 * std::pow(std::cosh(u), 2));
}

void Interpreter::elementwise(const Op& op, int rank) {
  size_t size = at(rank, op.results[0]).size();
  for (size_t i = 0; i < size; ++i) {
    auto in = [&](size_t operand) { return at(rank, op.operands[operand])[i]; };
    double& y = at(rank, op.results[0])[i];
    switch (op.kind) {
    case OpKind::Zero:
      y = 0;
      break;
    case OpKind::Add:
      y = in(0) + in(1);
      break;
    case OpKind::Mul:
      y = in(0) * in(1);
      break;
    case OpKind::Scale:
      y = real(op, "alpha", 0) * in(0);
      break;
    case OpKind::Silu:
      y = in(0) * sigmoid(in(0));
      break;
    case OpKind::SiluBackward: {
      double x = in(1), s = sigmoid(x);
      y = in(0) * s * (1 + x * (1 - s));
      break;
    }
    case OpKind::Gelu:
      y = in(0) * normalBelow(op, in(0));
      break;
    case OpKind::GeluBackward:
      y = in(0) * (normalBelow(op, in(1)) + in(1) * normalAt(op, in(1)));
      break;
    case OpKind::Relu2:
      y = in(0) > 0 ? in(0) * in(0) : 0;
      break;
    case OpKind::Relu2Backward:
      y = in(1) > 0 ? 2 * in(0) * in(1) : 0;
      break;
    case OpKind::Sigmoid:
      y = 1 / (1 + std::exp(-in(0)));
      break;
    case OpKind::SigmoidBackward: {
      const double gate = 1 / (1 + std::exp(-in(1)));
      y = in(0) * gate * (1 - gate);
      break;
    }
    case OpKind::Softcap:
      y = real(op, "cap", 0) * std::tanh(in(0) / real(op, "cap", 0));
      break;
    case OpKind::SoftcapBackward:
      y = in(0) / std::pow(std::cosh(in(1) / real(op, "cap", 0)), 2);
      break;
    case OpKind::Swiglu:
      y = in(0) * sigmoid(in(0)) * in(1);
      break;
    case OpKind::SwigluBackward: {
      double dy = in(0), gate = in(1), up = in(2), s = sigmoid(gate);
      at(rank, op.results[1])[i] = dy * gate * s;
      y = dy * up * s * (1 + gate * (1 - s));
      break;
    }
    default:
      assert(false && "the interpreter lacks an op");
      std::abort();
    }
  }
}

void Interpreter::dropout(const Op& op, int rank) {
  const Array& x = at(rank, op.operands[0]);
  Array& y = at(rank, op.results[0]);
  double p = real(op, "p", 0);
  std::vector<int64_t> where = places(op.operands[0], rank);
  uint64_t stream = uint64_t(real(op, "stream", 0)) + 1000;
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = noise(stream, uint64_t(where[i])) < p ? 0 : x[i] / (1 - p);
}

// ---- loss

void Interpreter::softmax(const Op& op, int rank) {
  const Array& logits = at(rank, op.operands[0]);
  Shape sizes = shape(op.operands[0]);
  size_t v = size_t(sizes.back());
  size_t first =
      size_t(coordinate(rank, program[op.operands[0]].sharding.dims.back())) *
      v;
  Array& out = at(rank, op.results[0]);
  for (size_t i = 0; i < logits.size() / v; ++i) {
    auto row = logits.begin() + long(i * v);
    if (op.kind == OpKind::SoftmaxMax) {
      out[i] = *std::max_element(row, row + long(v));
      continue;
    }
    size_t label = size_t(at(rank, op.operands[2])[i]);
    out[2 * i] = 0;
    for (size_t j = 0; j < v; ++j)
      out[2 * i] += std::exp(row[long(j)] - at(rank, op.operands[1])[i]);
    bool isHere = label >= first && label < first + v;
    out[2 * i + 1] = isHere ? row[long(label - first)] : 0;
  }
}

void Interpreter::softmaxStats(const Op& op, int rank) {
  Op part = op;
  part.kind = OpKind::SoftmaxMax;
  part.results = {op.results[0]};
  softmax(part, rank);
  part.kind = OpKind::SoftmaxSum;
  part.operands = {op.operands[0], op.results[0], op.operands[1]};
  part.results = {op.results[1]};
  softmax(part, rank);
}

void Interpreter::nll(const Op& op, int rank) {
  const Array &max = at(rank, op.operands[0]),
              &stats = at(rank, op.operands[1]),
              &weights = at(rank, op.operands[2]),
              &scale = at(rank, op.operands[3]);
  for (size_t i = 0; i < max.size(); ++i)
    at(rank, op.results[0])[0] +=
        weights[i] * scale[0] *
        (std::log(stats[2 * i]) + max[i] - stats[2 * i + 1]);
}

void Interpreter::crossEntropyBackward(const Op& op, int rank) {
  Array logits = at(rank, op.operands[0]);
  const Array &max = at(rank, op.operands[1]),
              &stats = at(rank, op.operands[2]),
              &labels = at(rank, op.operands[3]),
              &weights = at(rank, op.operands[4]),
              &scale = at(rank, op.operands[5]);
  size_t v = size_t(shape(op.operands[0]).back());
  size_t first =
      size_t(coordinate(rank, program[op.operands[0]].sharding.dims.back())) *
      v;
  Array& d = at(rank, op.results[0]);
  for (size_t i = 0; i < logits.size(); ++i) {
    size_t row = i / v;
    double p = std::exp(logits[i] - max[row]) / stats[2 * row];
    bool isLabel = size_t(labels[row]) == first + i % v;
    d[i] = weights[row] * scale[0] * (p - double(isLabel));
  }
}

} // namespace recipec::test
