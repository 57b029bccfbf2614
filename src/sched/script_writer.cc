#include "sched/script_writer.h"

#include <charconv>

#include "sched/amount.h"

namespace muster::sched {

namespace {

void AppendInt(int64_t value, std::string& out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

void AppendText(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

// An object or a list that is being written; commas come by themselves.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  void Open(char c) { out_ += c, first_ = true; }
  void Close(char c) { out_ += c, first_ = false; }
  void Comma() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  void Key(std::string_view key) {
    Comma();
    AppendText(key, out_);
    out_ += ':';
  }
  void Text(std::string_view key, std::string_view value) { Key(key), AppendText(value, out_); }
  void TextIfAny(std::string_view key, std::string_view value) {
    if (!value.empty()) Text(key, value);
  }
  void Int(std::string_view key, int64_t value) { Key(key), AppendInt(value, out_); }
  void IntIfAny(std::string_view key, const std::optional<int64_t>& value) {
    if (value) Int(key, *value);
  }
  void ObjectAt(std::string_view key) { Key(key), Open('{'); }
  void ListAt(std::string_view key) { Key(key), Open('['); }
  template <typename List>
  void Ints(std::string_view key, const List& values) {
    ListAt(key);
    for (const auto value : values) Comma(), AppendInt(value, out_);
    Close(']');
  }
  void Texts(std::string_view key, const std::vector<std::string>& values) {
    ListAt(key);
    for (const auto& value : values) Comma(), AppendText(value, out_);
    Close(']');
  }
  void Labels(std::string_view key, const std::map<std::string, std::string>& labels) {
    ObjectAt(key);
    for (const auto& [name, value] : labels) Text(name, value);
    Close('}');
  }
  void Amount(std::string_view key, std::string_view resource, int64_t amount) {
    Text(key, FormatAmount(resource, amount));
  }
  void Amounts(const Resources& amounts) {
    for (const auto& [name, amount] : amounts) Amount(name, name, amount);
  }
  std::string& out() { return out_; }

 private:
  std::string& out_;
  bool first_ = true;
};

void WriteTaint(Writer& w, const Taint& taint) {
  w.Comma(), w.Open('{');
  w.Text("key", taint.key);
  w.TextIfAny("value", taint.value);
  w.Text("effect", taint.effect);
  w.Close('}');
}

void WriteTopologyManager(Writer& w, const TopologyManagerSpec& tm) {
  w.ObjectAt("topology_manager");
  w.Text("policy", tm.policy), w.Text("scope", tm.scope);
  w.Text("cpu_manager", tm.cpu_manager), w.Text("memory_manager", tm.memory_manager);
  if (!tm.reserved.empty()) w.ObjectAt("reserved"), w.Amounts(tm.reserved), w.Close('}');
  w.Close('}');
}

void WriteNode(Writer& w, const NodeAdd& node) {
  w.Text("op", "node.add"), w.Text("name", node.name);
  if (!node.at.empty()) w.Texts("at", node.at);
  if (!node.labels.empty()) w.Labels("labels", node.labels);
  if (!node.taints.empty()) {
    w.ListAt("taints");
    for (const Taint& taint : node.taints) WriteTaint(w, taint);
    w.Close(']');
  }
  w.ObjectAt("capacity"), w.Amounts(node.capacity), w.Close('}');
  if (!node.numa.empty()) {
    w.ListAt("numa");
    for (const NumaZoneSpec& zone : node.numa) {
      w.Comma(), w.Open('{');
      w.Amounts(zone.amounts);
      for (const auto& [name, ids] : zone.devices) w.Ints(name, ids);
      w.Close('}');
    }
    w.Close(']');
    WriteTopologyManager(w, node.topology_manager);
  }
}

void WriteQueue(Writer& w, const Queue& q) {
  static constexpr std::string_view kOrders[] = {"fifo", "best-effort-fifo", "fair"};
  static constexpr std::string_view kWithin[] = {"never", "lower-priority", "lower-or-newer-equal"};
  static constexpr std::string_view kReclaim[] = {"never", "lower-priority", "any"};
  w.Text("op", "queue.add"), w.Text("name", q.name), w.TextIfAny("parent", q.parent);
  w.Int("weight", q.weight), w.Text("order", kOrders[static_cast<size_t>(q.order)]);
  if (!q.quota.empty()) {
    w.ListAt("quota");
    for (const QuotaEntry& e : q.quota) {
      w.Comma(), w.Open('{');
      w.Text("flavor", e.flavor), w.Text("resource", e.resource);
      w.Amount("nominal", e.resource, e.nominal);
      if (e.borrow) w.Amount("borrow", e.resource, *e.borrow);
      if (e.lend) w.Amount("lend", e.resource, *e.lend);
      w.Close('}');
    }
    w.Close(']');
  }
  w.ObjectAt("preempt");
  w.Text("within", kWithin[static_cast<size_t>(q.within)]);
  w.Text("reclaim", kReclaim[static_cast<size_t>(q.reclaim)]);
  w.Text("borrow", q.borrow == BorrowPolicy::kNever ? "never" : "lower-priority");
  w.Close('}');
  if (q.borrows_last) w.Key("borrows_last"), w.out() += "true";
  if (q.evicts_first) w.Key("evicts_first"), w.out() += "true";
}

void WriteTask(Writer& w, const TaskGroup& task) {
  w.Comma(), w.Open('{');
  w.Text("name", task.name), w.Int("count", task.count);
  if (task.min != task.count) w.Int("min", task.min);
  w.ObjectAt("shape"), w.Amounts(task.shape), w.Close('}');
  if (!task.select.empty()) w.Labels("select", task.select);
  if (!task.tolerate.empty()) {
    w.ListAt("tolerate");
    for (const Toleration& t : task.tolerate) {
      w.Comma(), w.Open('{');
      w.TextIfAny("key", t.key), w.Text("operator", t.op.empty() ? "Equal" : t.op);
      w.TextIfAny("value", t.value), w.TextIfAny("effect", t.effect);
      w.Close('}');
    }
    w.Close(']');
  }
  w.Close('}');
}

void WriteJob(Writer& w, const Job& job, std::string_view op) {
  w.Text("op", op), w.Text("name", job.name), w.Text("queue", job.queue);
  w.Int("priority", job.priority);
  if (!job.preemptible) w.Key("preemptible"), w.out() += "false";
  w.ListAt("tasks");
  for (const TaskGroup& task : job.tasks) WriteTask(w, task);
  w.Close(']');
  if (job.topology != TopologyWish{}) {
    w.ObjectAt("topology");
    w.TextIfAny("required", job.topology.required),
        w.TextIfAny("preferred", job.topology.preferred);
    if (job.topology.slice_size > 0) {
      w.ObjectAt("slice");
      w.Int("size", job.topology.slice_size), w.Text("level", job.topology.slice_level);
      w.Close('}');
    }
    w.Close('}');
  }
  w.IntIfAny("duration", job.duration_ms), w.IntIfAny("limit", job.limit_ms);
  w.IntIfAny("checkpoint_every", job.checkpoint_every_ms);
  if (job.elastic_max > 0) {
    w.ObjectAt("elastic"), w.Int("min", job.elastic_min), w.Int("max", job.elastic_max);
    w.Close('}');
  }
  w.IntIfAny("max_wait", job.max_wait_ms);
}

void WriteQuotaChange(Writer& w, const QuotaChange& c) {
  w.Text("op", "queue.quota"), w.Text("queue", c.queue), w.Text("flavor", c.flavor);
  w.Text("resource", c.resource);
  if (c.nominal) w.Amount("nominal", c.resource, *c.nominal);
  if (c.borrow) w.Amount("borrow", c.resource, *c.borrow);
  if (c.lend) w.Amount("lend", c.resource, *c.lend);
}

void WriteBody(Writer& w, const EventBody& body);

void WriteChanges(Writer& w, std::string_view key, const std::vector<Event>& changes) {
  w.ListAt(key);
  for (const Event& change : changes)
    w.Comma(), w.Open('{'), WriteBody(w, change.body), w.Close('}');
  w.Close(']');
}

void WriteBody(Writer& w, const EventBody& body) {
  static constexpr std::string_view kNodeVerbs[] = {"node.remove", "node.cordon", "node.uncordon",
                                                    "node.fail"};
  static constexpr std::string_view kHealth[] = {"accepted", "suspect", "out"};
  if (const auto* levels = std::get_if<TopologyLevels>(&body)) {
    w.Text("op", "topology"), w.Texts("levels", levels->levels);
  } else if (const auto* node = std::get_if<NodeAdd>(&body)) {
    WriteNode(w, *node);
  } else if (const auto* change = std::get_if<NodeChange>(&body)) {
    w.Text("op", kNodeVerbs[static_cast<size_t>(change->verb)]), w.Text("name", change->name);
  } else if (const auto* health = std::get_if<NodeHealth>(&body)) {
    w.Text("op", "node.health"), w.Text("name", health->name);
    w.Text("value", kHealth[static_cast<size_t>(health->value)]);
  } else if (const auto* flavor = std::get_if<FlavorAdd>(&body)) {
    w.Text("op", "flavor.add"), w.Text("name", flavor->flavor.name);
    w.Labels("labels", flavor->flavor.labels);
  } else if (const auto* queue = std::get_if<QueueAdd>(&body)) {
    WriteQueue(w, queue->queue);
  } else if (const auto* quota = std::get_if<QuotaChange>(&body)) {
    WriteQuotaChange(w, *quota);
  } else if (const auto* submit = std::get_if<JobSubmit>(&body)) {
    WriteJob(w, submit->job, "job.submit");
  } else if (const auto* adopt = std::get_if<JobAdopt>(&body)) {
    WriteJob(w, adopt->job, "job.adopt");
    w.ListAt("seats");
    for (const JobAdopt::Seat& seat : adopt->seats) {
      w.Comma(), w.Open('{'), w.Text("task", seat.task), w.Int("rank", seat.rank);
      w.Text("node", seat.node), w.Close('}');
    }
    w.Close(']');
  } else if (const auto* end = std::get_if<JobEnd>(&body)) {
    w.Text("op", end->verb == JobVerb::kCancel ? "job.cancel" : "job.finish");
    w.Text("name", end->name);
  } else if (const auto* fail = std::get_if<TaskFail>(&body)) {
    w.Text("op", "task.fail"), w.Text("name", fail->name), w.Text("task", fail->task);
    w.Int("rank", fail->rank);
  } else if (const auto* over = std::get_if<TaskEnd>(&body)) {
    w.Text("op", "task.end"), w.Text("name", over->name), w.Text("task", over->task);
    w.Int("rank", over->rank);
  } else if (const auto* again = std::get_if<TaskAgain>(&body)) {
    w.Text("op", "task.again"), w.Text("name", again->name), w.Text("task", again->task);
    w.Int("rank", again->rank);
  } else if (const auto* why = std::get_if<AskWhy>(&body)) {
    w.Text("op", "ask.why"), w.Text("name", why->name);
  } else if (const auto* what_if = std::get_if<AskWhatIf>(&body)) {
    w.Text("op", "ask.whatif"), WriteChanges(w, "change", what_if->change);
    w.Texts("about", what_if->about);
  } else {
    w.Text("op", "end");
  }
}

void WriteBecause(Writer& w, const Because& because) {
  w.Text("code", because.code);
  if (because.detail.empty()) return;
  w.ObjectAt("detail");
  for (const auto& [key, value] : because.detail) {
    if (const auto* number = std::get_if<int64_t>(&value)) {
      w.Int(key, *number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      w.Text(key, *text);
    } else {
      w.Ints(key, std::get<std::vector<int64_t>>(value));
    }
  }
  w.Close('}');
}
void WriteAllBecause(Writer& w, const std::vector<Because>& because) {
  w.ListAt("because");
  for (const Because& b : because) w.Comma(), w.Open('{'), WriteBecause(w, b), w.Close('}');
  w.Close(']');
}

void WriteWhy(Writer& w, const std::string& code, const std::string& for_job) {
  w.ObjectAt("why"), w.Text("code", code), w.TextIfAny("for", for_job), w.Close('}');
}

struct DecisionWriter {
  Writer& w;
  void operator()(const AdmitDecision& d) {
    w.Text("do", "admit"), w.Text("job", d.job), w.ObjectAt("flavors");
    for (const auto& [task, flavors] : d.flavors) w.Labels(task, flavors);
    w.Close('}');
  }
  void operator()(const BindDecision& d) {
    w.Text("do", "bind"), w.Text("job", d.job), w.Text("task", d.task), w.Int("rank", d.rank);
    w.Text("node", d.node);
    if (!d.devices.empty()) {
      w.ObjectAt("devices");
      for (const auto& [resource, ids] : d.devices) w.Ints(resource, ids);
      w.Close('}');
    }
    if (!d.numa.empty()) w.Ints("numa", d.numa);
  }
  void operator()(const EvictDecision& d) {
    w.Text("do", "evict"), w.Text("job", d.job), WriteWhy(w, d.code, d.for_job);
  }
  void operator()(const ShrinkDecision& d) {
    w.Text("do", "shrink"), w.Text("job", d.job), w.Text("task", d.task), w.Ints("ranks", d.ranks);
    WriteWhy(w, d.code, d.for_job);
  }
  void operator()(const PendingDecision& d) {
    w.Text("do", "pending"), w.Text("job", d.job), WriteAllBecause(w, d.because);
    WriteChanges(w, "would_start_if", d.would_start_if);
  }
  void operator()(const RejectDecision& d) {
    w.Text("do", "reject"), w.Text("job", d.job), w.ObjectAt("why"), WriteBecause(w, d.why);
    w.Close('}');
  }
  void operator()(const ReserveDecision& d) {
    w.Text("do", "reserve"), w.Text("job", d.job), w.Int("start", d.start);
    w.Texts("nodes", d.nodes), w.TextIfAny("why", d.why);
  }
  void operator()(const FinishDecision& d) {
    w.Text("do", "finish"), w.Text("job", d.job), w.Text("why", d.why);
  }
  void operator()(const AnswerDecision& d) {
    w.Text("do", "answer"), w.Text("ask", d.ask), w.Text("about", d.about);
    if (d.ask == "why") {
      w.Text("state", d.state), WriteAllBecause(w, d.because);
      WriteChanges(w, "would_start_if", d.would_start_if);
      return;
    }
    for (const auto& [key, t] : {std::pair{"start", d.start}, std::pair{"was", d.was}}) {
      if (t >= 0) {
        w.Int(key, t);
      } else {
        w.Key(key), w.out() += "null";
      }
    }
  }
};

}  // namespace

void AppendEvent(const Event& event, bool with_time, std::string& out) {
  Writer w(out);
  w.Open('{');
  if (with_time) w.Int("t", event.t);
  WriteBody(w, event.body);
  w.Close('}');
}

void AppendDecision(const Decision& decision, std::string& out) {
  Writer w(out);
  w.Open('{');
  w.Int("t", decision.t);
  std::visit(DecisionWriter{w}, decision.body);
  w.Close('}');
}

void AppendSummary(TimeMs t, const std::string& sha256, int64_t bound, int64_t pending,
                   std::string& out) {
  Writer w(out);
  w.Open('{');
  w.Int("t", t), w.Text("do", "summary"), w.Text("decisions_sha256", sha256);
  w.Int("bound", bound), w.Int("pending", pending);
  w.Close('}');
}

}  // namespace muster::sched
