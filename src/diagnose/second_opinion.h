// Where no rule speaks: what the words of the input are like (words/words.h), as facts. Of the
// input the first and the last lines are kept for that, shortened, so that memory is bounded.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/fact.h"
#include "diagnose/printer.h"

namespace muster::diagnose {

class Sample {
 public:
  static constexpr size_t kFirst = 300, kLast = 300, kLineBytes = 400;
  struct Line {
    std::string text;
    Place at;
    bool read = false;  // a rule or a reader knows what it means
  };
  bool WantsFirst() const { return first_.size() < kFirst; }
  // Lines in the order of the input; after the first ones, only the last are kept.
  void Take(std::string_view line, const std::string& file, size_t number);
  // Of the line that was taken last.
  void MarkRead();
  std::vector<const Line*> Lines() const;

 private:
  std::vector<Line> first_;
  std::deque<Line> last_;
};

// What the words say, as an attribute `layer` of facts "unread.error", and as a fact of their own
// (layer, says, what) at the most telling line: "words.failure" when a line that nobody could read
// complains and all of those read like a failure; "words.layer" when nothing at all was known.
inline constexpr std::string_view kReadsLikeFailure = "words.failure";
inline constexpr std::string_view kSpeaksOf = "words.layer";
inline bool SaidByWordsAlone(const Fact& fact) {
  return fact.id == kReadsLikeFailure || fact.id == kSpeaksOf;
}
// The sign of a line that complains and that nothing else knows.
inline constexpr std::string_view kAnyComplaint = "unread.error";
void AddSecondOpinion(const Sample& sample, const Printers& printers, bool nothing_known,
                      FactStore& facts);

}  // namespace muster::diagnose
