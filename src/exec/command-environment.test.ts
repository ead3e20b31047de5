import { expect, test } from "vitest"
import { commandEnvironment, completePath } from "./command-environment.ts"

test.each([
  [
    "/a::/a:/usr/bin",
    "/a:/usr/bin:/opt/homebrew/bin:/opt/homebrew/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin",
  ],
  ["", "/opt/homebrew/bin:/opt/homebrew/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
])("PATH %j is completed", (path, expected) => {
  expect(completePath(path)).toBe(expected)
})

test("credentials and what looks like one stay out, the rest and the AWS chain stay in", () => {
  const environment = commandEnvironment(
    {
      HOME: "/home/a",
      KUBECONFIG: "/k",
      MY_FLAG: "1",
      AWS_ACCESS_KEY_ID: "id",
      AWS_SECRET_ACCESS_KEY: "key",
      AWS_BEARER_TOKEN_BEDROCK: "x",
      OPENAI_API_KEY: "x",
      openai_api_key: "x",
      OPENAI_BASE_URL: "x",
      GH_TOKEN: "x",
      SOME_NEW_SERVICE_TOKEN: "x",
      DB_PASSWORD: "x",
      _HERMES_FORCE_A: "x",
      HERMES_HOME: "/other",
    },
    { passthrough: [], set: { HERMES_HOME: "/home/a/.hermes" } },
  )
  const { PATH: _path, ...rest } = environment
  expect(rest).toEqual({
    HOME: "/home/a",
    KUBECONFIG: "/k",
    MY_FLAG: "1",
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "key",
    HERMES_HOME: "/home/a/.hermes",
  })
})

test("a name may be passed through, but never one of Hermes' own credentials", () => {
  const environment = commandEnvironment(
    { NPM_TOKEN: "n", OPENAI_API_KEY: "x", EMAIL_PASSWORD: "x" },
    { passthrough: ["NPM_TOKEN", "OPENAI_API_KEY", "EMAIL_PASSWORD"], set: {} },
  )
  expect(Object.keys(environment).toSorted()).toEqual(["NPM_TOKEN", "PATH"])
})
