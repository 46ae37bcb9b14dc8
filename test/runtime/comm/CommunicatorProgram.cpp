// Tests every collective, type and dimension on the ranks that mpirun starts.
//
// Run by collectives.test with 1, 2 and 4 ranks. Values are functions of (rank,
// element), so that each rank can compute what it must receive. Sums are
// compared bit by bit with the sum in rank order.

#include "runtime/comm/MpiSession.h"
#include "runtime/device/BFloat16.h"
#include "runtime/device/Float8.h"
#include "runtime/plan/Mesh.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <numeric>
#include <optional>
#include <thread>

namespace reciperun::comm {
namespace {

using device::bf16;
using device::f8e4m3;
using plan::DType;

/// The MPI session of this process; set once by main.
MpiSession*& session() {
  static MpiSession* current = nullptr;
  return current;
}

plan::Mesh testMesh() {
  plan::Mesh mesh;
  const int ranks = session()->ranks();
  const int tp = ranks % 2 == 0 ? 2 : 1;
  mesh.axes = {{"dp", ranks / tp}, {"tp", tp}};
  mesh.groups = {{"tp", {"tp"}}, {"dp", {"dp"}}, {"world", {"dp", "tp"}}};
  mesh.ranks = ranks;
  return mesh;
}

template <class T> constexpr DType typeOf() {
  if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, bf16>)
    return DType::bf16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, f8e4m3>)
    return DType::f8e4m3;
  else
    return DType::i64;
}

/// The contribution of rank `rank` at element i. Sums of these values round.
template <class T> T valueOf(int rank, int64_t i) {
  double value = double((i * 7919 + rank * 104729) % 2003 - 1000);
  if constexpr (std::is_integral_v<T>)
    return T(value);
  else
    return T(float(value / 300.0));
}

/// bf16 sums are kept in float.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, bf16>, float, T>;

template <class T> T expectedSum(const std::vector<int>& members, int64_t i) {
  Wide<T> total = Wide<T>(valueOf<T>(members[0], i));
  for (size_t m = 1; m < members.size(); ++m)
    total += Wide<T>(valueOf<T>(members[m], i));
  return T(total);
}

constexpr int moreThanABuffer = 5'000'011; // in bytes

template <class T> bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T> class Collectives : public testing::Test {
protected:
  void SetUp() override {
    mesh = testMesh();
    auto made = session()->connect(mesh);
    ASSERT_TRUE(made) << made.message();
    communicator = std::move(*made);
    rank = session()->rank();
  }

  using Shape = std::vector<int64_t>;

  Tensor view(std::vector<T>& data, const Shape& shape) {
    return {data.data(), typeOf<T>(), shape};
  }
  std::vector<T> contribution(int64_t elements) {
    std::vector<T> data(static_cast<size_t>(elements));
    for (int64_t i = 0; i < elements; ++i)
      data[size_t(i)] = valueOf<T>(rank, i);
    return data;
  }

  void allReduce(int group, int64_t elements) {
    std::vector<int> members =
        plan::groupMembers(mesh, mesh.groups[size_t(group)], rank);
    Shape shape = {elements};
    std::vector<T> in = contribution(elements), out(in.size());
    ASSERT_TRUE(communicator
                    ->allReduce(group, view(in, shape), view(out, shape),
                                Reduction::sum)
                    .isOk());
    expectEach(elements, [&](int64_t i) {
      return same(out[size_t(i)], expectedSum<T>(members, i));
    });
    ASSERT_TRUE(
        communicator
            ->allReduce(group, view(in, shape), view(in, shape), Reduction::max)
            .isOk());
    expectEach(elements, [&](int64_t i) {
      Wide<T> largest = Wide<T>(valueOf<T>(members[0], i));
      for (int member : members)
        largest = std::max(largest, Wide<T>(valueOf<T>(member, i)));
      return Wide<T>(in[size_t(i)]) == largest;
    });
  }

  /// Checks all elements in one EXPECT: one EXPECT per element takes seconds.
  static void expectEach(int64_t elements,
                         const std::function<bool(int64_t)>& holds) {
    for (int64_t i = 0; i < elements; ++i)
      if (!holds(i)) {
        ADD_FAILURE() << "element " << i << " of " << elements;
        return;
      }
  }

  /// Index in the whole tensor of element i of part `part`.
  static int64_t inWhole(const Shape& part, int dim, int parts, int number,
                         int64_t i) {
    int64_t block = std::accumulate(part.begin() + dim, part.end(), int64_t(1),
                                    std::multiplies<>());
    return (i / block * parts + number) * block + i % block;
  }

  void gatherAndScatter(int group, const Shape& part, int dim, bool sharing) {
    std::vector<int> members =
        plan::groupMembers(mesh, mesh.groups[size_t(group)], rank);
    int parts = int(members.size());
    int own =
        int(std::find(members.begin(), members.end(), rank) - members.begin());
    Shape whole = part;
    whole[size_t(dim)] *= parts;
    int64_t elements = plan::elementCount(part);

    // With shared buffers, the part starts at the beginning of the whole.
    std::vector<T> out(size_t(elements * parts));
    std::vector<T> in = contribution(elements);
    if (sharing)
      std::copy(in.begin(), in.end(), out.begin());
    Tensor input = view(sharing ? out : in, part);
    ASSERT_TRUE(
        communicator->allGather(group, input, view(out, whole), dim).isOk());
    for (int number = 0; number < parts; ++number)
      expectEach(elements, [&](int64_t i) {
        return same(out[size_t(inWhole(part, dim, parts, number, i))],
                    valueOf<T>(members[size_t(number)], i));
      });

    std::vector<T> sums = contribution(elements * parts), mine(in.size());
    Tensor output = view(sharing ? sums : mine, part);
    ASSERT_TRUE(
        communicator->reduceScatter(group, view(sums, whole), output, dim)
            .isOk());
    expectEach(elements, [&](int64_t i) {
      return same(output.template as<T>()[i],
                  expectedSum<T>(members, inWhole(part, dim, parts, own, i)));
    });
  }

  /// Runs all three at once and waits for them in the reverse order.
  void gatherAndExchangeMeanwhile(int group, int64_t elements) {
    std::vector<int> members =
        plan::groupMembers(mesh, mesh.groups[size_t(group)], rank);
    int64_t parts = int64_t(members.size());
    int64_t own =
        std::find(members.begin(), members.end(), rank) - members.begin();
    Shape part = {elements}, whole = {elements * parts};
    std::vector<T> in = contribution(elements);
    std::vector<T> gathered(size_t(elements * parts));
    std::vector<T> terms = contribution(elements * parts);
    std::vector<T> exchanged(terms.size());
    Expected<int> gather = communicator->beginAllGather(group, view(in, part),
                                                        view(gathered, whole));
    ASSERT_TRUE(gather);
    Expected<int> exchange = communicator->beginExchange(
        group, view(terms, whole), view(exchanged, whole));
    ASSERT_TRUE(exchange);
    std::vector<T> swapped(terms.size());
    Expected<int> swap = communicator->beginAllToAll(group, view(terms, whole),
                                                     view(swapped, whole));
    ASSERT_TRUE(swap);
    ASSERT_TRUE(communicator->finish(*swap).isOk());
    ASSERT_TRUE(communicator->finish(*exchange).isOk());
    ASSERT_TRUE(communicator->finish(*gather).isOk());
    expectEach(elements * parts, [&](int64_t i) {
      int member = members[size_t(i / elements)];
      const T wanted = valueOf<T>(member, own * elements + i % elements);
      return same(gathered[size_t(i)], valueOf<T>(member, i % elements)) &&
             same(exchanged[size_t(i)], wanted) &&
             same(swapped[size_t(i)], wanted);
    });
  }

  /// Keeps two ring shifts in flight, each of two tensors.
  void shift(int group, int64_t elements) {
    std::vector<int> members =
        plan::groupMembers(mesh, mesh.groups[size_t(group)], rank);
    const size_t own = size_t(std::find(members.begin(), members.end(), rank) -
                              members.begin());
    const int before = members[(own + members.size() - 1) % members.size()];
    const Shape all = {elements}, first = {1};
    std::vector<T> out = contribution(elements);
    std::vector<T> in[2] = {out, out}, one[2] = {out, out};
    int turns[2] = {};
    for (int turn : {0, 1}) {
      const Shift shifts[] = {{view(out, all), view(in[turn], all)},
                              {view(out, first), view(one[turn], first)}};
      Expected<int> begun = communicator->beginShift(group, shifts);
      ASSERT_TRUE(begun) << begun.message();
      turns[turn] = *begun;
    }
    for (int turn : {1, 0})
      ASSERT_TRUE(communicator->finish(turns[turn]).isOk());
    expectEach(elements, [&](int64_t i) {
      const T wanted = valueOf<T>(before, i);
      return same(in[0][size_t(i)], wanted) && same(in[1][size_t(i)], wanted);
    });
    for (const std::vector<T>& came : one)
      EXPECT_TRUE(same(came[0], valueOf<T>(before, 0)));
  }

  /// The minimum and the product of the ranks' values, whose magnitudes are 1
  /// and 2 so that products do not round.
  void minimumAndProduct(int group, int64_t elements) {
    std::vector<int> members =
        plan::groupMembers(mesh, mesh.groups[size_t(group)], rank);
    auto small = [](int member, int64_t i) {
      const int64_t turn = (i + member) % 4;
      return T(float(turn == 0 ? 2 : turn == 1 ? -2 : turn == 2 ? 1 : -1));
    };
    const Shape shape = {elements};
    std::vector<T> in(static_cast<size_t>(elements)), least(in), product(in);
    for (int64_t i = 0; i < elements; ++i)
      in[size_t(i)] = small(rank, i);
    ASSERT_TRUE(communicator
                    ->allReduce(group, view(in, shape), view(least, shape),
                                Reduction::min)
                    .isOk());
    ASSERT_TRUE(communicator
                    ->allReduce(group, view(in, shape), view(product, shape),
                                Reduction::product)
                    .isOk());
    expectEach(elements, [&](int64_t i) {
      Wide<T> lowest = Wide<T>(small(members[0], i)), all = Wide<T>(1);
      for (int member : members) {
        lowest = std::min(lowest, Wide<T>(small(member, i)));
        all = Wide<T>(all * Wide<T>(small(member, i)));
      }
      return same(least[size_t(i)], T(lowest)) &&
             same(product[size_t(i)], T(all));
    });
  }

  /// The rank of the group that is the root sends to all and sums for all.
  void rooted(int group, int64_t elements, int root) {
    std::vector<int> members =
        plan::groupMembers(mesh, mesh.groups[size_t(group)], rank);
    const int source = members[size_t(root)];
    const Shape shape = {elements};
    std::vector<T> in = contribution(elements), out(in.size());
    ASSERT_TRUE(
        communicator->broadcast(group, view(in, shape), view(out, shape), root)
            .isOk());
    expectEach(elements, [&](int64_t i) {
      return same(out[size_t(i)], valueOf<T>(source, i));
    });
    ASSERT_TRUE(communicator
                    ->reduce(group, view(in, shape), view(in, shape),
                             Reduction::sum, root)
                    .isOk());
    if (rank == source)
      expectEach(elements, [&](int64_t i) {
        return same(in[size_t(i)], expectedSum<T>(members, i));
      });
  }

  /// Each rank sends its values to all, itself included, and its first value to
  /// the first rank a second time.
  void transfer(int group, int64_t elements) {
    std::vector<int> members =
        plan::groupMembers(mesh, mesh.groups[size_t(group)], rank);
    const Shape all = {elements}, first = {1};
    std::vector<T> out = contribution(elements), again(members.size());
    std::vector<std::vector<T>> in(members.size(), std::vector<T>(out.size()));
    std::vector<Transfer> sends, receives;
    for (size_t m = 0; m < members.size(); ++m) {
      sends.push_back({int(m), view(out, all)});
      receives.push_back({int(m), view(in[m], all)});
    }
    sends.push_back({0, view(out, first)});
    if (rank == members[0])
      for (size_t m = 0; m < members.size(); ++m)
        receives.push_back({int(m), {&again[m], typeOf<T>(), first}});
    ASSERT_TRUE(communicator->transfer(group, sends, receives).isOk());
    for (size_t m = 0; m < members.size(); ++m)
      expectEach(elements, [&](int64_t i) {
        return same(in[m][size_t(i)], valueOf<T>(members[m], i)) &&
               (rank != members[0] ||
                same(again[m], valueOf<T>(members[m], 0)));
      });
  }

  plan::Mesh mesh;
  std::unique_ptr<Communicator> communicator;
  int rank = 0;
};

using Types = testing::Types<double, float, bf16, int32_t, int64_t>;
TYPED_TEST_SUITE(Collectives, Types);

TYPED_TEST(Collectives, allReduce) {
  for (int group : {0, 1, 2})
    for (int64_t elements : {1, 3, 1000, 100'003})
      this->allReduce(group, elements);
  this->allReduce(2, moreThanABuffer / int64_t(sizeof(TypeParam)));
}

TYPED_TEST(Collectives, gatherAndScatterEveryDimension) {
  for (int group : {0, 1, 2})
    for (int dim : {0, 1, 2})
      for (bool sharing : {false, true})
        this->gatherAndScatter(group, {3, 5, 7}, dim, sharing);
}

TYPED_TEST(Collectives, gatherAndScatterMoreThanABuffer) {
  for (int dim : {0, 1})
    for (bool sharing : {false, true})
      this->gatherAndScatter(2, {3, 509, 2048 / int64_t(sizeof(TypeParam))},
                             dim, sharing);
}

TYPED_TEST(Collectives, gatherAndExchangeMeanwhile) {
  for (int group : {0, 1, 2})
    for (int64_t elements : {1, 5000})
      this->gatherAndExchangeMeanwhile(group, elements);
}

TYPED_TEST(Collectives, shiftToTheNextRank) {
  if (this->communicator->ranks() == 1)
    GTEST_SKIP() << "nobody to exchange with";
  for (int group : {0, 1, 2})
    for (int64_t elements : {1, 5000})
      this->shift(group, elements);
}

TYPED_TEST(Collectives, minimumAndProduct) {
  for (int group : {0, 1, 2})
    this->minimumAndProduct(group, 1000);
}

TYPED_TEST(Collectives, broadcastAndReduceWithARoot) {
  for (int group : {0, 1, 2}) {
    const plan::Group& of = this->mesh.groups[size_t(group)];
    for (int root : {0, plan::groupSize(this->mesh, of) - 1})
      for (int64_t elements : {1, 1000, 100'003})
        this->rooted(group, elements, root);
  }
}

TYPED_TEST(Collectives, transferToAllAndToOne) {
  for (int group : {0, 1, 2})
    for (int64_t elements : {1, 5000})
      this->transfer(group, elements);
}

TYPED_TEST(Collectives, gatherIntoTheOwnPart) {
  std::vector<int> members =
      plan::groupMembers(this->mesh, this->mesh.groups[2], this->rank);
  const int64_t elements = 1000;
  std::vector<TypeParam> whole(members.size() * elements);
  std::vector<TypeParam> own = this->contribution(elements);
  std::copy(own.begin(), own.end(), whole.begin() + this->rank * elements);
  std::vector<int64_t> part = {elements}, all = {int64_t(whole.size())};
  Tensor in{whole.data() + this->rank * elements, typeOf<TypeParam>(), part};
  ASSERT_TRUE(
      this->communicator->allGather(2, in, this->view(whole, all), 0).isOk());
  for (size_t m = 0; m < members.size(); ++m)
    for (int64_t i = 0; i < elements; ++i)
      ASSERT_TRUE(same(whole[m * elements + size_t(i)],
                       valueOf<TypeParam>(members[m], i)));
}

/// fp8 is only moved, never summed.
class Bytes : public Collectives<f8e4m3> {};

TEST_F(Bytes, gatherAndExchangeMeanwhile) {
  for (int group : {0, 1, 2})
    for (int64_t elements : {1, 5000})
      gatherAndExchangeMeanwhile(group, elements);
}

class Agreement : public Collectives<float> {};

TEST_F(Agreement, tellsTheLowestFailure) {
  EXPECT_TRUE(communicator->agree(Status::ok()).isOk());
  Status mine = rank == session()->ranks() - 1 ? Status::error("lost the file")
                                               : Status::ok();
  Status agreed = communicator->agree(mine);
  int last = session()->ranks() - 1;
  EXPECT_EQ(agreed.message(),
            last == 0 ? "lost the file"
                      : "on rank " + std::to_string(last) + ": lost the file");
  EXPECT_EQ(communicator->agree(Status::error("all")).message(), "all");
}

TEST_F(Agreement, maximumAndMessages) {
  Expected<int64_t> largest = communicator->maximum(1000 - rank);
  ASSERT_TRUE(largest);
  EXPECT_EQ(*largest, 1000);
  std::vector<std::byte> bytes(10'000'000, std::byte(7));
  if (rank != 0 && rank + 1 == session()->ranks()) {
    ASSERT_TRUE(communicator->send(0, bytes).isOk());
  }
  if (rank == 0 && session()->ranks() > 1) {
    std::vector<std::byte> received(bytes.size());
    ASSERT_TRUE(communicator->receive(session()->ranks() - 1, received).isOk());
    EXPECT_EQ(received, bytes);
  }
}

TEST_F(Agreement, refusesAMeshOfAnotherSize) {
  plan::Mesh other;
  other.ranks = session()->ranks() + 1;
  EXPECT_FALSE(session()->connect(other));
}

/// CPU time used by this thread so far.
double processorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}

constexpr auto delay = std::chrono::milliseconds(60);

/// The largest share of a wait during which a rank may use a core. A spinning
/// rank uses all of it on a free core and half of it when two processes share
/// the core; a rank that sleeps between polls uses a few percent.
constexpr double mostAwake = 0.3;

/// How often each wait is measured. The least share counts, since other work on
/// the machine makes a single wait dearer, and a rank that spins does so each
/// time.
constexpr int attempts = 3;

/// A rank that waits for another one yields the core, whatever it waits for.
class Waiting : public Collectives<float> {
protected:
  /// Every rank but 0 delays its call of the collective `part`.
  void expectRest(const char* name, const std::function<Status()>& part) {
    double awake = 1;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      ASSERT_TRUE(communicator->agree(Status::ok()).isOk());
      const Expected<double> share = shareAwake(part);
      ASSERT_TRUE(bool(share)) << name << ": " << share.status().message();
      awake = std::min(awake, *share);
    }
    if (rank == 0) {
      EXPECT_LT(awake, mostAwake) << name;
    }
  }

private:
  /// The share of the time of `part` for which this thread used a core.
  Expected<double> shareAwake(const std::function<Status()>& part) {
    if (rank != 0)
      std::this_thread::sleep_for(delay);
    const double before = processorSeconds();
    const auto start = std::chrono::steady_clock::now();
    if (Status status = part(); !status.isOk())
      return status;
    const std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    return (processorSeconds() - before) / passed.count();
  }
};

TEST_F(Waiting, inCollectives) {
  if (communicator->ranks() == 1)
    GTEST_SKIP() << "nobody to wait for";
  const int all = 2, ranks = communicator->ranks();
  for (const int64_t each : {1, 20'000}) {
    std::vector<float> part = contribution(each);
    std::vector<float> whole(size_t(each * ranks)), other(whole.size());
    const Shape partShape = {each, 1}, wholeShape = {each * ranks, 1};
    const Tensor in = view(part, partShape), out = view(whole, wholeShape);
    expectRest("all-reduce", [&] {
      return communicator->allReduce(all, in, in, Reduction::sum);
    });
    expectRest("all-gather",
               [&] { return communicator->allGather(all, in, out, 0); });
    expectRest("reduce-scatter",
               [&] { return communicator->reduceScatter(all, out, in, 0); });
    expectRest("all-to-all", [&] {
      return communicator->allToAll(all, out, view(other, wholeShape), {0, 0});
    });
    expectRest("finish", [&] {
      Expected<int> begun = communicator->beginAllGather(all, in, out);
      return begun ? communicator->finish(*begun) : begun.status();
    });
  }
}

TEST_F(Waiting, forMessages) {
  const int last = communicator->ranks() - 1;
  if (last == 0)
    GTEST_SKIP() << "nobody to wait for";
  std::vector<std::byte> bytes(1'000'000);
  expectRest("receive", [&] {
    return rank == 0      ? communicator->receive(last, bytes)
           : rank == last ? communicator->send(0, bytes)
                          : Status::ok();
  });
  expectRest("send", [&] {
    return rank == 0      ? communicator->send(last, bytes)
           : rank == last ? communicator->receive(0, bytes)
                          : Status::ok();
  });
}

TEST_F(Waiting, beforeAndBetweenSteps) {
  if (communicator->ranks() == 1)
    GTEST_SKIP() << "nobody to wait for";
  expectRest("agree", [&] { return communicator->agree(Status::ok()); });
  expectRest("place", [&] { return session()->placeOnHost().status(); });
  expectRest("groups", [&] { return session()->connect(mesh).status(); });
}

/// Ends the job, in which rank 0 waits for the others. Prints a message when
/// that uses the CPU.
bool endsAtRest(std::optional<MpiSession> session) {
  const bool waits = session->ranks() > 1 && session->rank() == 0;
  if (!waits)
    std::this_thread::sleep_for(5 * delay);
  const double before = processorSeconds();
  session.reset();
  const double spent = processorSeconds() - before;
  const bool isAtRest =
      spent < std::chrono::duration<double>(2 * delay).count();
  if (waits && !isAtRest)
    std::printf("FAILED: the end took %.3f s of the processor\n", spent);
  return !waits || isAtRest;
}

} // namespace

int runTests() {
  auto started = MpiSession::start();
  if (!started)
    return 1;
  std::optional<MpiSession> job(*std::move(started));
  session() = &*job;
  const int code = RUN_ALL_TESTS();
  return endsAtRest(std::move(job)) ? code : 1;
}

} // namespace reciperun::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return reciperun::comm::runTests();
}
