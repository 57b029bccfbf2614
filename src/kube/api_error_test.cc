#include "kube/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Asked kListing{"list", kPods, "train", "", "", "https://10.0.0.1:6443", "the token in x"};

// As kube-apiserver 1.37 writes it.
constexpr const char* kForbidden =
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" in the namespace \"train\"","reason":"Forbidden","details":{"kind":"pods"},"code":403})";

TEST(ApiError, AForbiddenVerbNamesTheUserAndTheRule) {
  const Error error = ToError(ReadApiStatus(403, kForbidden, ""), kListing);
  EXPECT_EQ(error.code, Code::kPermission);
  EXPECT_THAT(error.message, HasSubstr("listing pods in namespace train"));
  EXPECT_THAT(error.message, HasSubstr("User \"bob\""));
  EXPECT_THAT(error.message,
              HasSubstr(R"({apiGroups: [""], resources: ["pods"], verbs: ["list"]})"));
}

TEST(ApiError, AdmissionIsNotMistakenForRbac) {
  const Error error = ToError(
      ReadApiStatus(403, R"({"kind":"Status","reason":"Forbidden","message":"exceeded quota: q"})",
                    ""),
      kListing);
  EXPECT_THAT(error.message, HasSubstr("refused by admission"));
  EXPECT_THAT(error.message, Not(HasSubstr("Role")));
}

TEST(ApiError, AnExpiredTokenSaysWhereItCameFrom) {
  const Error error = ToError(
      ReadApiStatus(
          401, R"({"kind":"Status","message":"Unauthorized","reason":"Unauthorized","code":401})",
          ""),
      kListing);
  EXPECT_EQ(error.code, Code::kPermission);
  EXPECT_THAT(error.message, HasSubstr("the token in x"));
  EXPECT_THAT(error.message, HasSubstr("renew"));
}

TEST(ApiError, AnApplyConflictNamesTheOtherManagerAndItsField) {
  const char* body =
      R"({"kind":"Status","message":"Apply failed with 1 conflict","reason":"Conflict","details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"helm\" using v1","field":".data.a"}]},"code":409})";
  const Error error = ToError(ReadApiStatus(409, body, ""), kListing);
  EXPECT_EQ(error.code, Code::kConflict);
  EXPECT_THAT(error.message, HasSubstr(".data.a"));
  EXPECT_THAT(error.message, HasSubstr("helm"));
  EXPECT_THAT(error.message, HasSubstr("force"));
}

TEST(ApiError, EachStatusHasItsCode) {
  const auto code_of = [](int status) { return ToError(ReadApiStatus(status, "", ""), kListing); };
  EXPECT_EQ(code_of(400).code, Code::kInvalid);
  EXPECT_EQ(code_of(404).code, Code::kNotFound);
  EXPECT_EQ(code_of(410).code, Code::kConflict);
  EXPECT_TRUE(code_of(410).retryable);
  EXPECT_EQ(code_of(422).code, Code::kInvalid);
  EXPECT_EQ(code_of(429).code, Code::kUnavailable);
  EXPECT_TRUE(code_of(429).retryable);
  EXPECT_EQ(code_of(503).code, Code::kUnavailable);
  EXPECT_EQ(code_of(504).code, Code::kTimeout);
  EXPECT_EQ(code_of(302).code, Code::kInternal);
}

TEST(ApiError, RetryAfterComesFromTheHeaderOrTheBody) {
  EXPECT_EQ(ReadApiStatus(429, "", "7").retry_after, std::chrono::seconds(7));
  EXPECT_EQ(
      ReadApiStatus(429, R"({"kind":"Status","details":{"retryAfterSeconds":3}})", "").retry_after,
      std::chrono::seconds(3));
  EXPECT_EQ(ReadApiStatus(429, "", "Wed, 21 Oct 2026").retry_after, std::nullopt);
  EXPECT_EQ(ReadApiStatus(429, "", "999999999").retry_after, std::chrono::seconds(3600));
}

TEST(ApiError, AMissingApiNamesWhatIsThere) {
  Asked asked = kListing;
  asked.resource = {"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"};
  EXPECT_THAT(MissingResource(asked, std::nullopt).message,
              HasSubstr("serves no scheduling.volcano.sh"));
  EXPECT_THAT(MissingResource(asked, std::vector<std::string>{"v1", "v2"}).message,
              HasSubstr("as v1, v2, not as v1beta1"));
  EXPECT_THAT(MissingResource(asked, std::vector<std::string>{"v1beta1"}).message,
              HasSubstr("CRD is missing"));
}

TEST(ApiError, TheServersWordsReachNoTerminalRaw) {
  const Error error = ToError(
      ReadApiStatus(404, "{\"kind\":\"Status\",\"message\":\"\\u001b[2Jgone\\u009b31m\"}", ""),
      kListing);
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
  EXPECT_EQ(error.message.find("\xC2\x9B"), std::string::npos);
}

RC_GTEST_PROP(ApiErrorProperty, AnyBodyMakesAnErrorWithoutControls, (const std::string& body)) {
  const int status = *rc::gen::element(400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504, 302);
  const Error error = ToError(ReadApiStatus(status, body, body), kListing);
  RC_ASSERT(!error.message.empty());
  for (const char c : error.message) {
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t');
  }
}

}  // namespace
}  // namespace muster::kube
