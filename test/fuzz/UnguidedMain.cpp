// The main function of the fuzz targets in builds without libFuzzer.
//
//   fuzz_plan [-max_total_time=SECONDS] [-max_len=BYTES] [-timeout=SECONDS]
//             [-artifact_prefix=PREFIX] FILE|FOLDER...
//
// 1. Give the target each file.
// 2. Until the time is up, give it one of the files after some mutations, at
//    random: coverage does not guide them. The same files and build see the
//    same inputs.
//
// The input under test lies in PREFIX followed by `input`, which a run without
// a finding removes at its end.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

// Functions that libFuzzer and its targets call by these names. A target may
// have a mutator of its own.
extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t limit);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                                     size_t limit,
                                                     unsigned seed);
}

namespace {

using Bytes = std::vector<uint8_t>;
using Random = std::minstd_rand;

/// A number below `limit`, which is at least 1.
size_t below(Random& random, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
}

/// One of the changes that libFuzzer makes, too: to a bit, a byte or a range.
void change(Bytes& bytes, Random& random) {
  constexpr size_t longest = 64; // bytes of a range
  const size_t at = below(random, bytes.size() + 1);
  const auto place = bytes.begin() + ptrdiff_t(at);
  const size_t length = std::min(1 + below(random, longest), bytes.size() - at);
  switch (below(random, 5)) {
  case 0:
    if (length > 0)
      bytes[at] ^= uint8_t(1u << below(random, 8));
    break;
  case 1:
    bytes.insert(place, uint8_t(below(random, 256)));
    break;
  case 2:
    bytes.erase(place, place + ptrdiff_t(length));
    break;
  case 3: { // a range once more, elsewhere
    const Bytes range(place, place + ptrdiff_t(length));
    const size_t to = below(random, bytes.size() + 1);
    bytes.insert(bytes.begin() + ptrdiff_t(to), range.begin(), range.end());
    break;
  }
  default: // a range over another
    const size_t to = below(random, bytes.size() + 1);
    const size_t fits = std::min(length, bytes.size() - to);
    std::memmove(bytes.data() + to, bytes.data() + at, fits);
  }
}

struct Options {
  int seconds = 0, timeout = 300;
  size_t longest = 4096;
  std::string prefix = "./";
  std::vector<std::filesystem::path> files;
};

/// Whether `argument` is `name` with a number, which it then has in `value`.
template <class T>
bool isNumber(std::string_view argument, std::string_view name, T& value) {
  if (!argument.starts_with(name))
    return false;
  const char* end = argument.data() + argument.size();
  auto [last, error] =
      std::from_chars(argument.data() + name.size(), end, value);
  return error == std::errc() && last == end;
}

bool parse(int count, char** arguments, Options& options) {
  constexpr std::string_view prefix = "-artifact_prefix=";
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (isNumber(argument, "-max_total_time=", options.seconds) ||
        isNumber(argument, "-timeout=", options.timeout) ||
        isNumber(argument, "-max_len=", options.longest))
      continue;
    if (argument.starts_with(prefix))
      options.prefix = argument.substr(prefix.size());
    else if (std::filesystem::is_directory(argument))
      for (const auto& each : std::filesystem::directory_iterator(argument))
        options.files.push_back(each.path());
    else if (std::filesystem::exists(argument))
      options.files.push_back(argument);
    else
      return false;
  }
  std::sort(options.files.begin(), options.files.end());
  return !options.files.empty();
}

Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

/// Runs the target on inputs, the present one in a file.
class Target {
public:
  explicit Target(const Options& options)
      : path(options.prefix + "input"), timeout(unsigned(options.timeout)),
        file(open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0666)) {}
  Target(const Target&) = delete;
  ~Target() {
    close(file);
    unlink(path.c_str());
  }

  bool isOpen() const { return file >= 0; }

  void run(const Bytes& input) {
    if (pwrite(file, input.data(), input.size(), 0) != ssize_t(input.size()) ||
        ftruncate(file, off_t(input.size())) != 0) {
      std::perror(path.c_str());
      std::_Exit(2);
    }
    alarm(timeout);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    alarm(0);
  }

private:
  const std::string path;
  const unsigned timeout; // seconds
  const int file;
};

Bytes mutated(Bytes input, size_t limit, unsigned seed) {
  const size_t size = std::min(input.size(), limit);
  input.resize(limit);
  input.resize(LLVMFuzzerCustomMutator
                   ? LLVMFuzzerCustomMutator(input.data(), size, limit, seed)
                   : LLVMFuzzerMutate(input.data(), size, limit));
  return input;
}

} // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t limit) {
  static Random random;
  Bytes bytes(data, data + size);
  for (size_t changes = 1 + below(random, 4); changes > 0; --changes)
    change(bytes, random);
  bytes.resize(std::min(bytes.size(), limit));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

int main(int count, char** arguments) {
  Options options;
  if (!parse(count, arguments, options)) {
    std::fprintf(
        stderr,
        "usage: %s [-max_total_time=SECONDS] [-max_len=BYTES]\n"
        "  [-timeout=SECONDS] [-artifact_prefix=PREFIX] FILE|FOLDER...\n",
        arguments[0]);
    return 2;
  }
  Target target(options);
  if (!target.isOpen()) {
    std::perror(options.prefix.c_str());
    return 2;
  }
  std::vector<Bytes> seeds;
  for (const std::filesystem::path& path : options.files)
    seeds.push_back(read(path));
  for (const Bytes& seed : seeds)
    target.run(seed);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(options.seconds);
  Random random;
  size_t inputs = seeds.size();
  for (; Clock::now() < end; ++inputs)
    target.run(mutated(seeds[below(random, seeds.size())], options.longest,
                       unsigned(random())));
  std::printf("%zu inputs, of them %zu files\n", inputs, seeds.size());
  return 0;
}
