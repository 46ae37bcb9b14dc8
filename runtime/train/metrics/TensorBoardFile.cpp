// See TensorBoardFile.h.

#include "runtime/train/metrics/TensorBoardFile.h"

#include "runtime/base/Crc32c.h"
#include "runtime/train/metrics/Scalars.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <concepts>
#include <span>
#include <system_error>
#include <utility>

namespace reciperun::train {
namespace {

// ---- records

template <std::unsigned_integral Number>
std::string littleEndian(Number value) {
  std::string text;
  for (size_t i = 0; i < sizeof value; ++i)
    text += char(value >> (8 * i) & 0xff);
  return text;
}

/// The mask keeps checksums of bytes that contain checksums apart.
std::string maskedCrc(std::string_view bytes) {
  constexpr uint32_t delta = 0xa282ead8;
  return littleEndian(std::rotr(crc32c(std::as_bytes(std::span(bytes))), 15) +
                      delta);
}

std::string recordOf(std::string_view event) {
  const std::string length = littleEndian(uint64_t(event.size()));
  return length + maskedCrc(length) + std::string(event) + maskedCrc(event);
}

// ---- messages of protobuf

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7)
    text += char((value & 0x7f) | 0x80);
  return text + char(value);
}

enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string tag(int field, Wire wire) {
  return varint(uint64_t(field) << 3 | uint64_t(wire));
}
std::string bytesField(int field, std::string_view bytes) {
  return tag(field, Wire::bytes) + varint(bytes.size()) + std::string(bytes);
}
std::string intField(int field, int64_t value) {
  return tag(field, Wire::varint) + varint(uint64_t(value));
}
std::string doubleField(int field, double value) {
  return tag(field, Wire::fixed64) +
         littleEndian(std::bit_cast<uint64_t>(value));
}
std::string floatField(int field, float value) {
  return tag(field, Wire::fixed32) +
         littleEndian(std::bit_cast<uint32_t>(value));
}

// Fields of Event.
constexpr int wallTime = 1, stepNumber = 2, fileVersion = 3, summary = 5,
              sessionLog = 7;

std::string summaryOf(const std::vector<Scalar>& scalars) {
  constexpr int value = 1;                 // of Summary
  constexpr int name = 1, simpleValue = 2; // of Summary.Value
  std::string text;
  for (const Scalar& each : scalars)
    text += bytesField(value, bytesField(name, each.name) +
                                  floatField(simpleValue, float(each.value)));
  return text;
}

/// SessionLog with the status START.
std::string startOfSession() {
  constexpr int status = 1, start = 1;
  return intField(status, start);
}

std::filesystem::path nameOfFile(double time) {
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  return "events.out.tfevents." + std::to_string(int64_t(time)) + "." +
         host.data() + "." + std::to_string(getpid()) + ".0";
}

} // namespace

Expected<TensorBoardFile>
TensorBoardFile::create(const std::filesystem::path& folder, double time,
                        int64_t steps) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    return Status::error("cannot make `" + folder.string() +
                         "`: " + failure.message());
  auto opened =
      LineWriter::open(folder / nameOfFile(time), LineWriter::Mode::truncate);
  RECIPERUN_TRY(opened);
  TensorBoardFile made;
  made.bytes = *std::move(opened);
  RECIPERUN_TRY(made.bytes->append(recordOf(
      doubleField(wallTime, time) + bytesField(fileVersion, "brain.Event:2"))));
  RECIPERUN_TRY(made.bytes->append(
      recordOf(doubleField(wallTime, time) + intField(stepNumber, steps + 1) +
               bytesField(sessionLog, startOfSession()))));
  return made;
}

Status TensorBoardFile::write(const StepRecord& record) {
  return bytes->append(recordOf(
      doubleField(wallTime, record.time) + intField(stepNumber, record.step) +
      bytesField(summary, summaryOf(scalarsOf(record)))));
}

} // namespace reciperun::train
