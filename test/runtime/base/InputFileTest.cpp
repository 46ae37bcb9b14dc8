// InputFile: which paths open, which are refused, and read errors.
//
// The program defines its own pread in front of the C library's to simulate a
// failing disk.

#include "runtime/base/InputFile.h"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

namespace {

int failingCall = 0;   // errno of reads from `failsFrom` on; 0: no error
int64_t failsFrom = 0; // offset in bytes
size_t mostBytes = SIZE_MAX;

} // namespace

extern "C" ssize_t pread(int descriptor, void* out, size_t count,
                         off_t offset) {
  if (failingCall != 0 && offset >= failsFrom) {
    errno = failingCall;
    return -1;
  }
  return syscall(SYS_pread64, descriptor, out, std::min(count, mostBytes),
                 offset);
}

namespace reciperun {
namespace {

namespace fs = std::filesystem;

class InputFileTest : public testing::Test {
protected:
  InputFileTest()
      : folder(fs::temp_directory_path() /
               ("reciperun-input-" + std::to_string(getpid()))) {
    fs::create_directories(folder);
  }
  ~InputFileTest() override {
    failingCall = 0;
    mostBytes = SIZE_MAX;
    fs::remove_all(folder);
  }

  fs::path write(const std::string& text) const {
    const fs::path path = folder / "file";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static std::string messageOf(const fs::path& path) {
    return InputFile::open(path).message();
  }

  fs::path folder;
};

TEST_F(InputFileTest, OpensRegularFilesAloneAndNeverWaits) {
  const fs::path fifo = folder / "fifo", socket = folder / "socket";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(messageOf(fifo), "cannot read `" + fifo.string() +
                                 "`: it is a FIFO, not a regular file");
  EXPECT_EQ(messageOf(folder), "cannot read `" + folder.string() +
                                   "`: it is a folder, not a regular file");
  EXPECT_EQ(messageOf("/dev/zero"),
            "cannot read `/dev/zero`: it is a device, not a regular file");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::copy_n(socket.c_str(), socket.native().size(), address.sun_path);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(
      bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(messageOf(socket), "cannot read `" + socket.string() +
                                   "`: it is a socket, not a regular file");
  close(listener);
}

TEST_F(InputFileTest, SaysWhyAPathCannotBeOpened) {
  EXPECT_EQ(messageOf(folder / "none"), "cannot read `" +
                                            (folder / "none").string() +
                                            "`: No such file or directory");
  fs::create_symlink("loop", folder / "loop");
  EXPECT_EQ(messageOf(folder / "loop"),
            "cannot read `" + (folder / "loop").string() +
                "`: Too many levels of symbolic links");
}

TEST_F(InputFileTest, ReadsOnWhereTheSystemGivesLess) {
  mostBytes = 3;
  EXPECT_EQ(*readTextFile(write("0123456789")), "0123456789");
}

TEST_F(InputFileTest, TellsAFailingDiskFromTheEnd) {
  const fs::path path = write("0123456789");
  mostBytes = 4;
  failsFrom = 4;
  failingCall = EIO;
  EXPECT_EQ(readTextFile(path).message(),
            "cannot read `" + path.string() +
                "` at its byte 4 of 10: Input/output error");
  failingCall = ENOMEM;
  EXPECT_EQ(readTextFile(path).message(),
            "cannot read `" + path.string() +
                "` at its byte 4 of 10: Cannot allocate memory");
}

TEST_F(InputFileTest, TellsThatAFileHasShrunk) {
  const fs::path path = write("0123456789");
  const Expected<InputFile> file = InputFile::open(path);
  ASSERT_TRUE(file);
  fs::resize_file(path, 6);
  std::vector<std::byte> bytes(10);
  EXPECT_EQ(file->read(0, bytes).message(),
            "`" + path.string() + "` ends at byte 6, 4 bytes before it should");
}

TEST_F(InputFileTest, ReadsNoMoreThanTheLimit) {
  const fs::path path = write("0123456789");
  EXPECT_EQ(readTextFile(path, 9).message(),
            "`" + path.string() +
                "` has 10 bytes, more than the 9 that such a file may have");
  EXPECT_TRUE(readTextFile(path, 10));
}

} // namespace
} // namespace reciperun
