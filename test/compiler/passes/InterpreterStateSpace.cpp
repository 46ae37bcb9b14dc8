// State spaces, token by token; see Interpreter.h.

#include "runtime/ops/OpKind.h"
#include "test/compiler/passes/Interpreter.h"

#include <cmath>

namespace recipec::test {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// x [b, s, channels] and w [channels, taps], with the channels of all groups.
void Interpreter::causalConv(const Op& op, int rank) {
  bool isBackward = op.kind == OpKind::CausalConvBackward;
  size_t first = isBackward ? 1 : 0;
  const Array &x = at(rank, op.operands[first]),
              &w = at(rank, op.operands[first + 1]),
              &segments = at(rank, op.operands[first + 2]);
  size_t sequence = size_t(shape(op.operands[first])[1]);
  size_t channels = x.size() / segments.size(), taps = w.size() / channels;
  Array none;
  auto result = [&](size_t i) -> Array& {
    return op.results[i] == ValueId::none ? none : at(rank, op.results[i]);
  };
  Array &out = result(0), &dw = isBackward ? result(1) : none;
  std::fill(out.begin(), out.end(), 0.0);
  for (size_t row = 0; row < segments.size(); ++row)
    for (size_t back = 0; back < taps && back <= row % sequence; ++back) {
      size_t from = row - back, tap = taps - 1 - back;
      if (segments[from] != segments[row])
        break;
      for (size_t j = 0; j < channels; ++j) {
        if (!isBackward) {
          out[row * channels + j] += w[j * taps + tap] * x[from * channels + j];
          continue;
        }
        double dy = at(rank, op.operands[0])[row * channels + j];
        if (!out.empty())
          out[from * channels + j] += w[j * taps + tap] * dy;
        if (!dw.empty())
          dw[j * taps + tap] += dy * x[from * channels + j];
      }
    }
}

/// One head of one sample: its offsets in the operands.
struct Interpreter::Head {
  size_t sample, group, head;
  size_t sequence, groups, heads, lanes, state, chunk;

  size_t row(size_t t) const { return sample * sequence + t; }
  size_t channel(size_t t, size_t lane) const {
    return ((row(t) * groups + group) * heads + head) * lanes + lane;
  }
  size_t step(size_t t) const {
    return (row(t) * groups + group) * heads + head;
  }
  size_t shared(size_t t) const { return (row(t) * groups + group) * state; }
  size_t param() const { return group * heads + head; }
  size_t kept(size_t t, size_t lane) const {
    size_t chunks = (sequence + chunk - 1) / chunk;
    size_t number = (sample * groups + group) * chunks + t / chunk;
    return ((number * heads + head) * lanes + lane) * state;
  }
};

/// The update of the state at a token.
struct Interpreter::Decay {
  double raw = 0, step = 0, rate = 0, keep = 0;
};

Interpreter::Decay Interpreter::decayAt(const Op& op, int rank, size_t first,
                                        const Head& head, size_t t) {
  auto number = [&](size_t operand, size_t i) {
    return at(rank, op.operands[first + operand])[i];
  };
  Decay decay;
  decay.raw = number(1, head.step(t)) + number(6, head.param());
  decay.step = std::log(1 + std::exp(decay.raw));
  decay.rate = std::exp(number(4, head.param()));
  bool isFirst = t == 0 || number(7, head.row(t)) != number(7, head.row(t - 1));
  decay.keep = isFirst ? 0 : std::exp(-decay.rate * decay.step);
  return decay;
}

/// Advances a state [lanes, state] over a token.
void Interpreter::advance(const Op& op, int rank, size_t first,
                          const Head& head, size_t t, Array& state) {
  const Array &x = at(rank, op.operands[first]),
              &b = at(rank, op.operands[first + 2]);
  Decay decay = decayAt(op, rank, first, head, t);
  for (size_t p = 0; p < head.lanes; ++p)
    for (size_t n = 0; n < head.state; ++n) {
      double& each = state[p * head.state + n];
      each = decay.keep * each +
             decay.step * x[head.channel(t, p)] * b[head.shared(t) + n];
    }
}

void Interpreter::scan(const Op& op, int rank, Head head) {
  const Array &x = at(rank, op.operands[0]), &c = at(rank, op.operands[3]);
  Array &y = at(rank, op.results[0]), &kept = at(rank, op.results[1]);
  double past = at(rank, op.operands[5])[head.param()];
  Array state(head.lanes * head.state);
  for (size_t t = 0; t < head.sequence; ++t) {
    for (size_t i = 0; t % head.chunk == 0 && i < state.size(); ++i)
      kept[head.kept(t, 0) + i] = state[i];
    advance(op, rank, 0, head, t, state);
    for (size_t p = 0; p < head.lanes; ++p) {
      double& out = y[head.channel(t, p)];
      out = past * x[head.channel(t, p)];
      for (size_t n = 0; n < head.state; ++n)
        out += state[p * head.state + n] * c[head.shared(t) + n];
    }
  }
}

/// The gradients of h_t = keep h_{t-1} + step x b and y_t = h_t c + past x,
/// from the last token to the first.
void Interpreter::scanBackward(const Op& op, int rank, Head head) {
  auto in = [&](size_t operand) -> const Array& {
    return at(rank, op.operands[operand]);
  };
  auto out = [&](size_t result) -> Array& {
    return at(rank, op.results[result]);
  };
  const Array &dy = in(0), &x = in(1), &b = in(3), &c = in(4);
  double past = in(6)[head.param()];
  double drate = 0, dpast = 0, dbias = 0;
  size_t size = head.lanes * head.state;
  Array dstate(size);
  for (size_t t = head.sequence; t-- > 0;) {
    // The states before and after the token, recomputed from the state before
    // its chunk.
    Array before(size), behind(size);
    for (size_t i = 0; i < size; ++i)
      behind[i] = in(9)[head.kept(t, 0) + i];
    for (size_t u = t - t % head.chunk; u <= t; ++u) {
      before = behind;
      advance(op, rank, 1, head, u, behind);
    }
    Decay decay = decayAt(op, rank, 1, head, t);
    double dstep = 0, dkeep = 0;
    for (size_t p = 0; p < head.lanes; ++p) {
      size_t channel = head.channel(t, p);
      out(0)[channel] = past * dy[channel];
      dpast += dy[channel] * x[channel];
      for (size_t n = 0; n < head.state; ++n) {
        size_t i = p * head.state + n, shared = head.shared(t) + n;
        dstate[i] += dy[channel] * c[shared];
        out(3)[shared] += dy[channel] * behind[i];
        out(0)[channel] += dstate[i] * decay.step * b[shared];
        out(2)[shared] += dstate[i] * decay.step * x[channel];
        dstep += dstate[i] * x[channel] * b[shared];
        dkeep += dstate[i] * before[i];
        dstate[i] *= decay.keep;
      }
    }
    dstep -= dkeep * decay.keep * decay.rate;
    drate -= dkeep * decay.keep * decay.rate * decay.step;
    double draw = dstep / (1 + std::exp(-decay.raw));
    out(1)[head.step(t)] = draw;
    dbias += draw;
  }
  const double sums[] = {drate, dpast, dbias};
  for (size_t i = 0; i < 3; ++i)
    if (op.results[4 + i] != ValueId::none)
      out(4 + i)[head.param()] += sums[i];
}

void Interpreter::stateScan(const Op& op, int rank) {
  bool isBackward = op.kind == OpKind::StateScanBackward;
  size_t first = isBackward ? 1 : 0;
  Shape x = shape(op.operands[first]), dt = shape(op.operands[first + 1]),
        b = shape(op.operands[first + 2]);
  Head head{};
  head.sequence = size_t(x[1]);
  head.groups = size_t(x[2]);
  head.heads = size_t(dt[3]);
  head.lanes = size_t(x[3] / dt[3]);
  head.state = size_t(b[3]);
  head.chunk = size_t(real(op, "chunk", 0));
  for (size_t i : {2, 3}) // sums over heads
    if (isBackward)
      std::fill(at(rank, op.results[i]).begin(), at(rank, op.results[i]).end(),
                0.0);
  for (head.sample = 0; head.sample < size_t(x[0]); ++head.sample)
    for (head.group = 0; head.group < head.groups; ++head.group)
      for (head.head = 0; head.head < head.heads; ++head.head)
        if (isBackward)
          scanBackward(op, rank, head);
        else
          scan(op, rank, head);
}

} // namespace recipec::test
