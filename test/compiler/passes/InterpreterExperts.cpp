// Mixtures of experts by their definitions; see Interpreter.h.
//
// A router's gradient uses the explicit Jacobian of the scores, in contrast to
// the closed forms of the runtime's kernel.

#include "runtime/ops/OpKind.h"
#include "test/compiler/passes/Interpreter.h"

#include <algorithm>
#include <cmath>

namespace recipec::test {

using ir::Op;
using ir::ValueId;

namespace {

bool isSigmoid(const Op& op) {
  return std::get<std::string>(op.attributes.at("score")) == "sigmoid";
}

Array scoresOf(const Op& op, const double* logits, size_t experts) {
  Array scores(experts);
  double sum = 0;
  for (size_t e = 0; e < experts; ++e) {
    scores[e] = std::exp(logits[e]);
    sum += scores[e];
  }
  for (double& score : scores)
    score = isSigmoid(op) ? score / (1 + score) : score / sum;
  return scores;
}

double logSum(const double* logits, size_t experts) {
  double sum = 0;
  for (size_t e = 0; e < experts; ++e)
    sum += std::exp(logits[e]);
  return std::log(sum);
}

/// dscore[i] / dlogit[j]
double jacobian(const Op& op, const Array& scores, size_t i, size_t j) {
  if (isSigmoid(op))
    return i == j ? scores[i] * (1 - scores[i]) : 0;
  return scores[i] * (double(i == j) - scores[j]);
}

} // namespace

/// The operands of a sequence and the terms of its losses.
struct Interpreter::Sequence {
  size_t tokens, experts, choices;
  const double *logits, *segments;
  double weight = 0, real = 0;
  Array counts; // by expert

  bool isPadding(size_t token) const { return segments[token] < 0; }
};

Interpreter::Sequence Interpreter::sequenceOf(const Op& op, int rank,
                                              size_t first, size_t sample) {
  ValueId logits = op.operands[first], choices = op.operands[first + 2];
  if (first == 0)
    choices = op.results[0];
  Shape sizes = shape(logits);
  Sequence row{size_t(sizes[1]),
               size_t(sizes[2]),
               size_t(shape(choices)[2]),
               &at(rank, logits)[sample * size_t(sizes[1] * sizes[2])],
               &at(rank, op.operands[first + 1])[sample * size_t(sizes[1])],
               0,
               0,
               Array(size_t(sizes[2]))};
  const Array &weights = at(rank, op.operands[3 + (first > 0)]),
              &scale = at(rank, op.operands[4 + (first > 0)]);
  for (size_t t = 0; t < row.tokens; ++t) {
    row.weight += weights[sample * row.tokens + t] * scale[0];
    row.real += !row.isPadding(t);
  }
  return row;
}

void Interpreter::countChoices(Sequence& row, const double* choices) {
  for (size_t i = 0; i < row.tokens * row.choices; ++i)
    if (!row.isPadding(i / row.choices))
      ++row.counts[size_t(choices[i] < 0 ? -1 - choices[i] : choices[i])];
}

void Interpreter::route(const Op& op, int rank) {
  size_t samples = size_t(shape(op.operands[0])[0]);
  for (size_t b = 0; b < samples; ++b) {
    Sequence row = sequenceOf(op, rank, 0, b);
    size_t size = row.tokens * row.choices;
    double* choices = &at(rank, op.results[0])[b * size];
    double* gates = &at(rank, op.results[1])[b * size];
    choose(op, row, choices, gates);
    countChoices(row, choices);
    drop(op, row, choices, gates);
    double balance = 0, square = 0;
    for (size_t t = 0; t < row.tokens; ++t) {
      if (row.isPadding(t))
        continue;
      Array scores = scoresOf(op, row.logits + t * row.experts, row.experts);
      double sum = 0, product = 0;
      for (size_t e = 0; e < row.experts; ++e) {
        sum += scores[e];
        product += scores[e] * row.counts[e];
      }
      balance += product / sum;
      square += std::pow(logSum(row.logits + t * row.experts, row.experts), 2);
    }
    double factor = row.weight / row.real * real(op, "share", 1);
    at(rank, op.results[2])[0] +=
        factor * (real(op, "aux_loss", 0) * double(row.experts) * balance /
                      (double(row.choices) * row.real) +
                  real(op, "z_loss", 0) * square);
  }
}

void Interpreter::choose(const Op& op, const Sequence& row, double* choices,
                         double* gates) {
  for (size_t t = 0; t < row.tokens; ++t) {
    double *own = choices + t * row.choices, *gate = gates + t * row.choices;
    std::fill_n(own, row.choices, -1);
    std::fill_n(gate, row.choices, 0);
    if (row.isPadding(t))
      continue;
    Array scores = scoresOf(op, row.logits + t * row.experts, row.experts);
    std::vector<size_t> order(row.experts);
    for (size_t e = 0; e < row.experts; ++e)
      order[e] = e;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    double sum = 0;
    for (size_t j = 0; j < row.choices; ++j)
      sum += scores[order[j]];
    for (size_t j = 0; j < row.choices; ++j) {
      own[j] = double(order[j]);
      gate[j] = scores[order[j]] * real(op, "scale", 1) /
                (real(op, "normalize", 1) != 0 ? sum : 1);
    }
  }
}

/// An expert keeps the tokens with the largest gates.
void Interpreter::drop(const Op& op, const Sequence& row, double* choices,
                       double* gates) {
  size_t limit = size_t(real(op, "limit", double(row.tokens)));
  for (size_t e = 0; e < row.experts; ++e) {
    std::vector<size_t> own;
    for (size_t i = 0; i < row.tokens * row.choices; ++i)
      if (choices[i] == double(e))
        own.push_back(i);
    std::sort(own.begin(), own.end(),
              [&](size_t a, size_t b) { return gates[a] > gates[b]; });
    for (size_t i = limit; i < own.size(); ++i) {
      choices[own[i]] = -1 - double(e);
      gates[own[i]] = 0;
    }
  }
}

void Interpreter::routeBackward(const Op& op, int rank) {
  size_t samples = size_t(shape(op.operands[1])[0]);
  for (size_t b = 0; b < samples; ++b) {
    Sequence row = sequenceOf(op, rank, 1, b);
    size_t size = row.tokens * row.choices;
    const double* choices = &at(rank, op.operands[3])[b * size];
    const double* dgates = &at(rank, op.operands[0])[b * size];
    countChoices(row, choices);
    double factor = row.weight / row.real;
    for (size_t t = 0; t < row.tokens; ++t) {
      const double* logits = row.logits + t * row.experts;
      double* d = &at(rank, op.results[0])[(b * row.tokens + t) * row.experts];
      std::fill_n(d, row.experts, 0);
      if (row.isPadding(t))
        continue;
      Array scores = scoresOf(op, logits, row.experts), slopes(row.experts);
      double chosen = 0, all = 0, product = 0;
      auto expert = [&](size_t j) {
        double choice = choices[t * row.choices + j];
        return size_t(choice < 0 ? -1 - choice : choice);
      };
      for (size_t j = 0; j < row.choices; ++j)
        chosen += scores[expert(j)];
      for (size_t e = 0; e < row.experts; ++e) {
        all += scores[e];
        product += scores[e] * row.counts[e];
      }
      for (size_t j = 0; j < row.choices; ++j) {
        if (choices[t * row.choices + j] < 0)
          continue;
        double scaled = dgates[t * row.choices + j] * real(op, "scale", 1);
        if (real(op, "normalize", 1) == 0) {
          slopes[expert(j)] += scaled;
          continue;
        }
        slopes[expert(j)] += scaled / chosen;
        for (size_t i = 0; i < row.choices; ++i)
          slopes[expert(i)] -= scaled * scores[expert(j)] / (chosen * chosen);
      }
      double balance = factor * real(op, "aux_loss", 0) * double(row.experts) /
                       (double(row.choices) * row.real);
      for (size_t e = 0; e < row.experts; ++e)
        slopes[e] += balance * (row.counts[e] / all - product / (all * all));
      double log = logSum(logits, row.experts);
      for (size_t e = 0; e < row.experts; ++e) {
        for (size_t i = 0; i < row.experts; ++i)
          d[e] += slopes[i] * jacobian(op, scores, i, e);
        d[e] += factor * real(op, "z_loss", 0) * 2 * log *
                std::exp(logits[e] - log);
      }
    }
  }
}

// ---- rows

void Interpreter::dispatch(const Op& op, int rank) {
  const Array& choices = at(rank, op.operands[1]);
  Array &rows = at(rank, op.results[1]), &counts = at(rank, op.results[2]);
  size_t places = size_t(shape(op.results[0])[1]);
  size_t members = size_t(shape(op.results[2])[2]);
  std::fill(counts.begin(), counts.end(), 0.0);
  for (double choice : choices)
    if (choice >= 0)
      ++counts[size_t(choice)];
  Array next(counts.size());
  for (size_t e = 0; e < next.size(); ++e) {
    next[e] = e % members == 0 ? double(e / members * places)
                               : next[e - 1] + counts[e - 1];
    overflow =
        overflow || next[e] + counts[e] > double((e / members + 1) * places);
  }
  for (size_t i = 0; i < choices.size(); ++i)
    rows[i] = choices[i] < 0 ? -1 : next[size_t(choices[i])]++;
  scatter(op.operands[0], op.results[1], op.operands[2], op.results[0], rank);
}

/// to[row] = gate from[token], 0 for rows without a token.
void Interpreter::scatter(ValueId from, ValueId rows, ValueId gates, ValueId to,
                          int rank) {
  size_t width = size_t(shape(from)[2]), k = size_t(shape(rows)[2]);
  Array& out = at(rank, to);
  std::fill(out.begin(), out.end(), 0.0);
  const Array& number = at(rank, rows);
  for (size_t i = 0; i < number.size(); ++i)
    for (size_t c = 0; number[i] >= 0 && c < width; ++c)
      out[size_t(number[i]) * width + c] =
          at(rank, from)[i / k * width + c] *
          (gates == ValueId::none ? 1 : at(rank, gates)[i]);
}

/// to[token] = sum of gate from[row].
void Interpreter::gather(ValueId from, ValueId rows, ValueId gates, ValueId to,
                         int rank) {
  size_t width = size_t(shape(to)[2]), k = size_t(shape(rows)[2]);
  Array& out = at(rank, to);
  std::fill(out.begin(), out.end(), 0.0);
  const Array& number = at(rank, rows);
  for (size_t i = 0; i < number.size(); ++i)
    for (size_t c = 0; number[i] >= 0 && c < width; ++c)
      out[i / k * width + c] +=
          at(rank, from)[size_t(number[i]) * width + c] *
          (gates == ValueId::none ? 1 : at(rank, gates)[i]);
}

void Interpreter::gateProducts(ValueId tokens, ValueId experts, ValueId rows,
                               ValueId dgates, int rank) {
  if (dgates == ValueId::none)
    return;
  size_t width = size_t(shape(tokens)[2]), k = size_t(shape(rows)[2]);
  const Array& number = at(rank, rows);
  for (size_t i = 0; i < number.size(); ++i) {
    double sum = 0;
    for (size_t c = 0; number[i] >= 0 && c < width; ++c)
      sum += at(rank, tokens)[i / k * width + c] *
             at(rank, experts)[size_t(number[i]) * width + c];
    at(rank, dgates)[i] = sum;
  }
}

void Interpreter::rowDots(ValueId a, ValueId b, ValueId dots, int rank) {
  Array& sums = at(rank, dots);
  const size_t width = at(rank, a).size() / sums.size();
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = 0;
    for (size_t c = i * width; c < (i + 1) * width; ++c)
      sums[i] += at(rank, a)[c] * at(rank, b)[c];
  }
}

void Interpreter::swigluBackwardDots(const Op& op, int rank) {
  const Array dy = at(rank, op.operands[0]), gate = at(rank, op.operands[1]),
              up = at(rank, op.operands[2]);
  Array& dots = at(rank, op.results[2]);
  const size_t width = dy.size() / dots.size();
  std::fill(dots.begin(), dots.end(), 0.0);
  for (size_t i = 0; i < dy.size(); ++i) {
    const double s = 1 / (1 + std::exp(-gate[i]));
    dots[i / width] += dy[i] * gate[i] * s * up[i];
    at(rank, op.results[1])[i] = dy[i] * gate[i] * s;
    at(rank, op.results[0])[i] = dy[i] * up[i] * s * (1 + gate[i] * (1 - s));
  }
}

void Interpreter::gatesBackward(const Op& op, int rank) {
  const Array &dots = at(rank, op.operands[0]),
              &rows = at(rank, op.operands[1]),
              &gates = at(rank, op.operands[2]);
  for (size_t i = 0; i < rows.size(); ++i)
    at(rank, op.results[0])[i] =
        rows[i] < 0 || gates[i] == 0 ? 0 : dots[size_t(rows[i])] / gates[i];
}

// ---- collectives

namespace {

using Shape = std::vector<int64_t>;

/// Numbers of elements before and after a dimension.
struct Around {
  size_t outer = 1, inner = 1;
  Around(const Shape& shape, size_t dim) {
    for (size_t i = 0; i < shape.size(); ++i)
      (i < dim ? outer : inner) *= size_t(i == dim ? 1 : shape[i]);
  }
};

Array cut(const Array& all, const Shape& shape, size_t dim, int parts,
          int number) {
  Around around(shape, dim);
  size_t run = size_t(shape[dim] / parts) * around.inner;
  Array result;
  for (size_t i = 0; i < around.outer; ++i) {
    auto from = all.begin() + long((i * size_t(parts) + size_t(number)) * run);
    result.insert(result.end(), from, from + long(run));
  }
  return result;
}

/// Concatenates parts along `dim`. `shape` is the shape of a part.
Array joined(const std::vector<Array>& parts, const Shape& shape, size_t dim) {
  Around around(shape, dim);
  size_t run = size_t(shape[dim]) * around.inner;
  Array result;
  for (size_t i = 0; i < around.outer; ++i)
    for (const Array& part : parts)
      result.insert(result.end(), part.begin() + long(i * run),
                    part.begin() + long((i + 1) * run));
  return result;
}

} // namespace

bool Interpreter::hasPlaces(ValueId value) const {
  for (ir::DimId dim : program[value].dims)
    if (program[dim].name.starts_with("expert_places") ||
        program[dim].name.starts_with("expert_blocks"))
      return true;
  return false;
}

void Interpreter::collectiveOfPlaces(const Op& op) {
  using ir::OpKind;
  ir::AxisSet outside;
  for (size_t i = 0; i < program.axes.size(); ++i)
    outside = outside | ir::AxisSet(ir::AxisId(i));
  outside = outside - op.group;
  int parts = int(ir::sizeOf(program, op.group));
  Shape whole = shape(op.operands[0]);
  auto number = [&](const char* name) { return size_t(real(op, name, 0)); };
  std::vector<Array> results;
  for (int rank = 0; rank < ranks; ++rank) {
    int own = coordinate(rank, op.group);
    if (op.kind == OpKind::Slice) { // of its own rank's value
      results.push_back(
          cut(at(rank, op.operands[0]), whole, number("dim"), parts, own));
      continue;
    }
    std::vector<Array> all(static_cast<size_t>(parts));
    for (int peer = 0; peer < ranks; ++peer)
      if (coordinate(peer, outside) == coordinate(rank, outside))
        all[size_t(coordinate(peer, op.group))] = at(peer, op.operands[0]);
    if (op.kind == OpKind::AllGather) {
      results.push_back(joined(all, whole, number("dim")));
      continue;
    }
    if (op.kind == OpKind::AllToAll) {
      size_t split = number("split");
      Shape part = whole;
      part[split] /= parts;
      for (Array& each : all)
        each = cut(each, whole, split, parts, own);
      results.push_back(joined(all, part, number("concat")));
      continue;
    }
    Array sum(all[0].size());
    for (const Array& each : all)
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += each[i];
    results.push_back(op.kind == OpKind::AllReduce
                          ? sum
                          : cut(sum, whole, number("dim"), parts, own));
  }
  for (int rank = 0; rank < ranks; ++rank)
    at(rank, op.results[0]) = std::move(results[size_t(rank)]);
}

// ---- matmuls

/// Calls body(index in x, in y, in w) for each multiplication of the rows that
/// hold tokens: x [g,p,k], y [g,p,n], and w [e,n,k], or [e,k,n] if stacked.
template <class Body>
void Interpreter::groupedMatmul(const Op& op, int rank, ValueId x, ValueId y,
                                Body body) {
  Shape xs = shape(x), ys = shape(y), cs = shape(op.operands[2]);
  auto width = [](const Shape& shape) {
    int64_t size = 1;
    for (size_t i = 2; i < shape.size(); ++i)
      size *= shape[i];
    return size_t(size);
  };
  size_t k = width(xs), n = width(ys), blocks = size_t(cs[0] * cs[1]),
         members = size_t(cs[2]), height = size_t(xs[0] * xs[1]) / blocks;
  bool isStacked = real(op, "stacked", 0) != 0;
  const Array& counts = at(rank, op.operands[2]);
  for (size_t b = 0; b < blocks; ++b) {
    size_t row = b * height;
    for (size_t m = 0; m < members; ++m)
      for (double i = 0; i < counts[b * members + m]; ++i, ++row)
        for (size_t j = 0; j < n; ++j)
          for (size_t l = 0; l < k; ++l) {
            size_t expert = b / size_t(cs[1]) * members + m;
            size_t inner = isStacked ? l * n + j : j * k + l;
            body(row * k + l, row * n + j, expert * n * k + inner);
          }
  }
}

void Interpreter::expertLinear(const Op& op, int rank) {
  using ir::OpKind;
  Array& out = at(rank, op.results[0]);
  const Array &a = at(rank, op.operands[0]), &b = at(rank, op.operands[1]);
  double alpha = real(op, "alpha", 1);
  bool isAdded =
      real(op, "accumulate", 0) != 0 || op.kind == OpKind::ExpertLinearWgrad;
  if (!isAdded)
    std::fill(out.begin(), out.end(), 0.0);
  if (op.kind == OpKind::ExpertLinear)
    groupedMatmul(
        op, rank, op.operands[0], op.results[0],
        [&](size_t x, size_t y, size_t w) { out[y] += alpha * a[x] * b[w]; });
  else if (op.kind == OpKind::ExpertLinearDgrad)
    groupedMatmul(
        op, rank, op.results[0], op.operands[0],
        [&](size_t x, size_t y, size_t w) { out[x] += alpha * a[y] * b[w]; });
  else
    groupedMatmul(
        op, rank, op.operands[0], op.operands[1],
        [&](size_t x, size_t y, size_t w) { out[w] += alpha * a[x] * b[y]; });
}

void Interpreter::experts(const Op& op, int rank) {
  using ir::OpKind;
  switch (op.kind) {
  case OpKind::Route:
    return route(op, rank);
  case OpKind::RouteBackward:
    return routeBackward(op, rank);
  case OpKind::Dispatch:
    return dispatch(op, rank);
  case OpKind::DispatchBackward:
    gateProducts(op.operands[2], op.operands[0], op.operands[1], op.results[1],
                 rank);
    return gather(op.operands[0], op.operands[1], op.operands[3], op.results[0],
                  rank);
  case OpKind::Combine:
    return gather(op.operands[0], op.operands[1], op.operands[2], op.results[0],
                  rank);
  case OpKind::CombineBackward:
    gateProducts(op.operands[0], op.operands[2], op.operands[1], op.results[1],
                 rank);
    return scatter(op.operands[0], op.operands[1], op.operands[3],
                   op.results[0], rank);
  case OpKind::RowDots:
    return rowDots(op.operands[0], op.operands[1], op.results[0], rank);
  case OpKind::SwigluBackwardDots:
    return swigluBackwardDots(op, rank);
  case OpKind::GatesBackward:
    return gatesBackward(op, rank);
  default:
    return expertLinear(op, rank);
  }
}

} // namespace recipec::test
