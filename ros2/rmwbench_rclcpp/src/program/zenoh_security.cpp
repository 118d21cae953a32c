#include "zenoh_security.hpp"

#include <algorithm>
#include <utility>

#include "zenoh_discovery.hpp"

namespace rmwbench {
namespace {

bool has(const Pairs &pairs, const std::string &key) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto &one) { return one.first == key; });
}

std::string by_tls(std::string value) {
  static const std::string plain = "\"tcp/";
  for (size_t at = 0; (at = value.find(plain, at)) != std::string::npos; ++at)
    value.replace(at, plain.size(), "\"tls/");
  return value;
}

}  // namespace

Pairs zenoh_security(const std::string &keystore, Pairs discovery, bool router) {
  // The same port as in the two default files of rmw_zenoh_cpp.
  const std::string port = std::to_string(router_port());
  const Pairs installed = {
      {"listen/endpoints", router ? "[\"tcp/[::]:" + port + "\"]" : "[\"tcp/localhost:0\"]"},
      {"connect/endpoints", router ? "[]" : "[\"tcp/localhost:" + port + "\"]"},
  };
  Pairs found = std::move(discovery);
  for (const auto &one : installed) {
    if (!has(found, one.first)) found.push_back(one);
  }
  for (auto &[key, value] : found) value = by_tls(value);
  const auto file = [&](const char *name) {
    return "\"" + keystore + "/enclaves/rmwbench/" + name + "\"";
  };
  const std::string key = file("key.pem"), certificate = file("cert.pem");
  const Pairs rest = {
      {"transport/link/protocols", "[\"tls\"]"},
      {"transport/link/tls", "{enable_mtls:true,verify_name_on_connect:false,root_ca_certificate:" +
                                 file("identity_ca.cert.pem") + ",listen_private_key:" + key +
                                 ",listen_certificate:" + certificate + ",connect_private_key:" +
                                 key + ",connect_certificate:" + certificate + "}"},
      // Messages in shared memory are not encrypted.
      {"transport/shared_memory/enabled", "false"},
      {"access_control/default_permission", "\"deny\""},
      {"access_control/rules",
       "[{id:\"all\",permission:\"allow\",flows:[\"ingress\",\"egress\"],messages:[\"put\","
       "\"delete\",\"declare_subscriber\",\"query\",\"declare_queryable\",\"reply\","
       "\"liveliness_token\",\"liveliness_query\",\"declare_liveliness_subscriber\"],"
       // Names that begin with @ are matched by no wildcard.
       "key_exprs:[\"**\",\"**/@adv/**\",\"@ros2_lv/**\"]}]"},
      {"access_control/subjects", "[{id:\"all\"}]"},
      {"access_control/policies", "[{rules:[\"all\"],subjects:[\"all\"]}]"},
      {"access_control/enabled", "true"},
  };
  found.insert(found.end(), rest.begin(), rest.end());
  return found;
}

}  // namespace rmwbench
