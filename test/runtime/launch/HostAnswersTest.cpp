// Hosts are asked at the same time, and none of them longer than the limit.

#include "runtime/launch/HostAnswers.h"
#include "runtime/launch/HostFile.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace reciperun::launch {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using std::chrono::milliseconds;

/// A folder with an agent: a shell script that is called with the host and
/// `true`.
class HostAnswersTest : public testing::Test {
protected:
  void SetUp() override {
    folder =
        fs::path(testing::TempDir()) / ("agent-" + std::to_string(getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string agent(const std::string& text) {
    const fs::path path = folder / "agent";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }

  fs::path folder;
};

TEST_F(HostAnswersTest, NamesTheHostsThatDoNotAnswer) {
  const std::string path = agent("test \"$2 $3\" = 'good true' || "
                                 "test \"$2 $3\" = 'kind true'");
  EXPECT_EQ(
      silentHosts({"good", "bad", "kind"}, {path, "-x"}, milliseconds(20000)),
      Words({"bad"}));
}

TEST_F(HostAnswersTest, AgentsThatHangAreEndedAtTheLimit) {
  const std::string path = agent("case $1 in good) exit 0;; esac\necho $$ >> " +
                                 (folder / "hung").string() + "\nsleep 100");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(
      silentHosts({"one", "two", "three", "good"}, {path}, milliseconds(1500)),
      Words({"one", "two", "three"}));
  // One limit for all of them, with time for a busy machine.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(4000));
  std::ifstream hung(folder / "hung");
  int count = 0;
  for (pid_t process; hung >> process; ++count)
    EXPECT_NE(kill(process, 0), 0) << process;
  EXPECT_EQ(count, 3);
}

TEST_F(HostAnswersTest, ThisMachineIsKnown) {
  std::string own(256, '\0');
  ASSERT_EQ(gethostname(own.data(), own.size() - 1), 0);
  own.resize(own.find('\0'));
  for (const std::string& name :
       Words{"localhost", "127.0.0.1", "me@localhost", own})
    EXPECT_TRUE(isThisHost(name)) << name;
  EXPECT_FALSE(isThisHost("no-such-host.invalid"));
  EXPECT_FALSE(isThisHost("192.0.2.1")); // RFC 5737: for documentation
}

TEST_F(HostAnswersTest, TheAgentIsThatOfMpirun) {
  const std::string path = agent("exit 0");
  const Words option = {"--map-by", "node", "--mca", "plm_rsh_agent",
                        "no-such-program : " + path + " -p 22"};
  EXPECT_EQ(launchAgent(option), Words({path, "-p", "22"}));
  EXPECT_EQ(launchAgent({"--mca", "plm_rsh_agent", "no-such-program"}),
            std::nullopt);
  setenv("OMPI_MCA_plm_rsh_agent", path.c_str(), 1);
  setenv("OMPI_MCA_plm_rsh_args", "-4", 1);
  EXPECT_EQ(launchAgent({}), Words({path, "-4"}));
  unsetenv("OMPI_MCA_plm_rsh_agent");
  unsetenv("OMPI_MCA_plm_rsh_args");
}

TEST_F(HostAnswersTest, TheFileWithoutAHostKeepsTheOtherLines) {
  const std::string path = (folder / "hosts").string();
  std::ofstream(path) << "# ours\na slots=2 max_slots=4\nb slots=1 # slow\n"
                         "a slots=1\nc\n";
  const auto hosts = hostsOf(path);
  ASSERT_TRUE(hosts);
  EXPECT_EQ(namesOf(*hosts), Words({"a", "b", "c"}));
  const std::string rest = (folder / "rest").string();
  ASSERT_EQ(writeHosts(rest, hostsWithout(*hosts, {"b"})), 0);
  std::ifstream file(rest);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "a slots=2 max_slots=4\na slots=1\nc\n");
  EXPECT_EQ(writeHosts((folder / "none" / "hosts").string(), *hosts), ENOENT);
}

} // namespace
} // namespace reciperun::launch
