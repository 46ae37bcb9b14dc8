// Attention, one pair of query and key at a time; see Interpreter.h.

#include "test/compiler/passes/Interpreter.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace recipec::test {

using ir::Op;

namespace {

/// Element offsets in attention's operands: q [b, s, hq, d], k [b, u, hk, d].
struct AttentionShape {
  size_t b, s, u, hq, hk, d;
  size_t q(size_t i, size_t t, size_t h) const {
    return ((i * s + t) * hq + h) * d;
  }
  size_t k(size_t i, size_t t, size_t h) const {
    return ((i * u + t) * hk + h / (hq / hk)) * d;
  }
};

/// Segments and positions of queries and of keys.
struct Tokens {
  const Array &querySegments, &queryPlaces, &keySegments, &keyPlaces;
};

/// Which tokens of a document a token sees, and how a dot product becomes a
/// score. 0 means no bound.
struct Bounds {
  double window, chunk, scale, softcap;

  double score(double product) const {
    double s = scale * product;
    return softcap > 0 ? softcap * std::tanh(s / softcap) : s;
  }
  double slope(double product) const {
    double t = softcap > 0 ? std::tanh(scale * product / softcap) : 0;
    return scale * (1 - t * t);
  }
};

double dot(const Array& a, size_t at, const Array& b, size_t bt, size_t d) {
  double sum = 0;
  for (size_t j = 0; j < d; ++j)
    sum += a[at + j] * b[bt + j];
  return sum;
}

using Pair = std::function<void(size_t i, size_t h, size_t t, size_t u)>;

/// Visits every query t and key u that attend to each other.
void forPairs(const AttentionShape& a, const Tokens& tokens,
              const Bounds& bounds, const Pair& visit) {
  auto attends = [&](size_t query, size_t key) {
    double distance = tokens.queryPlaces[query] - tokens.keyPlaces[key];
    if (bounds.window > 0 && distance >= bounds.window)
      return false;
    if (bounds.chunk > 0 &&
        std::floor(tokens.queryPlaces[query] / bounds.chunk) !=
            std::floor(tokens.keyPlaces[key] / bounds.chunk))
      return false;
    return tokens.querySegments[query] >= 0 &&
           tokens.querySegments[query] == tokens.keySegments[key] &&
           tokens.keyPlaces[key] <= tokens.queryPlaces[query];
  };
  for (size_t i = 0; i < a.b; ++i)
    for (size_t h = 0; h < a.hq; ++h)
      for (size_t t = 0; t < a.s; ++t)
        for (size_t u = 0; u < a.u; ++u)
          if (attends(i * a.s + t, i * a.u + u))
            visit(i, h, t, u);
}

AttentionShape attentionShape(const std::vector<int64_t>& q,
                              const std::vector<int64_t>& k) {
  return {size_t(q[0]), size_t(q[1]), size_t(k[1]),
          size_t(q[2]), size_t(k[2]), size_t(q[3])};
}

} // namespace

void Interpreter::attention(const Op& op, int rank) {
  const Array &q = at(rank, op.operands[0]), &k = at(rank, op.operands[1]),
              &v = at(rank, op.operands[2]);
  Array &o = at(rank, op.results[0]), &lse = at(rank, op.results[1]);
  const Tokens tokens{at(rank, op.operands[3]), at(rank, op.operands[4]),
                      at(rank, op.operands[5]), at(rank, op.operands[6])};
  AttentionShape a =
      attentionShape(shape(op.operands[0]), shape(op.operands[1]));
  const Bounds bounds{real(op, "window", 0), real(op, "chunk", 0),
                      real(op, "scale", 0), real(op, "softcap", 0)};
  std::fill(o.begin(), o.end(), 0.0);
  std::fill(lse.begin(), lse.end(), 0.0);
  auto score = [&](size_t i, size_t h, size_t t, size_t u) {
    return bounds.score(dot(q, a.q(i, t, h), k, a.k(i, u, h), a.d));
  };
  forPairs(a, tokens, bounds, [&](size_t i, size_t h, size_t t, size_t u) {
    lse[(i * a.hq + h) * a.s + t] += std::exp(score(i, h, t, u));
  });
  for (double& each : lse)
    each = std::log(each);
  forPairs(a, tokens, bounds, [&](size_t i, size_t h, size_t t, size_t u) {
    double p = std::exp(score(i, h, t, u) - lse[(i * a.hq + h) * a.s + t]);
    for (size_t j = 0; j < a.d; ++j)
      o[a.q(i, t, h) + j] += p * v[a.k(i, u, h) + j];
  });
}

void Interpreter::attentionBackward(const Op& op, int rank) {
  const Array &dout = at(rank, op.operands[0]), &o = at(rank, op.operands[1]),
              &q = at(rank, op.operands[2]), &k = at(rank, op.operands[3]),
              &v = at(rank, op.operands[4]), &lse = at(rank, op.operands[5]);
  Array &dq = at(rank, op.results[0]), &dk = at(rank, op.results[1]),
        &dv = at(rank, op.results[2]);
  for (Array* each : {&dq, &dk, &dv})
    std::fill(each->begin(), each->end(), 0.0);
  const Tokens tokens{at(rank, op.operands[6]), at(rank, op.operands[7]),
                      at(rank, op.operands[8]), at(rank, op.operands[9])};
  AttentionShape a =
      attentionShape(shape(op.operands[2]), shape(op.operands[3]));
  const Bounds bounds{real(op, "window", 0), real(op, "chunk", 0),
                      real(op, "scale", 0), real(op, "softcap", 0)};
  forPairs(a, tokens, bounds, [&](size_t i, size_t h, size_t t, size_t u) {
    size_t x = a.q(i, t, h), y = a.k(i, u, h);
    double product = dot(q, x, k, y, a.d);
    double p = std::exp(bounds.score(product) - lse[(i * a.hq + h) * a.s + t]);
    double ds = bounds.slope(product) * p *
                (dot(dout, x, v, y, a.d) - dot(dout, x, o, x, a.d));
    for (size_t j = 0; j < a.d; ++j) {
      dv[y + j] += p * dout[x + j];
      dq[x + j] += ds * k[y + j];
      dk[y + j] += ds * q[x + j];
    }
  });
}

} // namespace recipec::test
