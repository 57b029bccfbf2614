#include "kube/config.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/base64.h"
#include "yaml/yaml.h"

namespace muster::kube {

namespace {

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

struct ConfigFile {
  std::string path, folder;
  YamlNode root;
};

tl::unexpected<Error> BadAt(const ConfigFile& document, const YamlMark& mark,
                            const std::string& what) {
  return mark.line == 0 ? Fail(Code::kInvalid, fmt::format("{}: {}", document.path, what))
                        : Fail(Code::kInvalid, fmt::format("{}:{}:{}: {}", document.path, mark.line,
                                                           mark.column, what));
}

// Nothing when the key is absent, null, or `map` is no mapping.
const YamlNode* ChildOf(const YamlNode& map, std::string_view key) {
  const YamlNode* node = map.Find(key);
  return node == nullptr || node->IsNull() ? nullptr : node;
}

// An absent or null key is an empty text.
Result<std::string> TextOf(const ConfigFile& document, const YamlNode& map, std::string_view key) {
  const YamlNode* node = ChildOf(map, key);
  if (node == nullptr) return std::string();
  if (node->kind != YamlNode::Kind::kScalar) {
    return BadAt(document, node->at, fmt::format("{}: expected a text", key));
  }
  return node->text;
}

Result<bool> FlagOf(const ConfigFile& document, const YamlNode& map, std::string_view key) {
  TRY(const std::string text, TextOf(document, map, key));
  if (text.empty() || text == "false") return false;
  if (text == "true") return true;
  return BadAt(document, map.Find(key)->at, fmt::format("{}: expected true or false", key));
}

Result<ConfigFile> Open(Files& files, const std::string& path) {
  TRY(const std::string text, files.Read(path, 16u << 20));
  ConfigFile document;
  document.path = path;
  const size_t slash = path.rfind('/');
  document.folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  TRY(document.root, ParseYaml(text, path));
  if (document.root.IsNull()) return document;
  if (document.root.kind != YamlNode::Kind::kMapping) {
    return BadAt(document, document.root.at, "expected a kubeconfig (kind: Config)");
  }
  TRY(const std::string kind, TextOf(document, document.root, "kind"));
  if (!kind.empty() && kind != "Config") {
    return BadAt(document, document.root.Find("kind")->at,
                 fmt::format("kind is {}, expected Config", Printable(kind)));
  }
  return document;
}

// Borrowed from its file.
struct ConfigEntry {
  const ConfigFile* document = nullptr;
  const YamlNode* value = nullptr;
};

// The entry `name` of a list such as `clusters`, and what stands under `inner`.
Result<ConfigEntry> FindEntry(const std::vector<ConfigFile>& documents, const char* list,
                              const char* inner, const std::string& name) {
  std::vector<std::string> names;
  for (const ConfigFile& document : documents) {
    const YamlNode* entries = ChildOf(document.root, list);
    if (entries == nullptr) continue;
    if (entries->kind != YamlNode::Kind::kSequence) {
      return BadAt(document, entries->at, fmt::format("{}: expected a list", list));
    }
    for (const YamlNode& entry : entries->items) {
      TRY(const std::string its_name, TextOf(document, entry, "name"));
      if (its_name != name) {
        names.push_back(Printable(its_name));
        continue;
      }
      const YamlNode* value = ChildOf(entry, inner);
      if (value == nullptr || value->kind != YamlNode::Kind::kMapping) {
        return BadAt(document, entry.at, fmt::format("\"{}\" has no {}", Printable(name), inner));
      }
      return ConfigEntry{&document, value};
    }
  }
  return Fail(
      Code::kNotFound,
      fmt::format("no {} \"{}\" in {}; there {}", inner, Printable(name), documents.front().path,
                  names.empty() ? "is none" : "are: " + Join(names, ", ")));
}

// Data inline as base64 counts before a file; a relative path starts at the kubeconfig's folder.
Result<std::string> PemOf(Files& files, const ConfigEntry& found, const std::string& key) {
  const std::string data_key = key + "-data";
  TRY(const std::string data, TextOf(*found.document, *found.value, data_key));
  if (!data.empty()) {
    auto pem = FromBase64(data);
    if (!pem) {
      return BadAt(*found.document, found.value->Find(data_key)->at,
                   data_key + ": expected base64");
    }
    return *pem;
  }
  TRY(const std::string path, TextOf(*found.document, *found.value, key));
  if (path.empty()) return std::string();
  return files.Read(path.front() == '/' ? path : found.document->folder + path, 16u << 20)
      .Context(fmt::format("{} of {}", key, found.document->path));
}

Result<AuthConfig::Exec> ReadExec(const ConfigFile& document, const YamlNode& node) {
  AuthConfig::Exec exec;
  TRY(exec.api_version, TextOf(document, node, "apiVersion"));
  if (exec.api_version != "client.authentication.k8s.io/v1" &&
      exec.api_version != "client.authentication.k8s.io/v1beta1") {
    return BadAt(document, node.at,
                 fmt::format("exec: apiVersion is \"{}\", expected client.authentication.k8s.io/v1 "
                             "or v1beta1; update the plugin's entry",
                             Printable(exec.api_version)));
  }
  TRY(const std::string command, TextOf(document, node, "command"));
  if (command.empty()) return BadAt(document, node.at, "exec: no command");
  // As kubectl does it: a path with a slash is relative to the file, a bare word is looked up.
  const bool relative = Contains(command, "/") && command.front() != '/';
  exec.argv.push_back(relative ? document.folder + command : command);
  TRY(exec.install_hint, TextOf(document, node, "installHint"));
  TRY(exec.provide_cluster_info, FlagOf(document, node, "provideClusterInfo"));
  const auto is_list = [](const YamlNode& list) { return list.kind == YamlNode::Kind::kSequence; };
  if (const YamlNode* args = ChildOf(node, "args"); args != nullptr) {
    if (!is_list(*args)) return BadAt(document, args->at, "args: expected a list");
    for (const YamlNode& arg : args->items) {
      if (arg.kind != YamlNode::Kind::kScalar) {
        return BadAt(document, arg.at, "args: expected a text");
      }
      exec.argv.push_back(arg.text);
    }
  }
  if (const YamlNode* env = ChildOf(node, "env"); env != nullptr) {
    if (!is_list(*env)) return BadAt(document, env->at, "env: expected a list");
    for (const YamlNode& pair : env->items) {
      TRY(const std::string name, TextOf(document, pair, "name"));
      if (name.empty()) return BadAt(document, pair.at, "env: expected name and value");
      TRY(exec.env[name], TextOf(document, pair, "value"));
    }
  }
  return exec;
}

Status ReadUser(Files& files, const ConfigEntry& user, ClusterConfig& config) {
  const ConfigFile& document = *user.document;
  TRY(config.auth.token, TextOf(document, *user.value, "token"));
  TRY(config.auth.token_file, TextOf(document, *user.value, "tokenFile"));
  if (!config.auth.token_file.empty() && config.auth.token_file.front() != '/') {
    config.auth.token_file = document.folder + config.auth.token_file;
  }
  TRY(config.auth.impersonate, TextOf(document, *user.value, "as"));
  TRY(config.tls.cert_pem, PemOf(files, user, "client-certificate"));
  TRY(config.tls.key_pem, PemOf(files, user, "client-key"));
  if (config.tls.cert_pem.empty() != config.tls.key_pem.empty()) {
    return BadAt(document, user.value->at,
                 "client-certificate and client-key belong together; one is missing");
  }
  if (const YamlNode* exec = ChildOf(*user.value, "exec"); exec != nullptr) {
    TRY(config.auth.exec, ReadExec(document, *exec));
  }
  if (const YamlNode* provider = ChildOf(*user.value, "auth-provider"); provider != nullptr) {
    return BadAt(document, provider->at,
                 "auth-provider was removed from Kubernetes clients in 1.26; use the provider's "
                 "exec plugin");
  }
  if (const YamlNode* name = ChildOf(*user.value, "username"); name != nullptr) {
    return BadAt(document, name->at,
                 "user and password were removed from Kubernetes in 1.19; use a token, a client "
                 "certificate or an exec plugin");
  }
  return {};
}

constexpr std::array<std::string_view, 3> kProxySchemes = {"http://", "https://", "socks5://"};

Status ReadCluster(Files& files, const ConfigEntry& cluster, ClusterConfig& config) {
  const ConfigFile& document = *cluster.document;
  TRY(config.server, TextOf(document, *cluster.value, "server"));
  while (config.server.ends_with('/')) config.server.pop_back();
  if (!config.server.starts_with("https://") && !config.server.starts_with("http://")) {
    return BadAt(
        document, cluster.value->at,
        fmt::format("server is \"{}\", expected https://HOST:PORT", Printable(config.server)));
  }
  TRY(config.tls.ca_pem, PemOf(files, cluster, "certificate-authority"));
  TRY(config.tls.server_name, TextOf(document, *cluster.value, "tls-server-name"));
  TRY(config.tls.skip_verify, FlagOf(document, *cluster.value, "insecure-skip-tls-verify"));
  if (const YamlNode* proxy = ChildOf(*cluster.value, "proxy-url"); proxy != nullptr) {
    TRY(config.proxy_url, TextOf(document, *cluster.value, "proxy-url"));
    const std::string& url = config.proxy_url;
    const bool known =
        std::any_of(kProxySchemes.begin(), kProxySchemes.end(),
                    [&](std::string_view scheme) { return url.starts_with(scheme); });
    if (!url.empty() && !known) {
      return BadAt(document, proxy->at,
                   fmt::format("proxy-url is \"{}\", expected http://, https:// or socks5://",
                               Printable(url)));
    }
  }
  return {};
}

Result<std::string> CurrentContext(const std::vector<ConfigFile>& documents) {
  for (const ConfigFile& document : documents) {
    TRY(std::string name, TextOf(document, document.root, "current-context"));
    if (!name.empty()) return name;
  }
  return Fail(
      Code::kInvalid,
      fmt::format("{}: no current-context; name one with --context, or set it with `kubectl "
                  "config use-context NAME`",
                  documents.front().path));
}

Result<ClusterConfig> Assemble(Files& files, const std::vector<ConfigFile>& documents,
                               const std::string& wanted) {
  ClusterConfig config;
  config.context = wanted;
  if (wanted.empty()) {
    TRY(config.context, CurrentContext(documents));
  }
  TRY(const ConfigEntry context, FindEntry(documents, "contexts", "context", config.context));
  TRY(const std::string cluster_name, TextOf(*context.document, *context.value, "cluster"));
  TRY(const std::string user_name, TextOf(*context.document, *context.value, "user"));
  TRY(std::string ns, TextOf(*context.document, *context.value, "namespace"));
  if (!ns.empty()) config.ns = std::move(ns);
  TRY(const ConfigEntry cluster, FindEntry(documents, "clusters", "cluster", cluster_name));
  TRY_VOID(ReadCluster(files, cluster, config));
  if (!user_name.empty()) {
    TRY(const ConfigEntry user, FindEntry(documents, "users", "user", user_name));
    TRY_VOID(ReadUser(files, user, config));
  }
  config.source =
      fmt::format("context {} of {}", Printable(config.context), context.document->path);
  return config;
}

std::string Lookup(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second;
}

}  // namespace

Result<ClusterConfig> ReadKubeconfig(Files& files, const std::vector<std::string>& paths,
                                     const std::string& context) {
  std::vector<ConfigFile> documents;
  Error last{Code::kNotFound, "no kubeconfig was named", {}};
  for (const std::string& path : paths) {
    auto document = Open(files, path);
    // kubectl passes over files of the list that do not exist.
    if (!document.ok() && document.error().code == Code::kNotFound) {
      last = document.error();
      continue;
    }
    if (!document.ok()) return Fail(document.error());
    documents.push_back(std::move(*document));
  }
  if (documents.empty()) return Fail(std::move(last).Context("reading the kubeconfig"));
  return Assemble(files, documents, context);
}

Result<ClusterConfig> FindCluster(Files& files,
                                  const std::map<std::string, std::string>& environment,
                                  const std::string& kubeconfig, const std::string& context) {
  if (!kubeconfig.empty()) return ReadKubeconfig(files, {kubeconfig}, context);
  const std::string listed = Lookup(environment, "KUBECONFIG");
  if (!listed.empty()) {
    std::vector<std::string> paths;
    for (const std::string_view path : Split(listed, ':')) {
      if (!path.empty()) paths.emplace_back(path);
    }
    return ReadKubeconfig(files, paths, context).Context("KUBECONFIG");
  }
  const std::string own = Lookup(environment, "HOME") + "/.kube/config";
  const bool in_pod = !Lookup(environment, "KUBERNETES_SERVICE_HOST").empty();
  if (in_pod && !files.Stat(own).ok()) return InCluster(files, environment);
  return ReadKubeconfig(files, {own}, context);
}

Result<ClusterConfig> InCluster(Files& files,
                                const std::map<std::string, std::string>& environment) {
  const std::string host = Lookup(environment, "KUBERNETES_SERVICE_HOST");
  const std::string port = Lookup(environment, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return Fail(Code::kNotFound,
                "not in a pod (KUBERNETES_SERVICE_HOST and _PORT are not set): name a kubeconfig");
  }
  const std::string folder = kServiceAccount;
  ClusterConfig config;
  config.server = fmt::format("https://{}:{}", Contains(host, ":") ? "[" + host + "]" : host, port);
  config.auth.token_file = folder + "token";
  config.source = "the pod's service account";
  TRY(config.tls.ca_pem, files.Read(folder + "ca.crt", 16u << 20).Context(config.source));
  TRY_VOID(
      files.Stat(config.auth.token_file)
          .Context("the pod has no service account token (automountServiceAccountToken: false?)"));
  if (auto ns = files.Read(folder + "namespace", 4096); ns.ok() && !Trim(*ns).empty()) {
    config.ns = Trim(*ns);
  }
  return config;
}

}  // namespace muster::kube
