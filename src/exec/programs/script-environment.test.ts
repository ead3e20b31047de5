import { expect, test } from "vitest"

import { scriptEnvironment } from "./script-environment.ts"

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
    scriptEnvironment(inherited, { passthrough: ["MY_KEY", "OPENAI_API_KEY"], set: { HERMES_HOME: "/h" } }),
  ).toEqual({
    PATH: "/bin",
    HOME: "/home/a",
    LC_ALL: "C",
    XDG_RUNTIME_DIR: "/run/user/1",
    CONDA_DEFAULT_ENV: "base",
    HERMES_PROFILE: "work",
    MY_KEY: "declared",
    HERMES_HOME: "/h",
  })
})
