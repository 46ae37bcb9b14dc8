// Collectives over the groups of a plan's mesh.
//
// Their tensors are in the memory of the plan's device: of the host for CPU
// ranks, of a GPU for others, whose collectives are ordered with its work and
// may be under way still when a call returns. For memory of the host there is
// host().
//
// A group is named by its number in `mesh.groups`, or is `world`, all ranks.
// Every rank of a group calls the same collectives in the same order. Sums are
// taken in the order of the ranks, bf16 in f32 with one rounding at the end, so
// that the result is the same bits on all ranks, in all runs. (A GPU's library
// has an order of its own, the same in each run, and rounds bf16 more than
// once.)
//
// Callers name a collective (allReduce, beginSend ...); what a communicator
// implements is to run or begin one that is described (Collective, Message).

#ifndef RECIPERUN_COMM_COMMUNICATOR_H
#define RECIPERUN_COMM_COMMUNICATOR_H

#include "runtime/base/Status.h"
#include "runtime/comm/Blocks.h"
#include "runtime/comm/Watch.h"
#include "runtime/device/Tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace reciperun::comm {

using device::Tensor;

enum class Reduction { sum, max };

/// What goes to the next rank of a ring, and room for what comes from the one
/// before, of one size.
struct Shift {
  Tensor out, in;
};

/// The group of all ranks.
inline constexpr int world = -1;

/// What the ranks of a group do with their tensors; the members behind `out`
/// are those of some kinds.
struct Collective {
  enum class Kind { allReduce, allGather, reduceScatter, allToAll, shift };

  Kind kind;
  std::string_view op; // of the plan, for messages; empty for none
  int group = world;
  Tensor in, out;
  Reduction reduction = Reduction::sum; // all-reduce
  int dim = 0;                          // all-gather, reduce-scatter
  ShardExchange exchange = {};          // all-to-all
  Tensor counts = {};                   // all-to-all of experts' rows
  std::span<const Shift> shifts = {};   // shift, which has no in and out
};

/// Bytes that go from one rank of the world to another.
struct Message {
  enum class Kind { send, receive };

  Kind kind;
  std::string_view op; // of the plan, for messages; empty for none
  int peer;            // the other rank
  int link;            // of the plan; none for what is moved at once
  std::span<const std::byte> sent; // send
  std::span<std::byte> received;   // receive
};

class Communicator {
public:
  virtual ~Communicator() = default;

  int rank() const { return ownRank; }
  int ranks() const { return allRanks; }

  /// What looks whether this rank waits too long for others; null where nothing
  /// does. It is host()'s.
  Watch* watch() const { return lookout; }

  /// Collectives of the same ranks on memory of the host, over before they
  /// return.
  virtual Communicator& host() { return *this; }

  /// Names the op of the plan that the next calls are for, in messages about
  /// them; empty for none. The name outlives them.
  void startsOp(std::string_view name) { op = name; }

  // ---- collectives in turn with the device's work

  /// out = the sum or maximum over the group of each element of `in`. Types
  /// f64, f32, bf16, i64 and i32; `in` and `out` have one shape and may be one
  /// buffer.
  Status allReduce(int group, const Tensor& in, const Tensor& out,
                   Reduction reduction);

  /// Lays the group's parts side by side along dimension `dim`, in the order
  /// of the ranks. `in` may start where `out` does, or be the rank's own part
  /// of `out` where no dimension before `dim` exceeds 1.
  Status allGather(int group, const Tensor& in, const Tensor& out, int dim);

  /// out = this rank's part, along dimension `dim`, of the group's sum of `in`.
  /// The same sharing of buffers is allowed as in allGather.
  Status reduceScatter(int group, const Tensor& in, const Tensor& out, int dim);

  /// Cuts `in` along dimension `split`, gives the parts to the group in the
  /// order of the ranks, and lays what the ranks give along dimension `concat`
  /// of `out`. The buffers do not overlap.
  Status allToAll(int group, const Tensor& in, const Tensor& out,
                  ShardExchange exchange);

  /// The same of rows of experts [groups, places, ...], of which `counts` i32
  /// [groups, blocks, members] says how many belong to tokens: a block's first
  /// ones, as many as its members' counts add up to. The others may stay
  /// behind; what is at their places in `out` may be anything.
  Status exchangeRows(int group, const Tensor& in, const Tensor& counts,
                      const Tensor& out, ShardExchange exchange);

  /// Moves bytes of the host between two ranks of the world: one calls send,
  /// the other receive, with equal sizes.
  Status send(int to, std::span<const std::byte> bytes);
  Status receive(int from, std::span<std::byte> bytes);

  // ---- what goes on beside the device's work, until finish()

  /// Begins to move bytes between two ranks of the world, which name the same
  /// link; both call for the messages of a link in one order.
  /// The bytes stay where they are until finish() of the number that comes
  /// back.
  Expected<int> beginSend(int to, int link, std::span<const std::byte> bytes);
  Expected<int> beginReceive(int from, int link, std::span<std::byte> bytes);

  /// Begin what finish() of the number that comes back ends: an all-gather
  /// along dimension 0, and the exchange of a reduce-scatter along it, by which
  /// `out` gets the group's terms of this rank's part, one behind the other,
  /// of which the rank's own may be left out.
  /// The buffers stay as they are until then and do not overlap, but that an
  /// all-gather's `in` may be the rank's own part of `out`.
  Expected<int> beginAllGather(int group, const Tensor& in, const Tensor& out);
  Expected<int> beginExchange(int group, const Tensor& in, const Tensor& out);

  /// Begins to give tensors to the next rank of the group, the last's to the
  /// first, and to take the like from the one before. The buffers do not
  /// overlap and stay as they are until finish() of the number that comes back.
  Expected<int> beginShift(int group, std::span<const Shift> shifts);

  virtual Status finish(int message) = 0;

  /// out = the sum of the terms that beginExchange of `in` has brought, in the
  /// order of the ranks. It may be the rank's own part of `in`.
  virtual Status addTerms(int group, const Tensor& in, const Tensor& terms,
                          const Tensor& out);

  // ---- the ranks together

  /// The failure of what is under way, as far as it is known; does not wait.
  virtual Status check() { return Status::ok(); }

  /// Every rank hands in how its part of some work went; every rank gets the
  /// failure of the lowest failing rank ("on rank N: ..." where N is not 0), or
  /// ok.
  virtual Status agree(const Status& mine) = 0;

  /// Maximum over all ranks of a number of the host's.
  Expected<int64_t> maximum(int64_t mine);

  /// All that begins is to move lies in this memory of the device: ranks of a
  /// host may copy to that of one another. What comes back is what a user
  /// should know of how the ranks are connected, mostly nothing. Collective.
  virtual Expected<std::string> share(std::byte* /*memory*/,
                                      int64_t /*bytes*/) {
    return std::string();
  }

  // ---- recordings

  /// The device records its work from now on (Device::beginRecording): what is
  /// called is recorded, too. What begins meanwhile is finished meanwhile.
  virtual Status beginsRecording() { return Status::ok(); }
  /// The number of what has been recorded since, from 0.
  virtual int endsRecording() { return 0; }
  /// The device has been given what was recorded under the number.
  virtual Status launched(int /*recording*/) { return Status::ok(); }

  // ---- what the calls above come down to

  /// Runs a collective in turn with the device's work; of any kind but a shift.
  virtual Status run(const Collective& collective) = 0;

  /// Begins one beside it: an all-gather, the exchange of a reduce-scatter, or
  /// a shift. What comes back is the number for finish().
  virtual Expected<int> begin(const Collective& collective) = 0;

  /// Moves bytes of the host; the message has no link.
  virtual Status move(const Message& message) = 0;

  /// Begins to move bytes of the device; the number for finish() comes back.
  virtual Expected<int> begin(const Message& message) = 0;

protected:
  /// The watch, which may be null, outlives the object.
  Communicator(int rank, int ranks, Watch* watch)
      : ownRank(rank), allRanks(ranks), lookout(watch) {}

private:
  int ownRank;
  int allRanks;
  Watch* lookout;
  std::string_view op; // of the plan, which what is called now is for
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_COMMUNICATOR_H
