#include "diagnose/second_opinion.h"

#include "base/strings.h"
#include "diagnose/beside.h"
#include "diagnose/heading.h"
#include "diagnose/words/words.h"

namespace muster::diagnose {

namespace {

// Where to look when no word was ever seen: with who wrote the program.
constexpr std::string_view kNoLayer = "application";

// From here on a text reads like a failure: of four unseen sets nine in ten faulty texts are above
// it, and one healthy text in six, most of which prove nothing anyway.
constexpr double kFailure = 2.0;

const words::Model& BuiltIn() {
  // What the build wrote can be read: words_test holds it.
  static const words::Model model = words::Model::Parse(words::EmbeddedModelText()).value();
  return model;
}

}  // namespace

void Sample::Take(std::string_view line, const std::string& file, size_t number) {
  Line kept{std::string(line.substr(0, kLineBytes)), {file, number}};
  if (WantsFirst()) {
    first_.push_back(std::move(kept));
    return;
  }
  last_.push_back(std::move(kept));
  if (last_.size() > kLast) last_.pop_front();
}

void Sample::MarkRead() {
  if (!last_.empty())
    last_.back().read = true;
  else if (!first_.empty())
    first_.back().read = true;
}

std::vector<const Sample::Line*> Sample::Lines() const {
  std::vector<const Line*> lines;
  for (const Line& line : first_) lines.push_back(&line);
  for (const Line& line : last_) lines.push_back(&line);
  return lines;
}

namespace {

// By who prints the line that complains; else by what the words of all lines are like.
std::string_view LayerOf(const Printers& printers, std::string_view line,
                         std::string_view by_words) {
  const std::string_view by_printer = LayerOfPrinter(printers, line);
  return by_printer.empty() ? by_words : by_printer;
}

// The first of the complaints that tell the most; none where nothing complains.
const Fact* MostTellingComplaint(const FactStore& facts) {
  const Fact* most = nullptr;
  int tells = -1;
  for (const Fact* fact : facts.Of(kAnyComplaint))
    if (const int own = Tells(fact->text); own > tells) {
      most = fact;
      tells = own;
    }
  return most;
}

// Of lines that nobody understands the one to show: the first of those that tell the most and
// are neither a typed command nor a rule between two parts; the first of all where none is.
size_t WorthShowing(std::span<const std::string_view> texts) {
  size_t best = 0;
  int tells = -1;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = Trim(texts[i]);
    if (text.empty() || IsPrompt(text) || text.find_first_not_of("-=*#+ ") == text.npos) continue;
    if (const int own = Tells(text); own > tells) {
      best = i;
      tells = own;
    }
  }
  return best;
}

}  // namespace

void AddSecondOpinion(const Sample& sample, const Printers& printers, bool nothing_known,
                      FactStore& facts) {
  std::vector<const Sample::Line*> unread;
  std::vector<std::string_view> all, texts;
  for (const Sample::Line* line : sample.Lines()) {
    all.emplace_back(line->text);
    if (line->read) continue;
    texts.emplace_back(line->text);
    unread.push_back(line);
  }
  if (texts.empty() && !facts.Has(kAnyComplaint)) return;  // all was understood: nothing to ask
  const std::string layer = BuiltIn().Read(all).layer;
  if (const Fact* complaint = MostTellingComplaint(facts))
    facts.SetAll(kAnyComplaint, "layer",
                 LayerOf(printers, complaint->text, layer.empty() ? kNoLayer : layer));
  facts.SetAll(kAnyComplaint, "says", "no rule knows this complaint");
  if (texts.empty() || layer.empty()) return;
  const size_t telling = BuiltIn().Read(texts).failure >= kFailure
                             ? BuiltIn().MostTelling(texts, layer)
                             : texts.size();
  const bool fails = telling < texts.size();
  if (!fails && !nothing_known) return;
  const Sample::Line& shown = *unread[fails ? telling : WorthShowing(texts)];
  const std::string text = Shorten(Printable(Trim(shown.text)), kTextBytes);
  Fact fact{std::string(fails ? kReadsLikeFailure : kSpeaksOf), {}, shown.at, text};
  fact.Set("layer", LayerOf(printers, shown.text, layer));
  fact.Set("says", fails ? "no rule knows this; it reads like a failure" : "nothing here is known");
  facts.Add(std::move(fact));
}

}  // namespace muster::diagnose
