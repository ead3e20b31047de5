import { expect, test } from "vitest"
import { commandEnvironment, completePath } from "./command-environment.ts"

test.each([
  [
    "/a::/a:/usr/bin",
    "/a:/usr/bin:/opt/homebrew/bin:/opt/homebrew/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin",
  ],
  ["", "/opt/homebrew/bin:/opt/homebrew/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
])("standard directories are appended to PATH %j", (path, expected) => {
  expect(completePath(path)).toBe(expected)
})

test("commands see the variables that programs need, and none that could hold a secret", () => {
  const environment = commandEnvironment(
    {
      HOME: "/home/a",
      KUBECONFIG: "/k",
      LC_ALL: "C.UTF-8",
      XDG_CACHE_HOME: "/c",
      XDG_SESSION_TOKEN: "x",
      MY_FLAG: "1",
      DATABASE_URL: "postgres://u:p@h/d",
      AWS_SECRET_ACCESS_KEY: "x",
      OPENAI_API_KEY: "x",
      openai_api_key: "x",
      GH_TOKEN: "x",
      SOME_NEW_SERVICE_TOKEN: "x",
      _HERMES_FORCE_A: "x",
      HERMES_HOME: "/other",
    },
    { passthrough: [], set: { HERMES_HOME: "/home/a/.hermes" } },
  )
  const { PATH: _path, ...rest } = environment
  expect(rest).toEqual({
    HOME: "/home/a",
    KUBECONFIG: "/k",
    LC_ALL: "C.UTF-8",
    XDG_CACHE_HOME: "/c",
    HERMES_HOME: "/home/a/.hermes",
  })
})

test("passthrough adds a variable, but never one of Hermes' own credentials", () => {
  const environment = commandEnvironment(
    { NPM_TOKEN: "n", OPENAI_API_KEY: "x", EMAIL_PASSWORD: "x" },
    { passthrough: ["NPM_TOKEN", "OPENAI_API_KEY", "EMAIL_PASSWORD"], set: {} },
  )
  expect(Object.keys(environment).toSorted()).toEqual(["NPM_TOKEN", "PATH"])
})

test("scripts get the variables that interpreters need, and nothing that looks like a secret", () => {
  const inherited = {
    PATH: "/bin",
    HOME: "/home/a",
    LC_ALL: "C",
    XDG_RUNTIME_DIR: "/run/user/1",
    CONDA_DEFAULT_ENV: "base",
    HERMES_PROFILE: "work",
    HERMES_OTHER: "x",
    EDITOR: "vi",
    HOME_TOKEN: "secret",
    USER_PASSWD: "secret",
    XDG_AUTH: "secret",
    PATH_DSN: "secret",
    MY_KEY: "declared",
    OPENAI_API_KEY: "never",
  }
  expect(
    commandEnvironment(inherited, {
      passthrough: ["MY_KEY", "OPENAI_API_KEY"],
      set: { HERMES_HOME: "/h" },
      audience: "scripts",
    }),
  ).toEqual({
    PATH: completePath("/bin"),
    HOME: "/home/a",
    LC_ALL: "C",
    XDG_RUNTIME_DIR: "/run/user/1",
    CONDA_DEFAULT_ENV: "base",
    HERMES_PROFILE: "work",
    MY_KEY: "declared",
    HERMES_HOME: "/h",
  })
})
