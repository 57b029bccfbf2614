#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/bringup.h"
#include "app/ledger_codec.h"
#include "app/testing/lab_site.h"
#include "journal/writer.h"

namespace muster {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LabSite;

constexpr const char* kPath = "/copy/ledger";

class Verify : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto run = lab_.RunGates(1, 5);
    ASSERT_TRUE(run.ok()) << run.error().ToString();
    path_ = lab_.paths().Ledger(run->header.run);
    bytes_ = lab_.files.Read(path_).value();
  }
  static const Catalogue& catalogue() { return *LoadEmbedded().value(); }
  Result<Verification> VerifyBytes(std::string_view bytes) {
    testing::MemoryFiles files;
    files.Put(kPath, bytes);
    return VerifyRun(files, kPath, catalogue());
  }
  // The same records under a new chain, as somebody would write them who edits one and seals the
  // whole again.
  Result<Verification> VerifyForged(
      const std::function<void(RecordType, std::string& payload)>& edit) {
    testing::MemoryFiles files;
    {
      TRY(auto opened, journal::Writer::Open(files, kPath));
      TRY([[maybe_unused]] auto scanned,
          journal::Scan(bytes_, [&](const journal::RecordView& record) {
            std::string payload(record.payload);
            edit(static_cast<RecordType>(record.type), payload);
            EXPECT_TRUE(opened.writer->Commit(record.type, payload).ok());
          }));
    }
    return VerifyRun(files, kPath, catalogue());
  }

  LabSite lab_;
  std::string path_, bytes_;
};

TEST_F(Verify, UntouchedRunComesOutTheSame) {
  const auto verified = VerifyRun(lab_.files, path_, catalogue());
  ASSERT_TRUE(verified.ok()) << verified.error().ToString();
  EXPECT_THAT(verified->differences, IsEmpty());
  EXPECT_EQ(verified->gates, 5u);
  EXPECT_GT(verified->verdicts, 50u);
  EXPECT_GT(verified->readings, 20u);
  EXPECT_TRUE(verified->same_catalogue);
}

TEST_F(Verify, UntouchedFailingRunComesOutTheSame) {
  LabSite lab;
  lab.Inject("xid_79");
  const auto run = lab.RunGates(1, 5);
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run->level, Level::kFail);
  const auto verified = VerifyRun(lab.files, lab.paths().Ledger(run->header.run), catalogue());
  ASSERT_TRUE(verified.ok());
  EXPECT_THAT(verified->differences, IsEmpty());
}

TEST_F(Verify, RunThatOnlyLookedComesOutTheSame) {
  LabSite lab;
  BringupOptions options;
  options.look_only = true;
  const auto run = lab.RunGates(1, 5, options);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  const auto verified = VerifyRun(lab.files, lab.paths().Ledger(run->header.run), catalogue());
  ASSERT_TRUE(verified.ok());
  EXPECT_THAT(verified->differences, IsEmpty());
}

TEST_F(Verify, AnyFlippedByteIsCorruptOrNamed) {
  for (size_t at = 0; at < bytes_.size(); at += 1 + bytes_.size() / 60) {
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x04);
    const auto verified = VerifyBytes(damaged);
    if (!verified.ok()) {
      EXPECT_THAT(verified.error().code, AnyOf(Code::kCorrupt, Code::kInvalid)) << at;
      EXPECT_THAT(verified.error().ToString(), HasSubstr(kPath)) << at;
    } else {
      EXPECT_FALSE(verified->differences.empty()) << "byte " << at << " changed and nobody said so";
    }
  }
}

TEST_F(Verify, BytesOfTheLastRecordAreNoExceptionToThat) {
  for (size_t back = 1; back <= 120; back += 7) {
    std::string damaged = bytes_;
    damaged[bytes_.size() - back] = static_cast<char>(damaged[bytes_.size() - back] ^ 0x04);
    const auto verified = VerifyBytes(damaged);
    if (verified.ok()) {
      EXPECT_FALSE(verified->differences.empty()) << back << " from the end";
    }
  }
}

TEST_F(Verify, RunThatEndsEarlyIsNotCalledTheSame) {
  const auto verified = VerifyBytes(std::string_view(bytes_).substr(0, bytes_.size() - 5));
  ASSERT_TRUE(verified.ok());
  EXPECT_FALSE(verified->differences.empty());
}

TEST_F(Verify, ReadingThatWasRewrittenAndSealedAgainChangesItsVerdict) {
  bool edited = false;
  const auto verified = VerifyForged([&](RecordType type, std::string& payload) {
    if (type != RecordType::kReading || edited) return;
    if (payload.find("infiniband.ibstat") == std::string::npos) return;
    const size_t at = payload.find("State: Active");
    if (at == std::string::npos) return;
    payload.replace(at, 13, "State: Down  ");
    edited = true;
  });
  ASSERT_TRUE(verified.ok()) << verified.error().ToString();
  ASSERT_TRUE(edited);
  ASSERT_FALSE(verified->differences.empty());
  EXPECT_THAT(verified->differences.front(), HasSubstr("gate 3: NOD-"));
  EXPECT_THAT(verified->differences.front(), HasSubstr("was pass, is fail"));
}

TEST_F(Verify, VerdictThatWasRewrittenAndSealedAgainIsNamed) {
  bool edited = false;
  const auto verified = VerifyForged([&](RecordType type, std::string& payload) {
    if (type != RecordType::kJudged || edited) return;
    auto result = DecodeResult(payload);
    ASSERT_TRUE(result.ok());
    if (result->gate != 3) return;
    result->verdicts[0].level = Level::kFail;
    payload = EncodeResult(*result);
    edited = true;
  });
  ASSERT_TRUE(verified.ok());
  ASSERT_TRUE(edited);
  ASSERT_EQ(verified->differences.size(), 1u);
  EXPECT_THAT(verified->differences[0], HasSubstr("was fail, is pass"));
}

TEST_F(Verify, LevelOfAGateThatWasRewrittenAndSealedAgainIsNamed) {
  const auto verified = VerifyForged([&](RecordType type, std::string& payload) {
    if (type != RecordType::kJudged) return;
    auto result = DecodeResult(payload);
    ASSERT_TRUE(result.ok());
    if (result->gate == 3) result->level = Level::kFail;
    payload = EncodeResult(*result);
  });
  ASSERT_TRUE(verified.ok());
  ASSERT_FALSE(verified->differences.empty()) << "the gate's own level is a verdict too";
  EXPECT_THAT(verified->differences[0], HasSubstr("gate 3"));
}

TEST_F(Verify, VerdictThatWasTakenOutAndSealedAgainIsNamed) {
  const auto verified = VerifyForged([&](RecordType type, std::string& payload) {
    if (type != RecordType::kJudged) return;
    auto result = DecodeResult(payload);
    ASSERT_TRUE(result.ok());
    if (result->gate == 3) result->verdicts.pop_back();
    payload = EncodeResult(*result);
  });
  ASSERT_TRUE(verified.ok());
  ASSERT_EQ(verified->differences.size(), 1u);
  EXPECT_THAT(verified->differences[0], HasSubstr("is new"));
}

TEST_F(Verify, RunJudgedByAnotherCatalogueSaysSo) {
  const auto verified = VerifyForged([&](RecordType type, std::string& payload) {
    if (type != RecordType::kHeader) return;
    auto header = DecodeHeader(payload);
    ASSERT_TRUE(header.ok());
    header->catalogue_sha256 = "other";
    payload = EncodeHeader(*header);
  });
  ASSERT_TRUE(verified.ok());
  EXPECT_FALSE(verified->same_catalogue);
}

}  // namespace
}  // namespace muster
