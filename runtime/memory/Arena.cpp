// One anonymous mapping that holds every buffer of a plan.
//
// The mapping is at most one huge page larger than the arena, so that the arena
// can begin at a huge page boundary: larger pages make matmuls faster. Bytes
// outside the arena are never touched and take no memory. The page after the
// arena's last one is inaccessible, so that a kernel that overruns the arena
// faults there.

#include "runtime/memory/Arena.h"

#include "runtime/plan/Plan.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace reciperun::memory {
namespace {

constexpr size_t hugePage = size_t(2) << 20;

Status failure(int64_t bytes, int cause) {
  return Status::error("cannot take the arena's " + std::to_string(bytes) +
                       " bytes from the system: " + std::strerror(cause) +
                       "; free memory on this machine or compile the recipe "
                       "for more ranks");
}

int64_t pageBytes() {
  return sysconf(_SC_PAGESIZE);
}

/// Makes the system allocate every page now.
void touch(std::byte* data, int64_t bytes) {
  const int64_t page = pageBytes();
  for (int64_t at = 0; at < bytes; at += page)
    *const_cast<volatile std::byte*>(data + at) = std::byte(0);
}

} // namespace

Expected<Arena> Arena::allocate(int64_t bytes, int64_t hostBytes) {
  assert(bytes >= 0 && "an arena has a size");
  Arena arena;
  if (hostBytes > 0) {
    Expected<Arena> host = allocate(hostBytes);
    RECIPERUN_TRY(host);
    arena.setHost(*std::move(host));
  }
  if (bytes == 0)
    return arena;
  const bool large = size_t(bytes) >= hugePage;
  const size_t page = size_t(pageBytes());
  const size_t whole = (size_t(bytes) + page - 1) / page * page;
  const size_t wanted = whole + page + (large ? hugePage : 0);
  void* mapping = mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return failure(bytes, errno);
  arena.release = [=] { munmap(mapping, wanted); };
  arena.size = bytes;
  arena.data = static_cast<std::byte*>(mapping);
  if (large) {
    const size_t past = reinterpret_cast<uintptr_t>(mapping) % hugePage;
    arena.data += (hugePage - past) % hugePage;
    // Only whole huge pages: a further one would also back bytes outside the
    // arena. The arena also works without huge pages.
    madvise(arena.data, size_t(bytes) / hugePage * hugePage, MADV_HUGEPAGE);
  }
  if (mprotect(arena.data + whole, page, PROT_NONE) != 0)
    return failure(bytes, errno);
  touch(arena.data, bytes);
  return arena;
}

Arena::Arena(std::byte* data, int64_t bytes, std::function<void()> release)
    : data(data), size(bytes), release(std::move(release)) {}

Arena::Arena(Arena&& other) noexcept {
  *this = std::move(other);
}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  std::swap(release, other.release);
  std::swap(host, other.host);
  return *this;
}

Arena::~Arena() {
  if (release)
    release();
}

void* Arena::address(const plan::Buffer& buffer, int64_t copy,
                     const plan::Mesh& mesh, int rank) const {
  if (buffer.host) {
    assert(host && "a plan with buffers on the host has an arena there");
    plan::Buffer own = buffer;
    own.host = false;
    return host->address(own, copy, mesh, rank);
  }
  int64_t offset = buffer.offset + copy;
  if (!buffer.shardAxis.empty())
    offset +=
        plan::coordinate(mesh, rank, buffer.shardAxis) * buffer.shardStride;
  assert(offset >= 0 &&
         offset + plan::elementCount(buffer.shape) *
                      plan::byteSize(buffer.dtype) <=
             size &&
         "a buffer lies inside the arena");
  return data + offset;
}

} // namespace reciperun::memory
