#include "sched/script_reader.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"
#include "sched/amount.h"
#include "sched/script_fields.h"
#include "sched/script_json.h"

namespace muster::sched {

struct ScriptReader::State {
  JsonLine json;
};

namespace {

using Type = JsonValue::Type;
constexpr int kMostRanks = 1 << 20;

std::vector<std::string> ReadTexts(Reader& r, const JsonValue* value) {
  std::vector<std::string> texts;
  r.Each(value, Type::kArray, [&](const JsonValue& item, int) { texts.push_back(r.Text(&item)); });
  return texts;
}
std::map<std::string, std::string> ReadLabels(Reader& r, const JsonValue* value) {
  std::map<std::string, std::string> labels;
  r.Each(value, Type::kObject,
         [&](const JsonValue& item, int) { labels.emplace(item.key, r.Text(&item, true)); });
  return labels;
}
Resources ReadAmounts(Reader& r, const JsonValue* value) {
  Resources amounts;
  r.Each(value, Type::kObject, [&](const JsonValue& item, int) {
    if (item.key.empty()) return r.Say(item.key_column, "a resource needs a name");
    amounts.emplace(item.key, r.Amount(item, item.key));
  });
  return amounts;
}

constexpr int64_t kMostDevices = 64;

Resources ReadCapacity(Reader& r, const JsonValue* value) {
  Resources amounts = ReadAmounts(r, value);
  if (value == nullptr || !r.ok()) return amounts;
  int gpus = 0;
  for (const auto& [name, amount] : amounts) {
    gpus += IsGpu(name) ? 1 : 0;
    if (IsDevice(name) && amount > kMostDevices)
      r.Say(value->column, fmt::format("capacity: at most {} devices of {}, found {}", kMostDevices,
                                       Printable(name), amount));
    if (name == kGpuMilli)
      r.Say(value->column, "capacity: gpu_milli is asked of a GPU, a node has whole ones");
  }
  if (gpus > 1) r.Say(value->column, "capacity: at most one resource that ends in /gpu");
  return amounts;
}

Taint ReadTaint(Reader r) {
  Taint taint;
  taint.key = r.Text(r.Need("key"));
  taint.value = r.Text(r.Take("value"), true);
  taint.effect = r.Choice<std::string>("effect", "",
                                       {{"NoSchedule", "NoSchedule"},
                                        {"NoExecute", "NoExecute"},
                                        {"PreferNoSchedule", "PreferNoSchedule"}},
                                       true);
  r.Done();
  return taint;
}
Toleration ReadToleration(Reader r) {
  Toleration t;
  t.key = r.Text(r.Take("key"), true);
  t.op = r.Choice<std::string>("operator", "Equal", {{"Equal", "Equal"}, {"Exists", "Exists"}});
  t.value = r.Text(r.Take("value"), true);
  t.effect = r.Choice<std::string>("effect", "",
                                   {{"", ""},
                                    {"NoSchedule", "NoSchedule"},
                                    {"NoExecute", "NoExecute"},
                                    {"PreferNoSchedule", "PreferNoSchedule"}});
  if (t.key.empty() && t.op == "Equal")
    r.Say(r.column(), "a toleration without key needs the operator Exists");
  r.Done();
  return t;
}

NumaZoneSpec ReadZone(Reader& outer, int index) {
  NumaZoneSpec zone;
  outer.Each(&outer.json().At(index), Type::kObject, [&](const JsonValue& item, int) {
    if (item.type == Type::kArray) {
      auto& ids = zone.devices[std::string(item.key)];
      outer.Each(&item, Type::kArray, [&](const JsonValue& id, int) {
        ids.push_back(static_cast<int>(outer.Integer(&id, 0, kMostDevices - 1)));
      });
      if (!IsDevice(item.key))
        outer.Say(item.key_column,
                  fmt::format("{} is no device and has no ids", Printable(Shorten(item.key, 40))));
    } else {
      zone.amounts.emplace(item.key, outer.Amount(item, item.key));
    }
  });
  return zone;
}

TopologyManagerSpec ReadTopologyManager(Reader r) {
  TopologyManagerSpec tm;
  using S = std::string;
  tm.policy = r.Choice<S>("policy", "none",
                          {{"none", "none"},
                           {"best-effort", "best-effort"},
                           {"restricted", "restricted"},
                           {"single-numa-node", "single-numa-node"}});
  tm.scope = r.Choice<S>("scope", "container", {{"container", "container"}, {"pod", "pod"}});
  tm.cpu_manager = r.Choice<S>("cpu_manager", "none", {{"none", "none"}, {"static", "static"}});
  tm.memory_manager = r.Choice<S>("memory_manager", "none",
                                  {{"none", "none"}, {"static", "static"}, {"Static", "static"}});
  tm.reserved = ReadAmounts(r, r.Take("reserved"));
  r.Done();
  return tm;
}

// Every device of the capacity stands in exactly one zone, or none of its resource does.
void CheckZones(Reader& r, const NodeAdd& node, int column) {
  std::map<std::string, uint64_t> seen;
  for (const NumaZoneSpec& zone : node.numa) {
    for (const auto& [name, ids] : zone.devices) {
      const auto capacity = node.capacity.find(name);
      const int64_t count = capacity == node.capacity.end() ? 0 : capacity->second;
      for (const int id : ids) {
        if (id >= count)
          return r.Say(column, fmt::format("numa: {} {} is not among the {} of capacity",
                                           Printable(name), id, count));
        if ((seen[name] >> id & 1) != 0)
          return r.Say(column, fmt::format("numa: {} {} stands in two zones", Printable(name), id));
        seen[name] |= uint64_t{1} << id;
      }
    }
  }
}

EventBody ReadNodeAdd(Reader& r) {
  NodeAdd node;
  node.name = r.Text(r.Need("name"));
  node.at = ReadTexts(r, r.Take("at"));
  node.labels = ReadLabels(r, r.Take("labels"));
  r.Each(r.Take("taints"), Type::kArray,
         [&](const JsonValue&, int i) { node.taints.push_back(ReadTaint(r.Into(i))); });
  node.capacity = ReadCapacity(r, r.Need("capacity"));
  const JsonValue* numa = r.Take("numa");
  r.Each(numa, Type::kArray, [&](const JsonValue&, int i) { node.numa.push_back(ReadZone(r, i)); });
  if (numa != nullptr && r.ok()) {
    if (node.numa.size() > 8) r.Say(numa->column, "numa: at most 8 zones");
    CheckZones(r, node, numa->column);
  }
  const JsonValue* tm = r.Take("topology_manager");
  if (tm != nullptr && r.ok()) {
    node.topology_manager = ReadTopologyManager(r.Into(r.IndexOf(*tm)));
    if (node.topology_manager.policy != "none" && node.numa.empty())
      r.Say(tm->column, "topology_manager: a policy needs the zones in numa");
  }
  return node;
}

EventBody ReadQueueAdd(Reader& r) {
  Queue q;
  q.name = r.Text(r.Need("name"));
  q.parent = r.Text(r.Take("parent"));
  if (const JsonValue* weight = r.Take("weight")) q.weight = r.Integer(weight, 1, 1'000'000);
  q.order = r.Choice("order", QueueOrder::kBestEffortFifo,
                     {{"fifo", QueueOrder::kFifo},
                      {"best-effort-fifo", QueueOrder::kBestEffortFifo},
                      {"fair", QueueOrder::kFair}});
  r.Each(r.Take("quota"), Type::kArray, [&](const JsonValue& item, int i) {
    Reader e = r.Into(i);
    QuotaEntry entry;
    entry.flavor = e.Text(e.Need("flavor"));
    entry.resource = e.Text(e.Need("resource"));
    if (const JsonValue* nominal = e.Need("nominal"))
      entry.nominal = e.Amount(*nominal, entry.resource);
    entry.borrow = e.AmountIfAny("borrow", entry.resource);
    entry.lend = e.AmountIfAny("lend", entry.resource);
    e.Done();
    for (const QuotaEntry& other : q.quota) {
      if (other.flavor == entry.flavor && other.resource == entry.resource)
        r.Say(item.column, "quota: this flavor and resource stand here twice");
    }
    q.quota.push_back(entry);
  });
  if (const JsonValue* preempt = r.Take("preempt"); preempt != nullptr && r.ok()) {
    Reader p = r.Into(r.IndexOf(*preempt));
    q.within = p.Choice("within", PreemptWithin::kNever,
                        {{"never", PreemptWithin::kNever},
                         {"lower-priority", PreemptWithin::kLowerPriority},
                         {"lower-or-newer-equal", PreemptWithin::kLowerOrNewerEqual}});
    q.reclaim = p.Choice("reclaim", ReclaimPolicy::kNever,
                         {{"never", ReclaimPolicy::kNever},
                          {"lower-priority", ReclaimPolicy::kLowerPriority},
                          {"any", ReclaimPolicy::kAny}});
    q.borrow = p.Choice(
        "borrow", BorrowPolicy::kNever,
        {{"never", BorrowPolicy::kNever}, {"lower-priority", BorrowPolicy::kLowerPriority}});
    p.Done();
  }
  for (const auto& [key, flag] :
       {std::pair{"borrows_last", &q.borrows_last}, std::pair{"evicts_first", &q.evicts_first}}) {
    const JsonValue* said = r.Take(key);
    if (said != nullptr && said->type != Type::kBool) r.Wrong(*said, "true or false");
    *flag = said != nullptr && said->boolean;
  }
  return QueueAdd{q};
}

TaskGroup ReadTask(Reader r) {
  TaskGroup task;
  task.name = r.Text(r.Need("name"));
  task.count = static_cast<int>(r.Integer(r.Need("count"), 1, kMostRanks));
  const JsonValue* min = r.Take("min");
  task.min = min != nullptr ? static_cast<int>(r.Integer(min, 0, task.count)) : task.count;
  const JsonValue* shape = r.Need("shape");
  task.shape = ReadAmounts(r, shape);
  std::erase_if(task.shape, [](const auto& entry) { return entry.second == 0; });
  if (shape != nullptr && r.ok()) {
    const auto milli = task.shape.find(std::string(kGpuMilli));
    if (milli != task.shape.end() && milli->second > 1000)
      r.Say(shape->column, "shape: gpu_milli is a share of one device, expected 1 to 1000");
    if (milli != task.shape.end()) {
      for (const auto& [name, amount] : task.shape) {
        if (IsGpu(name))
          r.Say(shape->column,
                fmt::format("shape: either gpu_milli or {}, not both", Printable(name)));
      }
    }
  }
  task.select = ReadLabels(r, r.Take("select"));
  r.Each(r.Take("tolerate"), Type::kArray,
         [&](const JsonValue&, int i) { task.tolerate.push_back(ReadToleration(r.Into(i))); });
  r.Done();
  return task;
}

TopologyWish ReadWish(Reader r) {
  TopologyWish wish;
  wish.required = r.Text(r.Take("required"));
  wish.preferred = r.Text(r.Take("preferred"));
  if (const JsonValue* slice = r.Take("slice"); slice != nullptr && r.ok()) {
    Reader s = r.Into(r.IndexOf(*slice));
    wish.slice_size = static_cast<int>(s.Integer(s.Need("size"), 1, kMostRanks));
    wish.slice_level = s.Text(s.Need("level"));
    s.Done();
  }
  r.Done();
  return wish;
}

void ReadElastic(Reader& r, Job& job) {
  int64_t most = 0, least = 0;
  for (const TaskGroup& task : job.tasks) most += task.count, least += task.min;
  const JsonValue* elastic = r.Take("elastic");
  if (elastic == nullptr || !r.ok()) return;
  Reader e = r.Into(r.IndexOf(*elastic));
  job.elastic_min = static_cast<int>(e.Integer(e.Need("min"), 1, most));
  job.elastic_max = static_cast<int>(e.Integer(e.Need("max"), job.elastic_min, most));
  if (e.ok() && least > job.elastic_max)
    e.Say(e.column(), fmt::format("elastic: max {} is below the {} that the tasks need at least",
                                  job.elastic_max, least));
  e.Done();
}

Job ReadJob(Reader& r) {
  Job job;
  job.name = r.Text(r.Need("name"));
  if (const JsonValue* queue = r.Take("queue")) job.queue = r.Text(queue);
  if (const JsonValue* priority = r.Take("priority"))
    job.priority = static_cast<int>(r.Integer(priority, -2'000'000'000, 2'000'000'000));
  if (const JsonValue* preemptible = r.Take("preemptible")) {
    if (preemptible->type != Type::kBool) r.Wrong(*preemptible, "true or false");
    job.preemptible = preemptible->boolean;
  }
  const JsonValue* tasks = r.Need("tasks");
  r.Each(tasks, Type::kArray, [&](const JsonValue& item, int i) {
    job.tasks.push_back(ReadTask(r.Into(i)));
    for (size_t k = 0; k + 1 < job.tasks.size(); ++k) {
      if (job.tasks[k].name == job.tasks.back().name)
        r.Say(item.column,
              fmt::format("tasks: {} stands here twice", Printable(job.tasks.back().name)));
    }
  });
  int64_t ranks = 0;
  for (const TaskGroup& task : job.tasks) ranks += task.count;
  if (tasks != nullptr && job.tasks.empty()) r.Say(tasks->column, "tasks: expected at least one");
  if (tasks != nullptr && ranks > kMostRanks)
    r.Say(tasks->column, fmt::format("tasks: at most {} ranks in all", kMostRanks));
  if (const JsonValue* wish = r.Take("topology"); wish != nullptr && r.ok())
    job.topology = ReadWish(r.Into(r.IndexOf(*wish)));
  job.duration_ms = r.Span("duration", 0);
  job.limit_ms = r.Span("limit", 0);
  job.checkpoint_every_ms = r.Span("checkpoint_every", 1);
  job.max_wait_ms = r.Span("max_wait", 0);
  ReadElastic(r, job);
  return job;
}

EventBody ReadAdopt(Reader& r) {
  JobAdopt adopt;
  adopt.job = ReadJob(r);
  r.Each(r.Need("seats"), Type::kArray, [&](const JsonValue&, int i) {
    Reader s = r.Into(i);
    JobAdopt::Seat seat;
    seat.task = s.Text(s.Need("task"));
    seat.rank = static_cast<int>(s.Integer(s.Need("rank"), 0, kMostRanks));
    seat.node = s.Text(s.Need("node"));
    s.Done();
    adopt.seats.push_back(std::move(seat));
  });
  return adopt;
}

EventBody ReadBody(Reader& r, const std::string& op, int op_column);

EventBody ReadWhatIf(Reader& r) {
  AskWhatIf ask;
  r.Each(r.Need("change"), Type::kArray, [&](const JsonValue&, int i) {
    Reader c = r.Into(i);
    const JsonValue* op = c.Need("op");
    const std::string name = c.Text(op);
    if (!c.ok()) return;
    if (name.starts_with("ask.") || name == "end")
      return c.Say(op->column, fmt::format("op: {} is no change", Printable(name)));
    Event change;
    change.body = ReadBody(c, name, op->column);
    c.Done();
    ask.change.push_back(std::move(change));
  });
  ask.about = ReadTexts(r, r.Need("about"));
  return ask;
}

EventBody ReadBody(Reader& r, const std::string& op, int op_column) {
  const auto node = [&](NodeVerb verb) { return NodeChange{r.Text(r.Need("name")), verb}; };
  if (op == "topology") {
    TopologyLevels levels;
    const JsonValue* value = r.Need("levels");
    levels.levels = ReadTexts(r, value);
    if (value != nullptr && (levels.levels.empty() || levels.levels.back() != "node"))
      r.Say(value->column, "levels: the last one is \"node\"");
    if (value != nullptr && levels.levels.size() > 16) r.Say(value->column, "levels: at most 16");
    auto sorted = levels.levels;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      r.Say(value->column, "levels: a name stands here twice");
    return levels;
  }
  if (op == "node.add") return ReadNodeAdd(r);
  if (op == "node.remove") return node(NodeVerb::kRemove);
  if (op == "node.cordon") return node(NodeVerb::kCordon);
  if (op == "node.uncordon") return node(NodeVerb::kUncordon);
  if (op == "node.fail") return node(NodeVerb::kFail);
  if (op == "node.health") {
    NodeHealth health{r.Text(r.Need("name")), Health::kAccepted};
    health.value = r.Choice(
        "value", Health::kAccepted,
        {{"accepted", Health::kAccepted}, {"suspect", Health::kSuspect}, {"out", Health::kOut}},
        true);
    return health;
  }
  if (op == "flavor.add") {
    FlavorAdd add;
    add.flavor.name = r.Text(r.Need("name"));
    add.flavor.labels = ReadLabels(r, r.Take("labels"));
    return add;
  }
  if (op == "queue.add") return ReadQueueAdd(r);
  if (op == "queue.quota") {
    QuotaChange change;
    change.queue = r.Text(r.Need("queue"));
    change.flavor = r.Text(r.Need("flavor"));
    change.resource = r.Text(r.Need("resource"));
    change.nominal = r.AmountIfAny("nominal", change.resource);
    change.borrow = r.AmountIfAny("borrow", change.resource);
    change.lend = r.AmountIfAny("lend", change.resource);
    if (r.ok() && !change.nominal && !change.borrow && !change.lend)
      r.Say(r.column(), "the key \"nominal\" is missing");
    return change;
  }
  if (op == "job.submit") return JobSubmit{ReadJob(r)};
  if (op == "job.adopt") return ReadAdopt(r);
  if (op == "job.cancel") return JobEnd{r.Text(r.Need("name")), JobVerb::kCancel};
  if (op == "job.finish") return JobEnd{r.Text(r.Need("name")), JobVerb::kFinish};
  const auto rank = [&](auto body) {
    body.name = r.Text(r.Need("name"));
    body.task = r.Text(r.Need("task"));
    body.rank = static_cast<int>(r.Integer(r.Need("rank"), 0, kMostRanks));
    return body;
  };
  if (op == "task.fail") return rank(TaskFail{});
  if (op == "task.end") return rank(TaskEnd{});
  if (op == "task.again") return rank(TaskAgain{});
  if (op == "ask.why") return AskWhy{r.Text(r.Need("name"))};
  if (op == "ask.whatif") return ReadWhatIf(r);
  if (op == "end") return End{};
  static const std::vector<std::string> kOps = {
      "topology",   "node.add",    "node.remove", "node.cordon", "node.uncordon",
      "node.fail",  "node.health", "flavor.add",  "queue.add",   "queue.quota",
      "job.submit", "job.adopt",   "job.cancel",  "job.finish",  "task.fail",
      "task.end",   "task.again",  "ask.why",     "ask.whatif",  "end"};
  const auto near = Nearest(op, kOps);
  r.Say(op_column, fmt::format("unknown op \"{}\"{}", Printable(Shorten(op, 40)),
                               near ? fmt::format("; did you mean \"{}\"?", *near) : ""));
  return End{};
}

Result<Event> ReadEvent(const JsonLine& json, bool with_time) {
  Error store;
  Error* error = nullptr;
  Reader r(json, 0, error, store);
  Event event;
  event.line = json.line();
  if (with_time) event.t = r.Integer(r.Need("t"), 0, kLatest);
  const JsonValue* op = r.Need("op");
  const std::string name = r.Text(op);
  if (error == nullptr) event.body = ReadBody(r, name, op->column);
  r.Done();
  if (error != nullptr) return Fail(std::move(store));
  return event;
}

}  // namespace

ScriptReader::ScriptReader() : state_(std::make_unique<State>()) {}
ScriptReader::~ScriptReader() = default;
ScriptReader::ScriptReader(ScriptReader&&) noexcept = default;

bool IsSkipped(std::string_view line) {
  const std::string_view text = Trim(line);
  return text.empty() || line.starts_with('#');
}

Result<Event> ScriptReader::Line(std::string_view text, int line) {
  if (IsSkipped(text)) return Fail(Code::kNotFound, "no event");
  TRY_VOID(state_->json.Parse(text, line));
  return ReadEvent(state_->json, true);
}

Result<Event> ScriptReader::Change(std::string_view text) {
  TRY_VOID(state_->json.Parse(text, 1));
  return ReadEvent(state_->json, false);
}

Result<std::vector<Event>> ReadScript(std::string_view text) {
  std::vector<Event> events;
  ScriptReader reader;
  int number = 0;
  TimeMs last = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (IsSkipped(line)) continue;
    TRY(Event event, reader.Line(line, number));
    if (event.t < last)
      return Fail(Code::kInvalid, fmt::format("line {}, column 1: t goes back from {} to {}",
                                              number, last, event.t));
    last = event.t;
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace muster::sched
