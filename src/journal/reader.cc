#include "journal/reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/digest.h"
#include "journal/frame.h"

namespace muster::journal {

namespace {

constexpr uint64_t kLargestFile = 16ull << 30;

tl::unexpected<Error> Damaged(uint64_t at, std::string_view what) {
  return Fail(Code::kCorrupt, fmt::format("the journal is damaged at byte {}: {}", at, what));
}

size_t FirstDifference(std::string_view a, std::string_view b) {
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first -
      a.begin());
}

// A file that was made longer before its bytes arrived ends in zeros; a digest never does (2^-64).
bool EndsUnwritten(std::string_view rest) {
  const std::string_view end = rest.substr(rest.size() - std::min<size_t>(rest.size(), 8));
  return std::all_of(end.begin(), end.end(), [](char c) { return c == 0; });
}

// Whether the frame after number `sequence`, or one after that, begins anywhere in `rest`. The
// number alone rules out nearly every place, so few check sums are computed.
bool HasLaterFrame(std::string_view rest, uint64_t sequence) {
  const uint64_t most = rest.size() / kFrameOverheadBytes + 1;
  FrameHeader header;
  for (size_t at = 1; at + kFrameHeaderBytes <= rest.size(); ++at) {
    const std::string_view here = rest.substr(at);
    if (SequenceAt(here) - sequence - 1 < most && DecodeFrameHeader(here, header)) return true;
  }
  return false;
}

// Reads frame after frame, keeping the chain.
class Scanner {
 public:
  Scanner(std::string_view bytes, const std::function<void(const RecordView&)>& on_record)
      : bytes_(bytes), on_record_(on_record) {}

  Result<Summary> Run() {
    TRY(const bool has_header, FileHeaderIsWhole());
    if (has_header) {
      at_ = kFileHeaderBytes;
      while (at_ < bytes_.size() && !torn_) TRY_VOID(Next());
    }
    Summary summary;
    summary.records = sequence_;
    summary.whole_bytes = at_;
    summary.digest = chain_.value();
    if (torn_) summary.torn = TornTail{at_, bytes_.size() - at_};
    return summary;
  }

 private:
  Result<bool> FileHeaderIsWhole() {
    const std::string expected = FileHeader();
    const std::string_view found = bytes_.substr(0, kFileHeaderBytes);
    const size_t differs = FirstDifference(found, expected);
    if (differs < found.size()) {
      if (found.size() == kFileHeaderBytes && IsFileHeaderOfAnyVersion(found)) {
        return Fail(Code::kInvalid,
                    fmt::format("the journal has another format than version {}", kFormatVersion));
      }
      return Damaged(differs, "this is not the header of a journal");
    }
    torn_ = found.size() < kFileHeaderBytes && !found.empty();
    return found.size() == kFileHeaderBytes;
  }

  Status Next() {
    const std::string_view rest = bytes_.substr(at_);
    FrameHeader header;
    if (rest.size() < kFrameHeaderBytes) return Torn();
    if (!DecodeFrameHeader(rest, header))
      return TornOrDamaged(
          0, fmt::format("the header of record {}, which begins there", sequence_ + 1));
    if (header.sequence != sequence_ + 1) {
      return Damaged(at_, fmt::format("record {} stands where record {} belongs", header.sequence,
                                      sequence_ + 1));
    }
    if (header.length > kMaxPayloadBytes)
      return Damaged(at_, fmt::format("record {} has an impossible length", header.sequence));
    if (rest.size() < kFrameOverheadBytes + header.length) return Torn();

    const std::string_view payload = rest.substr(kFrameHeaderBytes, header.length);
    const std::string_view stored = rest.substr(kFrameHeaderBytes + header.length, kDigestBytes);
    if (Crc32c(payload) != header.payload_crc) {
      return TornOrDamaged(
          kFrameHeaderBytes,
          fmt::format("the content of record {}, which begins at byte {}", header.sequence, at_));
    }
    const Digest before = chain_.value();
    chain_.Add(rest.substr(0, kFrameHeaderBytes), payload);
    if (chain_.digest() != stored) {
      chain_.Set(before);
      return TornOrDamaged(
          kFrameHeaderBytes + header.length,
          fmt::format("record {}, which begins at byte {}, or one before it was altered",
                      header.sequence, at_));
    }
    sequence_ = header.sequence;
    on_record_({header.sequence, header.type, payload, at_});
    at_ += kFrameOverheadBytes + header.length;
    return {};
  }

  Status Torn() {
    torn_ = true;
    return {};
  }

  Status TornOrDamaged(size_t within, std::string_view what) {
    const std::string_view rest = bytes_.substr(at_);
    if (EndsUnwritten(rest) && !HasLaterFrame(rest, sequence_ + 1)) return Torn();
    return Damaged(at_ + within, what);
  }

  std::string_view bytes_;
  const std::function<void(const RecordView&)>& on_record_;
  Chain chain_;
  uint64_t sequence_ = 0;
  size_t at_ = 0;
  bool torn_ = false;
};

}  // namespace

std::string TornTail::ToString() const {
  return fmt::format("the last {} bytes, from byte {}, are an unfinished record", bytes, offset);
}

Result<Summary> Scan(std::string_view bytes,
                     const std::function<void(const RecordView&)>& on_record) {
  return Scanner(bytes, on_record).Run();
}

Result<Contents> Load(Files& files, const std::string& path) {
  TRY(const std::string bytes, files.Read(path, kLargestFile));
  Contents contents;
  TRY(contents.summary, Scan(bytes, [&](const RecordView& view) {
                          contents.records.push_back(
                              {view.sequence, view.type, std::string(view.payload), view.offset});
                        }).Context("reading " + path));
  return contents;
}

Result<Summary> Verify(Files& files, const std::string& path) {
  TRY(const std::string bytes, files.Read(path, kLargestFile));
  return Scan(bytes, [](const RecordView&) {}).Context("reading " + path);
}

}  // namespace muster::journal
